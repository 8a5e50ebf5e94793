"""`kas demo`: chooses where the demo plays, shows how it goes, and ends what it began."""

import os
import shutil
import signal
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

import click

from kasmos_plugin import paths
from kasmos_plugin.cli.marks import BROKEN, DONE, RUNS, WAITS
from kasmos_plugin.cli.options import database_path, db_option
from kasmos_plugin.cli.output import console
from kasmos_plugin.cli.signals import handled
from kasmos_plugin.contract.control import AgentsReply, DaemonStatus
from kasmos_plugin.daemon.client import call
from kasmos_plugin.demo.play import Play, command_line
from kasmos_plugin.demo.servers import Servers
from kasmos_plugin.demo.stage import PROJECT, Stage, environment
from kasmos_plugin.errors import Conflict, DaemonUnreachable

FAST = 0.04
_STYLES = {mark.shape: mark.style for mark in (BROKEN, DONE, RUNS, WAITS)}


@click.command()
@click.option("--auto", "is_auto", is_flag=True, help="Decide between the waves by itself.")
@click.option("--fast", is_flag=True, help="Take seconds in place of a minute.")
@click.option("--keep", is_flag=True, help="Leave the project and its repository behind.")
@db_option
def demo(is_auto: bool, fast: bool, keep: bool, db: Path | None) -> None:
    """Play a small real orchestration: five agents, two waves, one decision for you.

    \b
    Examples:
      kas demo              watch it, and decide between the waves
      kas demo --auto       watch it decide by itself
      kas up --demo         daemon, page and demo in one terminal

    It plays in a temporary repository, as the project `demo` of the running daemon. Where no daemon
    runs it brings up daemon and serve in a temporary home, and ends them. One agent crashes and one
    review asks for changes: that is the plot.
    """
    with ExitStack() as end, handled(_interrupt, signal.SIGTERM, signal.SIGHUP):
        directory = Path(tempfile.mkdtemp(prefix="kasmos-demo-")).resolve()
        end.callback(_remove, directory, keep=keep)
        place = _place(db, directory, end)
        began = time.monotonic()

        def tell(shape: str, words: str) -> None:
            _tell(shape, words, seconds=time.monotonic() - began)

        _introduce(place)
        play = Play(
            place.stage,
            tell=tell,
            pace=FAST if fast else 1.0,
            is_auto=is_auto,
            command=place.command,
        )
        try:
            play.run()
        finally:
            # Cleaning takes seconds: a second Ctrl-C waits until it is done.
            with handled(signal.SIG_IGN, signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                if isinstance(sys.exception(), KeyboardInterrupt):
                    tell("■", "ended by you; cleaning up")
                play.close(keep=keep)
                kept = f"kept: {place.stage.repository}"
                tell("✓", kept if keep else "cleaned up: nothing is left")


@dataclass(frozen=True, kw_only=True)
class _Place:
    stage: Stage
    command: str
    """How a person calls `kas` for this store."""
    page: str = ""
    """The monitor page's address, where the demo has brought it up."""


def _place(db: Path | None, directory: Path, end: ExitStack) -> _Place:
    """Return the running daemon's store, or that of daemon and serve started for the demo.

    Raises:
        Conflict: the daemon watches another store than `db`, or knows a project `demo`.
        DaemonUnreachable: `db` is given and no daemon runs.
    """
    try:
        status = DaemonStatus.model_validate_json(call(paths.socket(), "GET", "/v1/status"))
    except DaemonUnreachable:
        if db is not None:
            raise
        return _own_place(directory, end)
    database = Path(status.database)
    if db is not None and database_path(db).resolve() != database.resolve():
        raise Conflict(
            f"The daemon watches another store, '{database}'.", hint=f"kas demo --db '{database}'"
        )
    known = AgentsReply.model_validate_json(call(paths.socket(), "GET", "/v1/repos/-/agents"))
    if PROJECT in known.projects:
        raise Conflict(
            f"The project '{PROJECT}' is there already; the demo does not touch it.",
            hint=f"kas task list --all --project {PROJECT}; kas daemon remove {PROJECT}",
        )
    is_default = database == paths.database()
    return _Place(
        stage=Stage(
            directory=directory, environment=environment(os.environ, home=None, database=database)
        ),
        command=command_line(paths.home(), None if is_default else database),
    )


def _own_place(directory: Path, end: ExitStack) -> _Place:
    home = directory / "home"
    home.mkdir(mode=0o700)
    surroundings = environment(os.environ, home=home, database=home / "data" / "kasmos.db")
    servers = Servers(directory, surroundings)
    end.callback(servers.stop)
    page = servers.start()
    return _Place(
        stage=Stage(directory=directory, environment=surroundings),
        command=command_line(home, None),
        page=page,
    )


def _introduce(place: _Place) -> None:
    out = console()
    if place.page:
        out.print(f"page      {place.page}", soft_wrap=True)
    out.print(f"terminal  {place.command} monitor", soft_wrap=True)
    out.print("Ctrl-C ends it and cleans up.\n", style="dim", soft_wrap=True)
    sys.stdout.flush()


def _tell(shape: str, words: str, *, seconds: float) -> None:
    """Print what happened and when; words without a shape are to be copied, so stand alone."""
    from rich.text import Text

    line = Text.assemble(
        (f"{int(seconds):3d}s ", "dim"), (shape, _STYLES.get(shape, "")), f" {words}"
    )
    console().print(line if shape else words, soft_wrap=True)
    sys.stdout.flush()


def _remove(directory: Path, *, keep: bool) -> None:
    if not keep:
        shutil.rmtree(directory, ignore_errors=True)


def _interrupt(number: int, frame: FrameType | None) -> None:
    """End the demo as Ctrl-C does, so that it cleans up."""
    del number, frame
    raise KeyboardInterrupt
