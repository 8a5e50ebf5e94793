"""What tests of the command line share: commands run in this process or as a process, a daemon."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kasmos_plugin import paths
from kasmos_plugin.cli.main import run
from kasmos_plugin.store import Store, open_store
from tests.conftest import git

KAS = (sys.executable, "-P", "-m", "kasmos_plugin")

PLAN = """**Goal:** Make it work

## Wave 1: Base
### Task 1: One
### Task 2: Two
## Wave 2: Rest
### Task 1: Three
"""


@dataclass(frozen=True)
class Done:
    """What a command said, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Kas = Callable[..., Done]


@pytest.fixture
def kas(capfd: pytest.CaptureFixture[str]) -> Kas:
    """Run one command line in this process: the same door as the console script's."""

    def call(*arguments: str) -> Done:
        capfd.readouterr()
        code = run(arguments)
        out, err = capfd.readouterr()
        return Done(code, out, err)

    return call


@pytest.fixture
def kas_process() -> Kas:
    """Run one command as a process of its own."""

    def call(*arguments: str, stdin: str = "", **environment: str) -> Done:
        done = subprocess.run(
            [*KAS, *arguments],
            input=stdin,
            env=os.environ | environment,
            capture_output=True,
            text=True,
            timeout=20,
        )
        return Done(done.returncode, done.stdout, done.stderr)

    return call


@pytest.fixture
def cli_store(home: Path) -> Iterator[Store]:
    """The store that commands use when they are told nothing."""
    store = open_store(paths.database())
    yield store
    store.close()


@pytest.fixture
def demo_project(cli_store: Store, repo: Path) -> str:
    """The project `repo`, known to commands."""
    return cli_store.projects.add(repo).project


@pytest.fixture
def task(cli_store: Store, demo_project: str) -> str:
    """The task `auth` with two waves, in the only project."""
    return cli_store.tasks.create(demo_project, "auth", plan_text=PLAN).filename


def until(look: Callable[[], Any], *, within_s: float = 10.0, what: str = "") -> Any:
    """Return what `look` returns once it is true."""
    deadline = time.monotonic() + within_s
    while not (found := look()):
        assert time.monotonic() < deadline, f"not within {within_s} s: {what}"
        time.sleep(0.02)
    return found


@pytest.fixture
def daemon(home: Path, cli_store: Store, tmp_path: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """A daemon on the store that commands use."""
    with (tmp_path / "daemon.log").open("wb") as log:
        process = subprocess.Popen(
            [*KAS, "daemon", "start", "--foreground"],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    try:
        until(lambda: run_quietly("daemon", "status"), what="the daemon")
        yield process
    finally:
        process.terminate()
        process.wait(10)


def run_quietly(*arguments: str) -> bool:
    """Return whether a command ends well."""
    return subprocess.run([*KAS, *arguments], capture_output=True, check=False).returncode == 0


@pytest.fixture
def make_repo(tmp_path: Path) -> Callable[[str], Path]:
    """Make one more git repository."""

    def make(name: str) -> Path:
        directory = tmp_path / name
        directory.mkdir()
        git(directory, "init", "-q", "-b", "main")
        git(directory, "commit", "-q", "--allow-empty", "-m", "begin")
        return directory

    return make
