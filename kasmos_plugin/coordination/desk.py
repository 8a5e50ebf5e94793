"""What an operation works with: one open store, and the daemon's door. Decides nothing.

What the daemon says of a failure is passed on without places on the disk.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, JsonValue, ValidationError

from kasmos_plugin.contract.control import AgentsReply, DaemonStatus
from kasmos_plugin.daemon.client import call, segment
from kasmos_plugin.errors import (
    Conflict,
    DaemonIncompatible,
    KasmosError,
    NoProject,
    ProjectRequired,
    Unreachable,
)
from kasmos_plugin.facts import WHY_ABSENT
from kasmos_plugin.rules.text import basename, clean
from kasmos_plugin.store import Store

ANSWERS_WITHIN_S = 5.0

_PLACE = re.compile(r"'(/[^'\n]+)'")
_Reply = TypeVar("_Reply", bound=BaseModel)


@dataclass(frozen=True, kw_only=True)
class Result:
    """What an operation came to: a line of words, and the same as plain JSON values."""

    text: str
    data: dict[str, JsonValue] = field(default_factory=dict)


class OtherStore(Conflict):
    """The daemon that answers watches another store."""

    code = "daemon_other_store"


@dataclass(frozen=True, kw_only=True)
class Desk:
    """One store of this thread, and the daemon behind its socket."""

    store: Store
    socket: Path
    ask: Callable[..., bytes] = call

    def project(self, wanted: str) -> str:
        """Return the project meant: `wanted`, or the only one.

        Raises:
            UnknownProject, ProjectRequired, NoProject: as they say.
        """
        if wanted:
            self.store.projects.require(wanted)
            return wanted
        known = self.store.projects.names()
        if len(known) > 1:
            raise ProjectRequired(known)
        if not known:
            raise NoProject
        return known[0]

    def status(self) -> DaemonStatus:
        """Return what the daemon says of itself.

        Raises:
            Unreachable: it does not answer.
        """
        return self._read(DaemonStatus, self._call("GET", "/v1/status"))

    def agents(self, project: str) -> AgentsReply:
        """Return the agents of a project as the daemon sees them.

        Raises:
            OtherStore: the daemon watches another store.
            Unreachable: it does not answer: agents are unknown, not absent.
        """
        reply = self._read(AgentsReply, self._call("GET", f"/v1/repos/{segment(project)}/agents"))
        self._require_same_store(reply.store_id)
        return reply

    def order(self, target: str, reply: type[_Reply]) -> _Reply:
        """Have the daemon of this very store do something, and return its answer.

        Raises:
            OtherStore: the daemon watches another store; nothing was asked of it.
            KasmosError: what the daemon refused.
        """
        self._require_same_store(self.status().store_id)
        return self._read(reply, self._call("POST", target))

    def _call(self, method: str, target: str) -> bytes:
        try:
            return self.ask(self.socket, method, target, timeout_s=ANSWERS_WITHIN_S)
        except Unreachable as error:
            raise self._absent(error) from error
        except KasmosError as error:
            error.message = without_places(error.message)
            error.hint = without_places(error.hint)
            raise

    def _absent(self, error: Unreachable) -> Unreachable:
        message = clean(error.message).replace(f" at '{self.socket}'", "")
        told = Unreachable(without_places(message), hint=error.hint)
        told.code = error.code
        return told

    def _read(self, model: type[_Reply], body: bytes) -> _Reply:
        try:
            return model.model_validate_json(body)
        except ValidationError:
            raise self._absent(
                DaemonIncompatible(str(self.socket), "its answer is unreadable")
            ) from None

    def _require_same_store(self, store_id: str) -> None:
        if store_id != self.store.store_id:
            why = WHY_ABSENT["daemon_other_store"]
            raise OtherStore(f"{why[0].upper()}{why[1:]}.", hint="kas daemon status")


def without_places(text: str) -> str:
    """Return a message with the last part only of every quoted absolute path."""
    return _PLACE.sub(lambda found: f"'{basename(found[1])}'", text)
