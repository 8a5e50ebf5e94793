"""cli.up: daemon and serve together, and nothing of them left afterwards."""

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from kasmos_plugin import paths
from kasmos_plugin.contract.control import DaemonStatus
from kasmos_plugin.daemon.client import call
from kasmos_plugin.errors import DaemonUnreachable

ENOUGH_S = 60
KAS = (sys.executable, "-m", "kasmos_plugin")
FREE = ("--port", "0", "--mcp-port", "0")


class Up:
    """A running `kas up`, and the lines that it has printed."""

    def __init__(self, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [*KAS, "up", *FREE, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.lines: list[str] = []
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line.rstrip())
            if line.startswith("Ctrl-C"):
                break
        self.children = psutil.Process(self.process.pid).children() if self.lines else []

    @property
    def monitor(self) -> str:
        return self.lines[0].split()[1]

    def snapshot(self, project: str = "") -> Any:
        body = json.dumps({"project": project} if project else {}).encode()
        with urllib.request.urlopen(f"{self.monitor}v1/monitor/snapshot", body) as answered:
            return json.load(answered)["structuredContent"]

    def end(self, number: int = signal.SIGINT) -> tuple[int, str]:
        self.process.send_signal(number)
        _, errors = self.process.communicate(timeout=ENOUGH_S)
        return self.process.returncode, errors


@contextmanager
def up(*arguments: str) -> Iterator[Up]:
    running = Up(*arguments)
    try:
        yield running
    finally:
        if running.process.poll() is None:
            running.end(signal.SIGTERM)
        if running.process.stdout is not None:
            running.process.stdout.close()
        if running.process.stderr is not None:
            running.process.stderr.close()


def status() -> DaemonStatus | None:
    try:
        return DaemonStatus.model_validate_json(call(paths.socket(), "GET", "/v1/status"))
    except DaemonUnreachable:
        return None


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_it_starts_both_and_ends_both(home: Path, number: int) -> None:
    with up() as running:
        found = status()
        assert found is not None
        assert running.lines[2:] == [
            f"store    {home / 'data' / 'kasmos.db'}",
            "Ctrl-C ends it; agents go on.",
        ]
        snapshot = running.snapshot()
        assert snapshot["daemon_running"] is True
        assert [notice["code"] for notice in snapshot["notices"]] == ["no_projects"]
        assert found.pid in [child.pid for child in running.children]
        assert running.end(number) == (0, "\n")
    assert status() is None
    assert not any(child.is_running() for child in running.children)


def test_a_running_daemon_of_the_same_store_is_used_and_left(home: Path) -> None:
    subprocess.run([*KAS, "daemon", "start"], check=True, capture_output=True, timeout=ENOUGH_S)
    try:
        before = status()
        assert before is not None
        with up() as running:
            assert (
                f"daemon   already running, pid {before.pid}; it goes on after this"
                in running.lines
            )
            assert len(running.children) == 1
            assert running.snapshot()["daemon_running"] is True
        after = status()
        assert after is not None
        assert (after.pid, after.instance) == (before.pid, before.instance)
    finally:
        subprocess.run([*KAS, "daemon", "stop"], check=True, capture_output=True, timeout=ENOUGH_S)


def test_a_daemon_of_another_store_is_refused(home: Path, tmp_path: Path) -> None:
    """D6: it would answer for other agents."""
    other = tmp_path / "other.db"
    start = [*KAS, "daemon", "start", "--db", str(other)]
    subprocess.run(start, check=True, capture_output=True, timeout=ENOUGH_S)
    try:
        done = subprocess.run(
            [*KAS, "up", *FREE], capture_output=True, text=True, timeout=ENOUGH_S, check=False
        )
        assert (done.returncode, done.stdout) == (1, "")
        found = status()
        assert found is not None
        assert done.stderr.splitlines() == [
            f"error: The daemon that runs (pid {found.pid}) watches another store, '{other}'.",
            f"hint: kas up --db '{other}', or kas daemon stop",
        ]
    finally:
        subprocess.run([*KAS, "daemon", "stop"], check=True, capture_output=True, timeout=ENOUGH_S)


def test_a_taken_port_ends_it_all(home: Path) -> None:
    """D6"""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        held.listen()
        port = held.getsockname()[1]
        done = subprocess.run(
            [*KAS, "up", "--port", str(port), "--mcp-port", "0"],
            capture_output=True,
            text=True,
            timeout=ENOUGH_S,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr.startswith(f"error: Port {port} on 127.0.0.1 is taken by pid {os.getpid()}")
    assert done.stderr.count("error:") == 1
    assert status() is None


def test_a_server_that_ends_by_itself_ends_the_rest(home: Path) -> None:
    with up() as running:
        found = status()
        assert found is not None
        os.kill(found.pid, signal.SIGKILL)
        _, errors = running.process.communicate(timeout=ENOUGH_S)
        assert running.process.returncode == 1
        assert errors == "error: kas daemon ended with code -9.\n"
    assert not any(child.is_running() for child in running.children)


def test_the_demo_plays_in_the_running_store_and_cleans_up(home: Path) -> None:
    with up("--demo") as running:
        assert running.process.stdout is not None
        for line in running.process.stdout:
            running.lines.append(line.rstrip())
            if "a plan of two waves" in line:
                break
        snapshot = running.snapshot("demo")
        assert [task["filename"] for task in snapshot["tasks"]] == ["moon-phases"]
        running.process.send_signal(signal.SIGINT)
        running.lines += [line.rstrip() for line in running.process.stdout]
        _, errors = running.process.communicate(timeout=ENOUGH_S)
        assert (running.process.returncode, errors.strip()) == (0, "")
        assert running.lines[-1].endswith("cleaned up: nothing is left")
    assert status() is None
