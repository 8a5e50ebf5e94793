"""The plugin as files, by the rules that the Codex client was seen to apply.

What breaks one of them is dropped without a word there, so it has to fail here.
"""

import json
import re
import struct
from pathlib import Path
from typing import Any

import pytest

from kasmos_plugin import __version__
from kasmos_plugin.ports import MCP_PORT
from kasmos_plugin.serve.mcp_server import MCP_PATH
from tests.test_docs import FORBIDDEN

ROOT = Path(__file__).resolve().parents[2]
PLUGIN = ROOT / "integrations" / "codex"
CATALOGUE = ROOT / ".agents" / "plugins" / "marketplace.json"
MANIFEST = PLUGIN / ".codex-plugin" / "plugin.json"
SERVERS = PLUGIN / ".mcp.json"
FILES = sorted(path for path in PLUGIN.rglob("*") if not path.is_dir())
TEXTS = [path for path in FILES if path.suffix in (".md", ".json", ".svg")]
PNG = b"\x89PNG\r\n\x1a\n"

Json = dict[str, Any]

TYPES: dict[str, type] = {
    "name": str,
    "version": str,
    "description": str,
    "author": dict,
    "license": str,
    "keywords": list,
    "skills": str,
    "mcpServers": str,
    "interface": dict,
}
INTERFACE_TYPES: dict[str, type] = {
    "displayName": str,
    "shortDescription": str,
    "longDescription": str,
    "developerName": str,
    "category": str,
    "capabilities": list,
    "defaultPrompt": list,
    "brandColor": str,
    "composerIcon": str,
    "logo": str,
    "screenshots": list,
}


def read(path: Path) -> Json:
    """Read a JSON object as strictly as Codex does: a BOM, a trailing comma, a comment fail."""
    value = json.loads(path.read_bytes().decode("utf-8"))
    assert isinstance(value, dict)
    return value


def problems_of_path(text: str, root: Path) -> str:
    """Return why Codex would not follow a path of the manifest or catalogue; empty when it does."""
    if not text.startswith("./") or ".." in Path(text).parts:
        return f"{text} does not start with ./ or climbs"
    path = root / text
    if not path.exists():
        return f"{text} does not exist"
    if any(part.is_symlink() for part in (path, *path.parents) if part.is_relative_to(root)):
        return f"{text} leads through a symbolic link"
    return ""


def size_of(png: Path) -> tuple[int, int]:
    """Return width and height of a PNG, from its header."""
    head = png.read_bytes()[:24]
    assert head.startswith(PNG)
    width, height = struct.unpack(">II", head[16:24])
    return width, height


def test_the_manifest_has_the_types_that_the_client_reads() -> None:
    manifest = read(MANIFEST)
    assert {key: type(value) for key, value in manifest.items()} == TYPES
    interface = manifest["interface"]
    assert {key: type(value) for key, value in interface.items()} == INTERFACE_TYPES
    lists = [manifest["keywords"], *(v for v in interface.values() if isinstance(v, list))]
    assert all(isinstance(item, str) for one in lists for item in one)
    assert all(value for value in [*manifest.values(), *interface.values()])


def test_the_version_is_that_of_the_package_in_letters_that_a_folder_may_have() -> None:
    version = read(MANIFEST)["version"]
    assert version == __version__
    assert re.fullmatch(r"[A-Za-z0-9.+_-]+", version)


def test_the_starter_prompts_keep_the_limits() -> None:
    prompts = read(MANIFEST)["interface"]["defaultPrompt"]
    assert 1 <= len(prompts) <= 3
    assert [prompt for prompt in prompts if len(prompt) > 128] == []


def test_no_address_is_claimed_that_nobody_answers() -> None:
    """The project has no site; the only address of the plugin is this machine."""
    addresses = {
        address
        for path in (MANIFEST, SERVERS, CATALOGUE)
        for address in re.findall(r"https?://[^\"\s]+", path.read_text("utf-8"))
    }
    assert addresses == {f"http://127.0.0.1:{MCP_PORT}{MCP_PATH}"}


