"""What a killed installation left behind is put in order, and nothing else is touched."""

from pathlib import Path

import pytest

from kasmos_plugin.codex import config_file
from kasmos_plugin.codex.home import CodexHome
from kasmos_plugin.codex.place import Place, Record, Unsettled
from kasmos_plugin.codex.recovery import is_broken_off, recover, unsettled
from kasmos_plugin.codex.tables import PLUGIN_TABLE, put

MINE = b"\xef\xbb\xbf# mine\r\nmodel = 'x'\r\n"
TABLE = '\n[plugins."kasmos@kasmos"]\nenabled = true\n'
CODEX_FORM = f"# mine\nmodel = 'x'\n{TABLE}"


@pytest.fixture
def home(tmp_path: Path) -> CodexHome:
    path = tmp_path / "codex"
    path.mkdir()
    (path / "config.toml").write_bytes(MINE)
    (path / "config.toml").chmod(0o640)
    return CodexHome(path=path, told_by="--codex-home")


@pytest.fixture
def place(tmp_path: Path, home: CodexHome) -> Place:
    """A place whose installation was killed while Codex was at work."""
    place = Place(path=tmp_path / "place")
    before = unsettled(config_file.read(home.config))
    place.write_down(Record(home=str(home.path), port=1, unsettled=before))
    return place


def test_the_users_bytes_and_mode_come_back_with_our_table(home: CodexHome, place: Place) -> None:
    home.config.write_text(CODEX_FORM)
    home.config.chmod(0o600)
    assert is_broken_off(place)
    record = recover(home, place)
    assert record is not None
    assert home.config.read_bytes() == MINE + TABLE.replace("\n", "\r\n").encode()
    assert home.config.stat().st_mode & 0o777 == 0o640
    assert not is_broken_off(place)
    # The edit is known, so that it comes out without a trace.
    text = config_file.read(home.config).text
    assert put(text, PLUGIN_TABLE, None, undo=record.undo[PLUGIN_TABLE]) == MINE.decode()
    assert recover(home, place) == record, "once more changes nothing"


def test_what_was_changed_since_is_never_lost(home: CodexHome, place: Place) -> None:
    changed = CODEX_FORM.replace("'x'", "'y'")
    home.config.write_text(changed)
    recover(home, place)
    assert home.config.read_text() == changed
    assert not is_broken_off(place)


def test_a_command_that_never_began_leaves_the_file_alone(home: CodexHome, place: Place) -> None:
    recover(home, place)
    assert home.config.read_bytes() == MINE
    assert place.record() == Record(home=str(home.path), port=1)


def test_a_configuration_that_was_not_there_may_be_there_now(
    home: CodexHome, tmp_path: Path
) -> None:
    home.config.unlink()
    place = Place(path=tmp_path / "place")
    before = unsettled(config_file.read(home.config))
    place.write_down(Record(home=str(home.path), port=1, made_config=True, unsettled=before))
    home.config.write_text(TABLE)
    record = recover(home, place)
    assert home.config.read_text() == TABLE
    assert record is not None
    assert PLUGIN_TABLE in record.undo


def test_half_written_copies_go_and_files_of_others_stay(home: CodexHome, place: Place) -> None:
    ours = [home.path / ".config.toml.kasmos-x1", place.path / ".install.x", place.path / ".m"]
    others = [home.path / ".config.toml.swp", home.path / "config.toml.kasmos-backup"]
    for path in (*ours[:2], *others):
        path.write_text("x")
    half = place.path / ".marketplace.y" / "plugin"
    half.mkdir(parents=True)
    recover(home, place)
    assert [path for path in ours if path.exists()] == []
    assert not half.parent.exists()
    assert all(path.exists() for path in others)


def test_a_record_keeps_the_text_of_the_configuration_private(place: Place) -> None:
    """It may hold secrets."""
    record = place.path / "install.json"
    assert record.stat().st_mode & 0o777 == 0o600
    assert place.path.stat().st_mode & 0o777 == 0o700


def test_a_record_that_was_tampered_with_stops_nobody(home: CodexHome, place: Place) -> None:
    record = place.record()
    assert record is not None
    tampered = Unsettled(text="[[[", mode=0o600)
    place.write_down(record.model_copy(update={"unsettled": tampered}))
    recover(home, place)
    assert home.config.read_bytes() == MINE
    assert not is_broken_off(place)
