"""Shims in a terminal or on pipes, and a daemon that hears them."""

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.agent.harness import Screen, shim_command
from tests.daemon.harness import WITHIN_S, RunningDaemon, end

Shown = Callable[..., Screen]
Piped = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture
def running(home: Path) -> Iterator[RunningDaemon]:
    daemon = RunningDaemon(home).start()
    yield daemon
    daemon.close()


@pytest.fixture
def socket_path(home: Path) -> Path:
    """Where the daemon's socket is, whether or not one runs."""
    return home / "run" / "daemon.sock"


@pytest.fixture
def shown(socket_path: Path) -> Iterator[Shown]:
    """Run commands under a shim in a terminal."""
    screens: list[Screen] = []

    def run(*command: str, agent_id: str = "a") -> Screen:
        screens.append(Screen(shim_command(socket_path, *command, agent_id=agent_id)))
        return screens[-1]

    yield run
    for screen in screens:
        screen.close()


@pytest.fixture
def piped(socket_path: Path) -> Iterator[Piped]:
    """Run commands under a shim whose input, output and errors are pipes."""
    processes: list[subprocess.Popen[bytes]] = []

    def run(*command: str, agent_id: str = "a", log: str = "") -> "subprocess.Popen[bytes]":
        arguments = shim_command(socket_path, *command, agent_id=agent_id, log=log)
        pipe = subprocess.PIPE
        processes.append(subprocess.Popen(arguments, stdin=pipe, stdout=pipe, stderr=pipe))
        return processes[-1]

    yield run
    for process in processes:
        if process.poll() is None:
            end(process.pid)
        process.wait(WITHIN_S)
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None and not stream.closed:
                stream.close()
