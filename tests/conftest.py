"""Fixtures that every room's tests share: a private home, a clock, a repository, a store."""

import os
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from kasmos_plugin.contract.approval import Step
from kasmos_plugin.contract.task import LifecycleEvent, Task
from kasmos_plugin.rules.approval import plan_hash
from kasmos_plugin.store import Store, open_store


def approve(store: Store, project: str, task: str, step: str) -> None:
    """Approve a step of a task as a person does at a terminal."""
    plan = plan_hash(store.tasks.plan_text(project, task))
    store.approvals.decide(project, task, Step(step), "approved", by="ann", plan_hash=plan)


def approved_move(store: Store, project: str, task: str, event: LifecycleEvent) -> Task:
    """Approve a gated lifecycle event, and apply it."""
    approve(store, project, task, event)
    return store.tasks.transition(project, task, event)


class Clock:
    """A clock that stands until it is told to move, in either direction."""

    def __init__(self) -> None:
        self.at = datetime(2026, 3, 4, 5, 6, 7, 890_000, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.at

    def advance(self, seconds: float) -> None:
        self.at += timedelta(seconds=seconds)


def git(directory: Path, *arguments: str) -> str:
    """Run git as nobody in particular, without the user's configuration."""
    environment = os.environ | {
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_SYSTEM": os.devnull,
        "GIT_AUTHOR_NAME": "test",
        "GIT_AUTHOR_EMAIL": "test@example.invalid",
        "GIT_COMMITTER_NAME": "test",
        "GIT_COMMITTER_EMAIL": "test@example.invalid",
    }
    done = subprocess.run(
        ["git", "-C", str(directory), *arguments],
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Move every path of ours below a temporary directory."""
    for name in [name for name in os.environ if name.startswith("KASMOS_")]:
        monkeypatch.delenv(name)
    home = tmp_path / "home"
    monkeypatch.setenv("KASMOS_HOME", str(home))
    return home


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A git repository named `repo` with one commit on `main`."""
    directory = tmp_path / "repo"
    directory.mkdir()
    git(directory, "init", "-q", "-b", "main")
    git(directory, "commit", "-q", "--allow-empty", "-m", "begin")
    return directory


@pytest.fixture
def store(home: Path, clock: Clock) -> Iterator[Store]:
    store = open_store(home / "data" / "kasmos.db", now=clock)
    yield store
    store.close()


@pytest.fixture
def project(store: Store, repo: Path) -> str:
    """The project `repo`, registered in the store."""
    return store.projects.add(repo).project
