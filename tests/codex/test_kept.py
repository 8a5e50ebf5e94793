"""What the user wrote stays when another program rewrites the configuration."""

from collections.abc import Callable
from pathlib import Path

import pytest

from kasmos_plugin.codex import config_file
from kasmos_plugin.codex.edits import between
from kasmos_plugin.codex.home import CodexHome
from kasmos_plugin.codex.kept import keeping, put_back, turn_apps_back
from kasmos_plugin.codex.tables import PLUGIN_TABLE, table
from kasmos_plugin.errors import KasmosError

MINE = b"\xef\xbb\xbf# mine\r\nmodel = 'x'\r\n"
TABLE = '\n[plugins."kasmos@kasmos"]\nenabled = true\n'


@pytest.fixture
def home(tmp_path: Path) -> CodexHome:
    path = tmp_path / "codex"
    path.mkdir()
    (path / "config.toml").write_bytes(MINE)
    (path / "config.toml").chmod(0o640)
    return CodexHome(path=path, told_by="--codex-home")


def rewriting(home: CodexHome, change: Callable[[str], str]) -> Callable[[], None]:
    """Return what rewrites the file as Codex does: LF, no byte order mark, mode 0600."""

    def run() -> None:
        text = home.config.read_bytes().decode("utf-8-sig").replace("\r\n", "\n")
        home.config.write_bytes(change(text).encode())
        home.config.chmod(0o600)

    return run


def test_the_users_bytes_and_mode_stay_and_our_table_comes(home: CodexHome) -> None:
    edit = keeping(home, rewriting(home, lambda text: text + TABLE), undo={})
    assert edit is not None
    assert home.config.read_bytes() == MINE + TABLE.replace("\n", "\r\n").encode()
    assert home.config.stat().st_mode & 0o777 == 0o640
    keeping(
        home,
        rewriting(home, lambda text: text.replace(TABLE, "")),
        undo={PLUGIN_TABLE: edit},
    )
    assert home.config.read_bytes() == MINE


def test_another_programs_change_at_the_same_time_is_never_lost(home: CodexHome) -> None:
    """Fault A11."""

    def both(text: str) -> str:
        return text.replace("'x'", "'y'") + TABLE

    keeping(home, rewriting(home, both), undo={})
    text = home.config.read_text()
    assert "model = 'y'" in text
    assert table(text, PLUGIN_TABLE) == {"enabled": True}


def test_a_command_that_fails_leaves_the_file_as_it_was(home: CodexHome) -> None:
    def fail() -> None:
        rewriting(home, lambda text: text)()
        raise KasmosError("no")

    with pytest.raises(KasmosError, match="no"):
        keeping(home, fail, undo={})
    assert home.config.read_bytes() == MINE


@pytest.mark.parametrize("error", [KasmosError("no"), KeyboardInterrupt(), SystemExit(1)])
def test_one_that_is_broken_off_after_it_wrote_keeps_the_users_bytes(
    home: CodexHome, error: BaseException
) -> None:
    told: list[object] = []

    def broken_off() -> None:
        rewriting(home, lambda text: text + TABLE)()
        raise error

    with pytest.raises(type(error)):
        keeping(
            home,
            broken_off,
            undo={},
            journal=lambda file: told.append(file and file.content),
        )
    assert home.config.read_bytes() == MINE + TABLE.replace("\n", "\r\n").encode()
    assert told == [MINE, None], "first what was there, then that all is settled"


def test_putting_back_never_overwrites_what_means_something_else(home: CodexHome) -> None:
    before = config_file.read(home.config)
    home.config.write_text("# other\nmodel = 'x'\n")
    put_back(home, before)
    assert home.config.read_bytes() == MINE, "the same values: the bytes come back"
    home.config.write_text("model = 'y'\n")
    put_back(home, before)
    assert home.config.read_text() == "model = 'y'\n"


def test_a_file_that_was_absent_is_removed_only_while_it_is_empty(home: CodexHome) -> None:
    home.config.unlink()
    before = config_file.read(home.config)
    home.config.write_text("model = 'y'\n")
    put_back(home, before)
    assert home.config.exists()
    home.config.write_text("\n")
    put_back(home, before)
    assert not home.config.exists()


def test_apps_go_off_again_only_where_they_still_stand_as_we_left_them(home: CodexHome) -> None:
    off, on = "[features]\napps = false # n\n", "[features]\napps = true # n\n"
    edit = between(off, on)
    home.config.write_text(f"# a\n{on}")
    assert turn_apps_back(home, edit)
    assert home.config.read_text() == f"# a\n{off}"
    home.config.write_text("[features]\napps = true # mine\n")
    assert not turn_apps_back(home, edit)
    assert home.config.read_text() == "[features]\napps = true # mine\n"
