"""Installing the plugin as a user does: from a checkout."""

from pathlib import Path

from e2e.codex.client import Codex
from e2e.codex.conftest import PLUGIN, ROOT
from kasmos_plugin import __version__


def tree(root: Path) -> dict[str, bytes]:
    """Return every file below `root`, by its path; a link counts, as Codex would drop it."""
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_symlink() or not path.is_dir()
    }


def test_the_checkout_is_a_marketplace(codex: Codex) -> None:
    added = codex.json("plugin", "marketplace", "add", str(ROOT))
    assert added == {
        "marketplaceName": "kasmos",
        "installedRoot": str(ROOT),
        "alreadyAdded": False,
    }

    installed = codex.json("plugin", "add", "kasmos@kasmos")
    assert installed["version"] == __version__
    assert tree(Path(installed["installedPath"])) == tree(PLUGIN)

    listed = codex.json("plugin", "list")
    assert [
        (plugin["pluginId"], plugin["version"], plugin["installed"], plugin["enabled"])
        for plugin in listed["installed"]
    ] == [("kasmos@kasmos", __version__, True, True)]
    assert listed["available"] == []

    (server,) = codex.json("mcp", "list")
    assert (server["name"], server["enabled"], server["transport"]["type"]) == (
        "kasmos",
        True,
        "streamable_http",
    )
    assert server["transport"]["url"] == "http://127.0.0.1:7434/mcp"
