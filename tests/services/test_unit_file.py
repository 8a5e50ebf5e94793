"""A unit's file on disk: never half of it, a link to it kept."""

from pathlib import Path

import pytest

from kasmos_plugin.errors import KasmosError
from kasmos_plugin.services import unit_file


def test_a_file_is_written_whole_with_its_directories(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "x.service"
    assert unit_file.read(path) is None
    unit_file.write(path, b"one")
    unit_file.write(path, b"two")
    assert unit_file.read(path) == b"two"
    assert [one.name for one in path.parent.iterdir()] == ["x.service"]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    real, path = tmp_path / "real", tmp_path / "x.service"
    real.write_bytes(b"one")
    path.symlink_to("real")
    unit_file.write(path, b"two")
    assert (real.read_bytes(), path.is_symlink()) == (b"two", True)
    unit_file.remove(path)
    assert (real.exists(), path.is_symlink()) == (True, False)


def test_a_link_to_nothing_holds_nothing_and_is_something(tmp_path: Path) -> None:
    path = tmp_path / "x.service"
    path.symlink_to(tmp_path / "gone")
    assert unit_file.read(path) == b""


def test_what_cannot_be_done_is_an_expected_failure(tmp_path: Path) -> None:
    path = tmp_path / "x.service"
    path.mkdir()
    with pytest.raises(KasmosError, match=r"x\.service' cannot be read"):
        unit_file.read(path)
    with pytest.raises(KasmosError, match=r"x\.service' cannot be written"):
        unit_file.write(path, b"one")
    with pytest.raises(KasmosError, match=r"x\.service' cannot be removed"):
        unit_file.remove(path)
    assert list(tmp_path.iterdir()) == [path]
