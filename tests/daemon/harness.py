"""A real daemon as a process of its own, its socket, and bounded waits for what it says."""

import json
import os
import select
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from kasmos_plugin.daemon import client
from kasmos_plugin.daemon.settings import Settings, Timings

_T = TypeVar("_T")

WITHIN_S = 5.0
HASTY = {"grace_s": 0.3, "tick_s": 0.05, "worktrees_s": 0.05, "poll_s": 0.02, "drain_s": 1.0}

_MAIN = """
import json, sys
from pathlib import Path
from kasmos_plugin.cli.output import complain
from kasmos_plugin.daemon.service import run
from kasmos_plugin.daemon.settings import Settings, Timings
from kasmos_plugin.errors import KasmosError
told = json.loads(sys.argv[1])
settings = Settings(
    socket_path=Path(told["socket"]),
    database=Path(told["database"]),
    timings=Timings(**told["timings"]),
)
try:
    run(settings, on_ready=lambda: print("ready", flush=True))
except KasmosError as error:
    complain(error)
    sys.exit(error.exit_code)
"""


def eventually(look: Callable[[], _T], *, within_s: float = WITHIN_S) -> _T:
    """Return the first true value of `look`; fail when there is none within the time."""
    deadline = time.monotonic() + within_s
    while not (found := look()):
        assert time.monotonic() < deadline, f"not within {within_s:g} s: {look}"
        select.select([], [], [], 0.01)
    return found


class RunningDaemon:
    """One daemon; may be started, stopped and killed again and again on the same store."""

    def __init__(self, home: Path, **timings: float) -> None:
        self.settings = Settings(
            socket_path=home / "run" / "daemon.sock",
            database=home / "data" / "kasmos.db",
            timings=Timings(**(HASTY | timings)),
        )
        self._timings = HASTY | timings
        self.process: subprocess.Popen[str] | None = None

    @property
    def socket_path(self) -> Path:
        return self.settings.socket_path

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def spawn(self, **changes: object) -> "subprocess.Popen[str]":
        """Start a daemon's process, whatever becomes of it."""
        told = {
            "socket": str(self.settings.socket_path),
            "database": str(self.settings.database),
            "timings": self._timings,
        }
        return subprocess.Popen(
            [sys.executable, "-P", "-c", _MAIN, json.dumps(told | changes)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def start(self) -> "RunningDaemon":
        """Start and wait until it accepts."""
        self.process = self.spawn()
        assert self.process.stdout is not None
        assert select.select([self.process.stdout], [], [], WITHIN_S * 2)[0], "not ready in time"
        if self.process.stdout.readline() != "ready\n":
            _, said = self.process.communicate(timeout=WITHIN_S)
            raise AssertionError(f"the daemon did not start: {said}")
        return self

    def stop(self) -> int:
        """Ask it to stop; return its exit code."""
        assert self.process is not None
        self.process.terminate()
        return self._gone()

    def kill(self) -> None:
        """End it as a crash would."""
        assert self.process is not None
        self.process.kill()
        self._gone()

    def _gone(self) -> int:
        assert self.process is not None
        self.process.communicate(timeout=WITHIN_S * 2)
        code, self.process = self.process.returncode, None
        return code

    def close(self) -> None:
        """Leave nothing behind."""
        if self.process is not None:
            self.process.kill()
            self._gone()

    def ask(self, method: str, target: str, body: object = None) -> tuple[int, Any]:
        """Send a request; return status and JSON."""
        data = json.dumps(body).encode() if body is not None else b""
        reply = client.request(self.socket_path, method, target, body=data)
        return reply.status, json.loads(reply.body) if reply.body else None

    def get(self, target: str) -> Any:
        """Return the JSON of a successful answer."""
        status, found = self.ask("GET", target)
        assert status == 200, found
        return found

    def agent(self, agent_id: str) -> dict[str, Any] | None:
        """Return what it says of an agent, None when it is not listed."""
        status, found = self.ask("GET", f"/v1/agents/{agent_id}")
        return found if status == 200 else None

    def connect(self) -> socket.socket:
        """Return a raw connection."""
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(WITHIN_S)
        connection.connect(str(self.socket_path))
        return connection

    @contextmanager
    def events(self, query: str = "", last_id: int | None = None) -> Iterator["Follower"]:
        """Follow the stream of events."""
        header = f"Last-Event-ID: {last_id}\r\n" if last_id is not None else ""
        with self.connect() as connection:
            connection.sendall(
                f"GET /v1/events{query} HTTP/1.1\r\nHost: kasmos\r\n{header}\r\n".encode()
            )
            follower = Follower(connection)
            follower.until(b": kasmos\n")
            yield follower


class Follower:
    """Reads a stream of events by its lines."""

    def __init__(self, connection: socket.socket) -> None:
        self._file = connection.makefile("rb")

    def until(self, beginning: bytes) -> bytes:
        """Return the next line that begins so; b"" when the stream ends before."""
        for line in self._file:
            if line.startswith(beginning):
                return line
        return b""

    def event(self, kind: str = "") -> dict[str, Any]:
        """Return the next event of a kind."""
        while line := self.until(b"data: "):
            found: dict[str, Any] = json.loads(line.removeprefix(b"data: "))
            if kind in ("", found.get("kind")):
                return found
        raise AssertionError(f"the stream ended without '{kind}'")

    def rest(self) -> bytes:
        """Return everything up to the end of the stream."""
        return self._file.read()


def process_is_gone(pid: int) -> bool:
    """Return whether no such process lives; a zombie does not."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return True
    return text[text.rindex(")") + 2] in "ZX"


def end(pid: int) -> None:
    """End a process that a test started, if it is still there."""
    try:
        os.kill(pid, 9)
    except ProcessLookupError:
        return
