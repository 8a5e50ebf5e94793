"""The live view on a real terminal: it draws, answers keys, and gives the terminal back."""

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from kasmos_plugin.store import Store
from tests.cli.conftest import KAS

ENTERS, LEAVES = b"\x1b[?1049h", b"\x1b[?1049l"


class Terminal:
    """A terminal of a given size with one command in it."""

    def __init__(self, *arguments: str, columns: int = 80, rows: int = 24) -> None:
        self.person, self._terminal = pty.openpty()
        self.resize(columns, rows)
        self.before = termios.tcgetattr(self._terminal)
        environment = os.environ | {"TERM": "xterm-256color"}
        environment.pop("NO_COLOR", None)
        self.process = subprocess.Popen(
            [*KAS, *arguments],
            stdin=self._terminal,
            stdout=self._terminal,
            stderr=self._terminal,
            env=environment,
            start_new_session=True,
        )
        self.seen = b""

    def resize(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self.person, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def until(self, text: str, *, within_s: float = 10.0) -> None:
        """Read what is drawn until `text` is among it."""
        deadline = time.monotonic() + within_s
        begin = len(self.seen)
        while text.encode() not in self.seen[begin:]:
            ready, _, _ = select.select([self.person], [], [], deadline - time.monotonic())
            assert ready, (text, self.seen[begin:])
            self.seen += os.read(self.person, 65536)

    def press(self, keys: str) -> None:
        os.write(self.person, keys.encode())

    def end(self) -> int:
        """Read what is still drawn, wait for the end and return the exit code."""
        deadline = time.monotonic() + 10
        while self.process.poll() is None:
            assert time.monotonic() < deadline, "it does not end"
            if select.select([self.person], [], [], 0.05)[0]:
                self.seen += os.read(self.person, 65536)
        while select.select([self.person], [], [], 0)[0]:
            self.seen += os.read(self.person, 65536)
        return self.process.returncode

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(10)
        os.close(self._terminal)
        os.close(self.person)

    @property
    def mode(self) -> list[object]:
        return termios.tcgetattr(self._terminal)


@contextmanager
def terminal(*arguments: str, columns: int = 80, rows: int = 24) -> Iterator[Terminal]:
    found = Terminal(*arguments, columns=columns, rows=rows)
    try:
        yield found
    finally:
        found.close()


@pytest.mark.parametrize(
    ("leave", "code"), [("q", 0), ("\x1b", 0), ("\x03", 0), ("SIGTERM", 143)], ids=str
)
def test_it_ends_as_asked_and_gives_the_terminal_back(task: str, leave: str, code: int) -> None:
    with terminal("monitor") as seen:
        seen.until("q quit")
        assert ENTERS in seen.seen
        assert seen.mode != seen.before
        if leave == "SIGTERM":
            seen.process.send_signal(signal.SIGTERM)
        elif leave == "\x03":
            # The terminal would send it; it is no controlling terminal here.
            seen.process.send_signal(signal.SIGINT)
        else:
            seen.press(leave)
        assert seen.end() == code
        assert LEAVES in seen.seen
        assert seen.mode == seen.before


def test_a_change_is_drawn_and_r_looks_at_once(cli_store: Store, task: str) -> None:
    with terminal("monitor") as seen:
        seen.until("agents unknown")
        cli_store.tasks.block("repo", task, "which API?")
        seen.press("r")
        seen.until("which API?")
        seen.press("q")
        assert seen.end() == 0


def test_an_arrow_key_is_no_escape(task: str) -> None:
    with terminal("monitor") as seen:
        seen.until("q quit")
        seen.press("\x1b[A")
        seen.resize(100, 30)
        seen.until("q quit")
        assert seen.process.poll() is None
        seen.press("q")
        assert seen.end() == 0


def test_a_new_size_is_drawn(task: str) -> None:
    with terminal("monitor", columns=80, rows=12) as seen:
        seen.until("no room for")
        seen.resize(160, 40)
        seen.until("1. One")
        seen.press("q")
        assert seen.end() == 0


def test_a_first_look_that_fails_is_an_error_and_no_screen(task: str) -> None:
    with terminal("monitor", "--project", "nope") as seen:
        assert seen.end() == 1
        assert b"Unknown project 'nope'" in seen.seen
        assert ENTERS not in seen.seen
        assert seen.mode == seen.before


def test_hostile_names_draw_no_escape_of_theirs(cli_store: Store, task: str) -> None:
    """Fault D9."""
    cli_store.tasks.block("repo", task, "a\x1b]0;pwned\x07b\x1b[2Jc")
    with terminal("monitor") as seen:
        seen.until("abc")
        seen.press("q")
        seen.end()
        assert b"pwned" not in seen.seen


def test_elsewhere_it_prints_one_block_for_each_change(cli_store: Store, task: str) -> None:
    process = subprocess.Popen([*KAS, "monitor"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    try:
        first = _block(process)
        cli_store.tasks.block("repo", task, "which API?")
        second = _block(process)
    finally:
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=10)
    assert first[1] == "project repo: 1 ready, agents unknown"
    assert second[1] == "project repo: 1 ready, agents unknown, 1 waiting for you"
    assert not any("\x1b" in line for line in first + second)
    assert (process.returncode, out, err) == (0, b"", b"")


def _block(process: "subprocess.Popen[bytes]") -> list[str]:
    lines: list[str] = []
    assert process.stdout is not None
    while line := process.stdout.readline().decode().rstrip("\n"):
        lines.append(line)
    return lines
