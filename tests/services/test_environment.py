"""What a service must share with the shell that installs it."""

from pathlib import Path

import pytest

from kasmos_plugin import paths
from kasmos_plugin.services.environment import carried_environment

SET_BY_TESTS = ("KASMOS_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME")


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, home: Path) -> None:
    """A shell in which nothing moves a path."""
    for name in SET_BY_TESTS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)


def test_what_is_not_set_is_not_carried() -> None:
    assert carried_environment(has_db=False) == {}


def test_paths_are_carried_absolute(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KASMOS_HOME", "here")
    monkeypatch.setenv("KASMOS_DB", "a.db")
    monkeypatch.setenv("KASMOS_SOCKET", "s/d.sock")
    monkeypatch.setenv("XDG_DATA_HOME", "/data")
    monkeypatch.setenv("KASMOS_PROJECT", "shop")
    assert carried_environment(has_db=False) == {
        "KASMOS_HOME": str(tmp_path / "here"),
        "KASMOS_DB": str(tmp_path / "a.db"),
        "KASMOS_SOCKET": str(paths.socket()),
        "XDG_DATA_HOME": "/data",
    }


def test_an_option_replaces_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KASMOS_DB", "a.db")
    assert carried_environment(has_db=True) == {}
