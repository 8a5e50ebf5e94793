"""paths: where things lie."""

import os
from pathlib import Path

import pytest

from kasmos_plugin import paths


def test_one_variable_moves_everything(home: Path) -> None:
    for path in (
        paths.database(),
        paths.socket(),
        paths.state_dir(),
        paths.logs_dir(),
    ):
        assert path.is_relative_to(home)


def test_single_paths_can_be_moved(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KASMOS_DB", str(tmp_path / "x.db"))
    monkeypatch.setenv("KASMOS_SOCKET", str(tmp_path / "x.sock"))
    assert (paths.database(), paths.socket()) == (tmp_path / "x.db", tmp_path / "x.sock")


def test_a_socket_path_over_the_limit_becomes_a_short_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KASMOS_HOME", "/tmp/" + "x" * 200)
    short = paths.socket()
    assert len(os.fsencode(short)) <= paths.SOCKET_PATH_LIMIT
    assert paths.socket() == short
    monkeypatch.setenv("KASMOS_HOME", "/tmp/" + "y" * 200)
    assert paths.socket() != short


def test_without_variables_the_platform_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KASMOS_HOME")
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/run/user/1")
    monkeypatch.setenv("XDG_DATA_HOME", "/data")
    assert paths.database() == Path("/data/kasmos/kasmos.db")
    assert paths.socket().name == "daemon.sock"