def test_every_path_of_the_manifest_leads_to_a_real_file() -> None:
    manifest = read(MANIFEST)
    interface = manifest["interface"]
    named = [manifest["skills"], manifest["mcpServers"], interface["composerIcon"]]
    named += [interface["logo"], *interface["screenshots"]]
    assert [problem for text in named if (problem := problems_of_path(text, PLUGIN))] == []
    assert manifest["skills"] == "./skills/"
    assert manifest["mcpServers"] == "./.mcp.json"


@pytest.mark.parametrize(
    ("text", "why"),
    [("assets/logo.png", "start"), ("./../codex/.mcp.json", "climbs"), ("./no.png", "exist")],
)
def test_a_path_that_the_client_would_drop_is_found(text: str, why: str) -> None:
    assert why in problems_of_path(text, PLUGIN)


def test_a_symbolic_link_is_found(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a.png").write_bytes(PNG)
    (tmp_path / "link").symlink_to("real")
    assert problems_of_path("./real/a.png", tmp_path) == ""
    assert "symbolic" in problems_of_path("./link/a.png", tmp_path)


def test_the_plugin_holds_no_link_and_no_foreign_file() -> None:
    assert [path for path in PLUGIN.rglob("*") if path.is_symlink()] == []
    assert [path.suffix or path.name for path in FILES if path not in TEXTS] == [".png"] * 4


def test_pictures_are_small_and_of_their_size() -> None:
    interface = read(MANIFEST)["interface"]
    for text in (interface["composerIcon"], interface["logo"]):
        picture = PLUGIN / text
        assert size_of(picture) == (512, 512)
        assert picture.stat().st_size < 60_000
        assert picture.with_suffix(".svg").is_file(), "its source"
    for text in interface["screenshots"]:
        assert min(size_of(PLUGIN / text)) >= 400
        assert (PLUGIN / text).stat().st_size < 200_000


def test_drawings_bring_nothing_from_elsewhere() -> None:
    for path in (PLUGIN / "assets").glob("*.svg"):
        text = path.read_text("utf-8")
        assert not re.search(r"<script|href|<image|<style|on\w+=", text)
        assert re.findall(r"https?://[^\"]+", text) == ["http://www.w3.org/2000/svg"]


def test_the_server_is_the_one_that_serve_opens_and_holds_no_session_up() -> None:
    """`required` would end the user's session when serve is down; `${VAR}` is not expanded."""
    url = f"http://127.0.0.1:{MCP_PORT}{MCP_PATH}"
    assert read(SERVERS) == {"mcpServers": {"kasmos": {"type": "http", "url": url}}}


def test_the_catalogue_offers_this_plugin_and_no_other() -> None:
    manifest, catalogue = read(MANIFEST), read(CATALOGUE)
    assert catalogue == {
        "name": "kasmos",
        "interface": {"displayName": manifest["interface"]["displayName"]},
        "plugins": [
            {
                "name": manifest["name"],
                "source": {"source": "local", "path": "./integrations/codex"},
                "policy": {"installation": "AVAILABLE", "authentication": "ON_INSTALL"},
                "category": manifest["interface"]["category"],
            }
        ],
    }
    assert problems_of_path(catalogue["plugins"][0]["source"]["path"], ROOT) == ""
    assert re.fullmatch(r"[A-Za-z0-9_-]+", catalogue["name"])


@pytest.mark.parametrize("path", [*TEXTS, CATALOGUE], ids=lambda path: path.name)
def test_texts_are_plain_utf8_that_praise_nothing(path: Path) -> None:
    data = path.read_bytes()
    assert not data.startswith(b"\xef\xbb\xbf")
    assert b"\r" not in data
    assert data.endswith(b"\n")
    words = re.findall(r"\w+", data.decode("utf-8").lower())
    assert [word for word in FORBIDDEN if word in words] == []
