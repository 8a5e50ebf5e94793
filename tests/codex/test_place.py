"""Our folder for one Codex home: its record, and its lock."""

from pathlib import Path

import pytest

from kasmos_plugin.codex.edits import Edit
from kasmos_plugin.codex.home import CodexHome
from kasmos_plugin.codex.place import Place, Record, place_of
from kasmos_plugin.codex.tables import PLUGIN_TABLE
from kasmos_plugin.errors import Conflict, KasmosError

EDIT = Edit(before="", after="x\n")
RECORD = Record(home="/h", port=7434, edits={"plugins": EDIT, "apps": EDIT})


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return place_of(CodexHome(path=tmp_path / "codex", told_by="--codex-home"))


def test_a_record_comes_back_and_is_for_this_user_alone(place: Place) -> None:
    assert place.record() is None
    place.write_down(RECORD)
    assert place.record() == RECORD
    assert RECORD.undo == {PLUGIN_TABLE: EDIT}
    (file,) = place.path.iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
    file.write_text("{")
    assert place.record() is None


def test_a_record_that_cannot_be_written_leaves_nothing_behind(place: Place) -> None:
    (place.path / "install.json" / "in the way").mkdir(parents=True)
    with pytest.raises(KasmosError, match="cannot be written"):
        place.write_down(RECORD)
    assert [path.name for path in place.path.iterdir()] == ["install.json"]


def test_a_second_installer_of_the_same_home_is_refused_while_one_is_at_work(place: Place) -> None:
    with place.alone(), pytest.raises(Conflict), place.alone():
        pass
    with place.alone():
        pass


def test_each_home_has_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    homes = [CodexHome(path=tmp_path / name, told_by="") for name in (".codex", "a", "b")]
    names = [place_of(home).path.name for home in homes]
    assert names[0] == "default"
    assert len(set(names)) == 3


@pytest.mark.parametrize(
    "content", ['{"home": "/h", "port": -1}', '{"home": "/h", "port": 99999999}', "[" * 10_000]
)
def test_a_record_that_makes_no_sense_is_none(place: Place, content: str) -> None:
    place.write_down(RECORD)
    (place.path / "install.json").write_text(content)
    assert place.record() is None


def test_the_folder_is_named_as_codex_will_name_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Codex resolves links; where ours were not, an uninstallation would find a stranger's."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    monkeypatch.setenv("KASMOS_HOME", str(tmp_path / "link"))
    home = CodexHome(path=tmp_path / "codex", told_by="--codex-home")
    assert place_of(home).path.is_relative_to(tmp_path / "real")


def test_a_link_in_our_folders_place_is_refused_before_anything_in_it_can_go(
    place: Place, tmp_path: Path
) -> None:
    (tmp_path / "mine").mkdir()
    place.path.parent.mkdir(parents=True)
    place.path.symlink_to(tmp_path / "mine")
    with pytest.raises(KasmosError, match="is a link"):
        place_of(CodexHome(path=tmp_path / "codex", told_by="--codex-home"))
