"""Installing the plugin as a user does: from a checkout, and from a repository on a web server."""

import json
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from e2e.codex.client import Codex
from e2e.codex.conftest import PLUGIN, ROOT, copy_market
from kasmos_plugin import __version__

ID = "kasmos@kasmos"


def test_the_checkout_is_a_marketplace(codex: Codex) -> None:
    assert codex.json("plugin", "marketplace", "add", str(ROOT)) == {
        "marketplaceName": "kasmos",
        "installedRoot": str(ROOT),
        "alreadyAdded": False,
    }
    installed = codex.json("plugin", "add", ID)
    assert installed["version"] == __version__
    assert tree(Path(installed["installedPath"])) == tree(PLUGIN)
    assert plugins(codex) == [(ID, __version__, True)]


def test_an_installed_plugin_brings_its_server(codex: Codex) -> None:
    codex.run("plugin", "marketplace", "add", str(ROOT))
    assert codex.json("mcp", "list") == []
    codex.run("plugin", "add", ID)
    (server,) = codex.json("mcp", "list")
    assert (server["name"], server["enabled"]) == ("kasmos", True)
    assert (server["transport"]["type"], server["transport"]["url"]) == (
        "streamable_http",
        "http://127.0.0.1:7434/mcp",
    )


@pytest.mark.parametrize(
    "options",
    [(), ("--ref", "main", "--sparse", ".agents", "--sparse", "integrations/codex")],
    ids=["whole", "sparse"],
)
def test_a_repository_is_a_marketplace(
    codex: Codex, published: "Repository", options: tuple[str, ...]
) -> None:
    added = codex.json("plugin", "marketplace", "add", published.url, *options)
    assert (added["marketplaceName"], added["alreadyAdded"]) == ("kasmos", False)
    installed = codex.json("plugin", "add", ID)
    assert tree(Path(installed["installedPath"])) == tree(PLUGIN)
    assert plugins(codex) == [(ID, __version__, True)]


def test_a_newer_version_in_the_repository_comes_with_an_upgrade(
    codex: Codex, published: "Repository"
) -> None:
    codex.run("plugin", "marketplace", "add", published.url)
    codex.run("plugin", "add", ID)
    published.set_version("999.0.0")
    assert codex.json("plugin", "marketplace", "upgrade", "kasmos")["errors"] == []
    assert plugins(codex) == [(ID, "999.0.0", True)]
    kept = codex.home / "plugins" / "cache" / "kasmos" / "kasmos"
    assert [path.name for path in kept.iterdir()] == ["999.0.0"]


@dataclass
class Repository:
    """The marketplace as a git repository behind the plainest of web servers."""

    root: Path
    origin: str

    def __post_init__(self) -> None:
        copy_market(self.source)
        self._git("init", "--quiet", "--initial-branch", "main")
        self._commit("begin")
        self._git("clone", "--quiet", "--bare", ".", str(self.bare))
        self._publish()

    @property
    def source(self) -> Path:
        return self.root / "source"

    @property
    def bare(self) -> Path:
        return self.root / "www" / "kasmos.git"

    @property
    def url(self) -> str:
        return f"{self.origin}/kasmos.git"

    def set_version(self, version: str) -> None:
        """Publish a commit in which the plugin has another version."""
        path = self.source / "integrations" / "codex" / ".codex-plugin" / "plugin.json"
        manifest = json.loads(path.read_text(encoding="utf-8"))
        path.write_text(json.dumps({**manifest, "version": version}), encoding="utf-8")
        self._commit(version)
        self._git("push", "--quiet", str(self.bare), "main")
        self._publish()

    def _commit(self, subject: str) -> None:
        self._git("add", "--all")
        who = ("-c", "user.name=tests", "-c", "user.email=tests@example.invalid")
        self._git(*who, "commit", "--quiet", "--no-gpg-sign", "--message", subject)

    def _publish(self) -> None:
        # Without git at its other end, a client reads the names of branches from a file.
        self._git("--git-dir", str(self.bare), "update-server-info")

    def _git(self, *arguments: str) -> None:
        subprocess.run(["git", *arguments], cwd=self.source, check=True, timeout=30)


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Stay quiet."""


@pytest.fixture
def published(tmp_path: Path) -> Iterator[Repository]:
    handler = partial(_Quiet, directory=str(tmp_path / "www"))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    yield Repository(tmp_path, f"http://127.0.0.1:{server.server_port}")
    server.shutdown()
    server.server_close()
    thread.join(timeout=5)


def plugins(codex: Codex) -> list[tuple[Any, ...]]:
    """Return id and version of each plugin that Codex lists as installed, and if it is enabled."""
    listed = codex.json("plugin", "list")
    assert listed["available"] == []
    return [
        (plugin["pluginId"], plugin["version"], plugin["enabled"]) for plugin in listed["installed"]
    ]


def tree(root: Path) -> dict[str, bytes]:
    """Return every file below `root`, by its path; a link counts, as Codex would drop it."""
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_symlink() or not path.is_dir()
    }
