"""Where Codex lies."""

from pathlib import Path

import pytest

from kasmos_plugin.codex.home import find_binary, find_home
from kasmos_plugin.errors import BadArgument


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("CODEX_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))


def test_the_option_comes_before_the_variable_and_that_before_the_default(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert find_home().path == tmp_path / ".codex"
    assert find_home().told_by == "default"
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "b"))
    assert find_home().path == tmp_path / "b"
    assert find_home(tmp_path / "a").path == tmp_path / "a"
    assert find_home(Path("~/a")).config == tmp_path / "a" / "config.toml"


def test_an_empty_variable_counts_as_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CODEX_HOME", "")
    assert find_home().path == tmp_path / ".codex"


def test_a_home_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BadArgument, match="is no directory"):
        find_home(tmp_path / "file")


def test_a_named_binary_that_cannot_run_is_an_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_binary() is None
    monkeypatch.setenv("KASMOS_CODEX", str(tmp_path / "none"))
    with pytest.raises(BadArgument, match="cannot be run"):
        find_binary()


def test_the_first_on_the_path_is_taken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    binary = tmp_path / "codex"
    binary.write_text("#!/bin/sh\n")
    binary.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_binary() == binary
