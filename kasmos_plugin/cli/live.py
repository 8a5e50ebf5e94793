"""The live view: the same snapshot as everywhere, drawn every 2 s until q or Ctrl-C.

On a terminal it takes the alternate screen; elsewhere it prints one block for each change.
"""

import os
import select
import signal
import sys
import termios
import time
import tty
from pathlib import Path
from types import FrameType
from typing import Any

from rich.console import Console, Group
from rich.live import Live

from kasmos_plugin.cli.look import Asked, look
from kasmos_plugin.cli.output import complain
from kasmos_plugin.cli.screen import Sight, draw
from kasmos_plugin.cli.signals import handled
from kasmos_plugin.cli.watcher import Looking, Watcher
from kasmos_plugin.contract.live_status import MAX_CAP, LiveStatus
from kasmos_plugin.summary import describe

TICK_S = 0.25
"""How late a key, a new size or a new snapshot is noticed at most."""
_MOVING_KEYS = {"generated_at", "uptime"}


def watch(*, project: str, focus: str, db: Path | None) -> None:
    """Show a project until a person has seen enough.

    Raises:
        KasmosError: the first look failed: there is nothing to show.
    """
    asked = Asked(
        project=project,
        cap=str(MAX_CAP),
        include=("projects", "tasks", "events"),
        focus=focus,
        db=db,
    )
    watcher = Watcher(asked, look)
    try:
        if sys.stdout.isatty():
            _on_terminal(watcher)
        else:
            _as_lines(watcher)
    except KeyboardInterrupt:
        return


def sight(watcher: Watcher) -> Sight:
    """Return what is known now, for the screen."""
    error = watcher.error
    return Sight(
        status=watcher.status,
        age_s=watcher.age_s,
        problem=error.message if error is not None else "",
        hint=error.hint if error is not None else "",
        retry_s=watcher.retry_s,
    )


def change_key(status: LiveStatus) -> object:
    """Return what must differ for a snapshot to be news: all but clocks and last activity."""
    shown = status.model_dump(exclude=_MOVING_KEYS)
    for agent in shown["active_agents"]:
        agent.pop("last_activity", None)
    return shown


def _as_lines(watcher: Watcher) -> None:
    before: object = None
    while True:
        watcher.look_once()
        if watcher.error is not None:
            if watcher.status is None:
                raise watcher.error
            if before != watcher.error.message:
                before = watcher.error.message
                complain(watcher.error)
        elif watcher.retry_s == 0.0:
            continue  # The next look knows the task to show in full.
        elif watcher.status is not None and (key := change_key(watcher.status)) != before:
            before = key
            at = watcher.status.generated_at.astimezone()
            print(f"--- {at:%Y-%m-%d %H:%M:%S}\n{describe(watcher.status)}\n", flush=True)
        time.sleep(watcher.retry_s)


def _on_terminal(watcher: Watcher) -> None:
    console = Console(highlight=False, markup=False, emoji=False)
    looking = Looking(watcher)
    with handled(_leave, signal.SIGTERM, signal.SIGHUP), _Keys() as keys:
        looking.start()
        looking.news.wait()
        _raise_first(watcher, looking)
        try:
            with Live(console=console, screen=True, auto_refresh=False) as live:
                _loop(watcher, looking, keys, live)
        finally:
            looking.end()


def _loop(watcher: Watcher, looking: Looking, keys: "_Keys", live: Live) -> None:
    drawn: object = None
    while True:
        size = live.console.size
        lines = draw(sight(watcher), width=size.width, height=size.height)
        now_drawn = (size, [line.markup for line in lines])
        if now_drawn != drawn:
            drawn = now_drawn
            live.update(Group(*lines), refresh=True)
        for key in keys.read(TICK_S):
            if key in "qQ\x1b\x04":
                return
            if key in "rR":
                looking.now()
            if key in "pP":
                _next_project(watcher)
                looking.now()
            if key == "\x1a":
                drawn = None
                _suspend(keys, live)
        if looking.bug is not None:
            raise looking.bug


def _raise_first(watcher: Watcher, looking: Looking) -> None:
    if looking.bug is not None:
        raise looking.bug
    if watcher.status is None and watcher.error is not None:
        raise watcher.error


def _next_project(watcher: Watcher) -> None:
    status = watcher.status
    if status is None or len(names := status.projects or ()) < 2:
        return
    here = names.index(status.project) if status.project in names else -1
    watcher.show(names[(here + 1) % len(names)])


def _suspend(keys: "_Keys", live: Live) -> None:
    """Give the terminal back while the job is stopped, as every program there does."""
    live.stop()
    keys.restore()
    os.kill(os.getpid(), signal.SIGSTOP)
    keys.take()
    live.start(refresh=True)


class _Keys:
    """Single keys of the terminal; none where standard input is something else."""

    def __init__(self) -> None:
        self._descriptor = sys.stdin.fileno() if sys.stdin.isatty() else -1
        self._before: list[Any] | None = None  # As termios types it.

    def __enter__(self) -> "_Keys":
        self.take()
        return self

    def __exit__(self, *_: object) -> None:
        self.restore()

    def take(self) -> None:
        """Get keys one by one; Ctrl-Z becomes a key, Ctrl-C stays a signal."""
        if self._descriptor < 0:
            return
        self._before = termios.tcgetattr(self._descriptor)
        tty.setcbreak(self._descriptor)
        mode = termios.tcgetattr(self._descriptor)
        mode[6][termios.VSUSP] = bytes([os.fpathconf(self._descriptor, "PC_VDISABLE")])
        termios.tcsetattr(self._descriptor, termios.TCSANOW, mode)

    def restore(self) -> None:
        """Leave the terminal as it was found."""
        if self._before is not None:
            termios.tcsetattr(self._descriptor, termios.TCSADRAIN, self._before)

    def read(self, within_s: float) -> str:
        """Return the keys pressed, waiting for one at most `within_s`."""
        if self._descriptor < 0:
            time.sleep(within_s)
            return ""
        readable, _, _ = select.select([self._descriptor], [], [], within_s)
        if not readable:
            return ""
        typed = os.read(self._descriptor, 64)
        if not typed:
            return "q"  # The terminal is gone.
        # An arrow key is an escape sequence, and not the key Escape.
        return "" if len(typed) > 1 and typed[:1] == b"\x1b" else typed.decode(errors="ignore")


def _leave(number: int, frame: FrameType | None) -> None:
    """Unwind, so that the terminal is given back."""
    del frame
    sys.exit(128 + number)
