"""One look at a project: the daemon's snapshot, or one read from the store when it has none.

What could not be asked is a notice of the snapshot, never an empty list without a word.
"""

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from kasmos_plugin import paths
from kasmos_plugin.cli.fast import DAEMON_BUDGET_S, status_target
from kasmos_plugin.cli.options import database_path, open_for_reading
from kasmos_plugin.contract.facts import DaemonView, Facts
from kasmos_plugin.contract.live_status import LiveStatus
from kasmos_plugin.daemon.client import refusal, request
from kasmos_plugin.errors import (
    DaemonIncompatible,
    DaemonUnreachable,
    NoProject,
    UnknownProject,
)
from kasmos_plugin.facts import NO_PROJECTS, daemon_absent, gather, resolve_project
from kasmos_plugin.snapshot import assemble, question
from kasmos_plugin.store import Store, utc_now

MENDING = {
    "daemon_unreachable": "kas daemon start",
    "daemon_incompatible": "kas daemon stop && kas daemon start",
    "daemon_other_store": "kas daemon status",
    "no_projects": "kas daemon add PATH",
}
"""The command that ends what a notice tells of."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What a person wants to see, as the options of a command say it."""

    project: str = ""
    cap: str | None = None
    include: tuple[str, ...] = ()
    focus: str = ""
    db: Path | None = None


def look(asked: Asked) -> LiveStatus:
    """Return the snapshot as a model; see `look_json`.

    Raises:
        KasmosError: as `look_json`.
    """
    return LiveStatus.model_validate_json(look_json(asked))


def look_json(asked: Asked) -> bytes:
    """Return the snapshot as the daemon would send it.

    Raises:
        BadArgument: an option cannot be used.
        KasmosError: the project is unknown or not chosen, or the store cannot be read.
    """
    question(asked.cap, asked.include)  # A wrong option is wrong whoever answers.
    target = status_target(
        project=asked.project,
        database=database_path(asked.db),
        cap=asked.cap,
        include=",".join(asked.include),
        focus=asked.focus,
    )
    try:
        reply = request(paths.socket(), "GET", target, timeout_s=DAEMON_BUDGET_S)
    except DaemonUnreachable:
        return _from_store(asked, daemon_absent())
    except DaemonIncompatible:
        return _from_store(asked, daemon_absent("daemon_incompatible"))
    if reply.status == 200:
        return _checked(asked, reply.body)
    refused = refusal(paths.socket(), reply)
    if refused.code == "daemon_other_store":
        return _from_store(asked, daemon_absent("daemon_other_store"))
    if isinstance(refused, DaemonIncompatible):
        return _from_store(asked, daemon_absent("daemon_incompatible"))
    raise refused


def _checked(asked: Asked, body: bytes) -> bytes:
    try:
        LiveStatus.model_validate_json(body)
    except ValidationError:
        return _from_store(asked, daemon_absent("daemon_incompatible"))
    return body


def _from_store(asked: Asked, daemon: DaemonView) -> bytes:
    try:
        with closing(open_for_reading(asked.db)) as store:
            project = _project(store, asked.project, daemon)
            facts = gather(store, daemon, project=project, focus=asked.focus)
    except NoProject:
        if asked.project:
            raise UnknownProject(asked.project, ()) from None
        facts = _nothing_yet(daemon)
    answer = assemble(facts, question(asked.cap, asked.include), now=utc_now())
    return answer.model_dump_json().encode()


def _nothing_yet(daemon: DaemonView) -> Facts:
    """Return the facts of a machine without a store; looking at it makes none."""
    return Facts(
        project="",
        projects=(),
        counts={},
        tasks=(),
        waiting=(),
        events=(),
        event_count=0,
        daemon=daemon,
        notices=(NO_PROJECTS,),
    )


def _project(store: Store, wanted: str, daemon: DaemonView) -> str:
    around = "" if wanted else store.projects.around(Path.cwd())
    return resolve_project(store, wanted or around or "", daemon)
