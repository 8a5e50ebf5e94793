"""A desk over a store, with a daemon of its own or with none."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kasmos_plugin.coordination.desk import Desk, Result
from kasmos_plugin.coordination.operations import OPERATIONS
from kasmos_plugin.store import Store
from tests.daemon.harness import RunningDaemon

Call = Callable[..., Result]


@pytest.fixture
def desk(store: Store, home: Path) -> Desk:
    """A desk whose daemon does not run."""
    return Desk(store=store, socket=home / "run" / "daemon.sock")


@pytest.fixture
def call(desk: Desk) -> Call:
    """Carry out an operation by name."""

    def run(name: str, **arguments: Any) -> Result:
        return OPERATIONS[name](desk, arguments)

    return run


@pytest.fixture
def daemon(home: Path, store: Store, monkeypatch: pytest.MonkeyPatch) -> Iterator[RunningDaemon]:
    """A daemon of the desk's store, where the environment names it for commands as well."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(Path.cwd())]))
    running = RunningDaemon(home).start()
    yield running
    running.close()
