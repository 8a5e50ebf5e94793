"""Real shims with real children, on a real pty or on pipes."""

import fcntl
import json
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path
from typing import Any

from kasmos_plugin.agent import start
from kasmos_plugin.daemon.processes import boot_id
from tests.daemon.harness import WITHIN_S, end

STARTED_AT = "2026-03-04T05:06:07Z"


def shim_command(socket_path: Path, *command: str, agent_id: str = "a", log: str = "") -> list[str]:
    """Return how `kas agent run` calls the shim."""
    hello = {
        "id": agent_id,
        "project": "repo",
        "role": "coder",
        "program": "sh",
        "log": log,
        "started_at": STARTED_AT,
    }
    last_words = socket_path.with_name(f"{socket_path.name}.ends") / agent_id
    return [
        *(sys.executable, "-I", "-S", start.__file__, str(socket_path), str(last_words)),
        *(json.dumps(hello)[:-1], boot_id(), log, agent_id, *command),
    ]


class Screen:
    """A terminal, with a shim in its foreground."""

    def __init__(self, command: list[str], *, rows: int = 30, columns: int = 90) -> None:
        self.master, slave = pty.openpty()
        self.resize(rows, columns)
        self.seen = b""

        def take_terminal() -> None:
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        self.process = subprocess.Popen(
            command,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            preexec_fn=take_terminal,
        )
        self.slave = slave

    def resize(self, rows: int, columns: int) -> None:
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, keys: bytes) -> None:
        os.write(self.master, keys)

    def until(self, text: bytes) -> bytes:
        """Read until the text was shown; return everything shown so far."""
        deadline = time.monotonic() + WITHIN_S
        while text not in self.seen:
            left = deadline - time.monotonic()
            assert left > 0, f"{text!r} was not shown: {self.seen!r}"
            if select.select([self.master], [], [], left)[0]:
                try:
                    self.seen += os.read(self.master, 65536)
                except OSError:
                    raise AssertionError(f"gone without {text!r}: {self.seen!r}") from None
        return self.seen

    def modes(self) -> list[Any]:
        return termios.tcgetattr(self.slave)

    def wait(self) -> int:
        return self.process.wait(WITHIN_S * 2)

    def close(self) -> None:
        """End what is left, and the terminal."""
        if self.process.poll() is None:
            end(self.process.pid)
            self.process.wait(WITHIN_S)
        for fd in (self.master, self.slave):
            try:
                os.close(fd)
            except OSError:
                continue

    def hang_up(self) -> None:
        """Close the terminal, as a window that is closed does."""
        os.close(self.slave)
        os.close(self.master)
