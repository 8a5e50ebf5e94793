"""A daemon for tests of its doors."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.daemon.harness import RunningDaemon


@pytest.fixture
def running(home: Path) -> Iterator[RunningDaemon]:
    """A daemon that was started; hasty, so that no test waits."""
    daemon = RunningDaemon(home).start()
    yield daemon
    daemon.close()
