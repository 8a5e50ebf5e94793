"""`kas up`: daemon and serve in one terminal, as children of this process, ended together.

Every child has a session of its own: Ctrl-C reaches this process alone, which ends them in order.
Agents are children of none of them, and go on.
"""

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import NoReturn

import click

from kasmos_plugin import paths
from kasmos_plugin.cli.options import database_path, db_option
from kasmos_plugin.cli.output import note
from kasmos_plugin.cli.serve import port_options
from kasmos_plugin.contract.control import DaemonStatus, Ping
from kasmos_plugin.daemon.client import call
from kasmos_plugin.errors import Conflict, DaemonUnreachable, KasmosError, Unreachable

START_WITHIN_S = 30.0
END_WITHIN_S = 15.0
"""The demo cleans up its repository and agents, which takes seconds; the others take less."""


@click.command()
@click.option("--demo", "with_demo", is_flag=True, help="Play the demo as well.")
@click.option("--open", "opens_page", is_flag=True, help="Open the monitor page in the browser.")
@db_option
@port_options
def up(with_demo: bool, opens_page: bool, db: Path | None, port: int, mcp_port: int) -> None:
    """Run daemon and serve in one terminal until Ctrl-C. Agents go on.

    \b
    Examples:
      kas up                   then open http://127.0.0.1:7433/
      kas up --demo --open     with small agents at work, in the browser
      kas up --port 0 --mcp-port 0

    A daemon of the same store that runs already is used, and left running.
    """
    database = database_path(db)
    running = _running_daemon(database)
    children = _Children()
    with children.ended():
        if running is None:
            children.start("daemon", "daemon", "start", "--foreground", "--json", db=database)
        ports = ("--port", str(port), "--mcp-port", str(mcp_port))
        children.start("serve", "serve", "--json", *ports, db=database, output=subprocess.PIPE)
        if running is None:
            children.wait_for_daemon()
        ready = children.wait_for_serve()
        _introduce(ready, running)
        if with_demo:
            children.start("demo", "demo", db=database)
        if opens_page:
            from kasmos_plugin.cli.page import browse  # Who stays in the terminal needs none.

            browse(ready["monitor"])
        children.watch()


def _running_daemon(database: Path) -> DaemonStatus | None:
    """Return the daemon that runs already, None when there is none.

    Raises:
        Conflict: it watches another store.
        DaemonIncompatible: what answers is not a daemon of this version.
    """
    try:
        found = DaemonStatus.model_validate_json(call(paths.socket(), "GET", "/v1/status"))
    except DaemonUnreachable:
        return None
    if Path(found.database).resolve() != database.resolve():
        raise Conflict(
            f"The daemon that runs (pid {found.pid}) watches another store, '{found.database}'.",
            hint=f"kas up --db '{found.database}', or kas daemon stop",
        )
    return found


def _introduce(ready: Mapping[str, str], running: DaemonStatus | None) -> None:
    print(f"monitor  {ready['monitor']}")
    print(f"mcp      {ready['mcp']}")
    print(f"store    {ready['store']}")
    if running is not None:
        print(f"daemon   already running, pid {running.pid}; it goes on after this")
    print("Ctrl-C ends it; agents go on.", flush=True)


class _Ended(Exception):
    """A signal said that it is enough."""


class _Children:
    """The processes that this one has started, by name."""

    def __init__(self) -> None:
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str, *arguments: str, db: Path, output: int | None = None) -> None:
        """Start `kas` with `arguments`; its errors go to this terminal."""
        self._running[name] = subprocess.Popen(
            [sys.executable, "-P", "-m", "kasmos_plugin", *arguments, "--db", str(db)],
            stdin=subprocess.DEVNULL,
            stdout=output,
            start_new_session=True,
        )

    def wait_for_daemon(self) -> None:
        """Return once the daemon that was started answers.

        Raises:
            DaemonUnreachable: it does not within the time.
        """
        child = self._running["daemon"]
        deadline = time.monotonic() + START_WITHIN_S
        while time.monotonic() < deadline:
            if (code := child.poll()) is not None:
                self._leave(code)
            try:
                told = Ping.model_validate_json(call(paths.socket(), "GET", "/v1/ping"))
            except Unreachable:
                time.sleep(0.02)
            else:
                if told.pid == child.pid:
                    return
        raise DaemonUnreachable(str(paths.socket()), f"no answer within {START_WITHIN_S:g} s")

    def wait_for_serve(self) -> Mapping[str, str]:
        """Return what serve says when both its listeners answer.

        Raises:
            KasmosError: it says nothing within the time.
        """
        child = self._running["serve"]
        assert child.stdout is not None
        is_said, _, _ = select.select([child.stdout], [], [], START_WITHIN_S)
        line = child.stdout.readline() if is_said else b""
        if line:
            ready: dict[str, str] = json.loads(line)
            return ready
        if is_said:
            # Its output is closed: it is on its way out, and has said why.
            self._leave(child.wait(END_WITHIN_S))
        raise KasmosError(f"kas serve was not ready within {START_WITHIN_S:g} s.", hint="kas serve")

    def watch(self) -> NoReturn:
        """Wait until daemon or serve ends, which is a failure. The demo may end.

        Raises:
            KasmosError: one of them ended by itself.
        """
        while True:
            pid, status = os.waitpid(-1, 0)
            for name, child in list(self._running.items()):
                if child.pid == pid:
                    child.returncode = os.waitstatus_to_exitcode(status)
                    del self._running[name]
                    if name != "demo":
                        raise KasmosError(f"kas {name} ended with code {child.returncode}.")

    @contextmanager
    def ended(self) -> Iterator[None]:
        """End every child at the end, the last one first, undisturbed by more signals.

        Ctrl-C, SIGTERM and a closed terminal are ways to end. What is ignored stays so: nohup.
        """
        before = {
            number: handler
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
            if (handler := signal.getsignal(number)) is not signal.SIG_IGN
        }
        try:
            for number in before:
                signal.signal(number, _raise_ended)
            yield
        except _Ended:
            note("")
        finally:
            for number in before:
                signal.signal(number, signal.SIG_IGN)
            for child in reversed(self._running.values()):
                _end(child)
            for number, handler in before.items():
                signal.signal(number, handler)

    def _leave(self, code: int) -> NoReturn:
        """Leave with the code of a child that could not start, and has said why."""
        click.get_current_context().exit(code or 1)


def _end(child: "subprocess.Popen[bytes]") -> None:
    if child.poll() is None:
        child.terminate()
    try:
        child.wait(END_WITHIN_S)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
    if child.stdout is not None:
        child.stdout.close()


def _raise_ended(number: int, frame: FrameType | None) -> NoReturn:
    del number, frame
    raise _Ended
