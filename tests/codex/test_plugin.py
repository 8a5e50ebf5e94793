"""Our plugin as packaged, and as a folder."""

import json
from pathlib import Path

import pytest

from kasmos_plugin.codex import plugin
from kasmos_plugin.errors import KasmosError
from kasmos_plugin.ports import MCP_PORT

ROOT = Path(__file__).parents[2]


def test_the_packaged_files_are_those_of_the_checkout() -> None:
    folder = ROOT / "integrations" / "codex"
    found = {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }
    assert plugin.packaged() == found


def test_only_the_port_is_rendered() -> None:
    changed = {
        name
        for name, content in plugin.rendered(8434).items()
        if content != plugin.packaged()[name]
    }
    assert changed == {".mcp.json"}
    servers = json.loads(plugin.rendered(8434)[".mcp.json"])
    assert servers["mcpServers"]["kasmos"]["url"] == "http://127.0.0.1:8434/mcp"
    assert json.loads(plugin.rendered(MCP_PORT)[".mcp.json"]) == json.loads(
        plugin.packaged()[".mcp.json"]
    )


def test_the_catalogue_names_the_folder_beside_it() -> None:
    tree = plugin.marketplace(7434)
    catalogue = json.loads(tree[".agents/plugins/marketplace.json"])
    (entry,) = catalogue["plugins"]
    assert entry["source"]["path"].startswith("./")
    folder = entry["source"]["path"].removeprefix("./")
    manifest = json.loads(tree[f"{folder}/.codex-plugin/plugin.json"])
    assert manifest["name"] == entry["name"] == catalogue["name"]


def test_every_difference_of_a_folder_is_seen(tmp_path: Path) -> None:
    tree = {"a": b"1", "b/c": b"2"}
    top = tmp_path / "top"
    assert plugin.differences(tree, top) == ["a", "b/c"]
    assert plugin.write(tree, top) is None
    assert plugin.differences(tree, top) == []
    (top / "a").write_bytes(b"x")
    (top / "b" / "c").unlink()
    (top / "d").write_bytes(b"")
    assert plugin.differences(tree, top) == ["a", "b/c", "d"]


def test_a_link_in_the_folders_place_is_replaced_and_what_it_leads_to_stays(tmp_path: Path) -> None:
    mine, top = tmp_path / "mine", tmp_path / "top"
    mine.mkdir()
    (mine / "precious").write_text("x")
    top.symlink_to(mine)
    old = plugin.write({"new": b"2"}, top)
    assert not top.is_symlink()
    plugin.put_back(old, top)
    assert top.readlink() == mine
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine", "top"]
    assert (mine / "precious").exists()


def test_a_renewed_folder_can_be_put_back(tmp_path: Path) -> None:
    top = tmp_path / "top"
    plugin.write({"old": b"1"}, top)
    old = plugin.write({"new": b"2"}, top)
    assert plugin.differences({"new": b"2"}, top) == []
    plugin.put_back(old, top)
    assert plugin.differences({"old": b"1"}, top) == []
    plugin.put_back(None, top)
    assert not top.exists()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(KasmosError, match="cannot be copied"):
        plugin.write({"a": b""}, tmp_path / "file" / "top")
    with pytest.raises(KasmosError, match="cannot be copied"):
        plugin.write({"a": b"", "a/b": b""}, tmp_path / "top")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
