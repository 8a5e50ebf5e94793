"""Fixtures of the tests against the real Codex client: a fresh client, and the plugin in it."""

import json
import os
import re
import shutil
import socket
from pathlib import Path

import pytest

from e2e.codex.client import MISSING, Codex, is_installed
from e2e.codex.kas import Kas
from e2e.harness import World

ROOT = Path(__file__).parents[2]
PLUGIN = ROOT / "integrations" / "codex"
CATALOGUE = ROOT / ".agents"


@pytest.fixture(scope="session", autouse=True)
def client_is_there() -> None:
    """Skip without the client; fail under `CI`, where nobody would read that it was skipped."""
    if is_installed():
        return
    if os.environ.get("CI"):
        pytest.fail(MISSING)
    pytest.skip(MISSING)


@pytest.fixture
def codex(tmp_path: Path) -> Codex:
    """A Codex with homes of its own and nothing installed."""
    return Codex(tmp_path / "codex")


@pytest.fixture
def watching(codex: Codex, calm: World) -> Codex:
    """A Codex with the plugin, which talks to the servers of `calm`."""
    install(codex, calm.addresses["mcp"])
    return codex


def install(codex: Codex, url: str) -> None:
    """Install a copy of the plugin that knows another MCP server."""
    market = copy_market(codex.root / "market")
    servers = market / "integrations" / "codex" / ".mcp.json"
    text, changed = re.subn(r'"http://[^"]*"', json.dumps(url), servers.read_text(encoding="utf-8"))
    assert changed == 1
    servers.write_text(text, encoding="utf-8")
    codex.run("plugin", "marketplace", "add", str(market))
    codex.run("plugin", "add", "kasmos@kasmos")


def copy_market(target: Path) -> Path:
    """Copy the catalogue and the plugin, as they lie in the checkout, to another place."""
    shutil.copytree(CATALOGUE, target / ".agents")
    shutil.copytree(PLUGIN, target / "integrations" / "codex")
    return target


@pytest.fixture
def kas(codex: Codex, tmp_path: Path) -> Kas:
    """`kas` beside a Codex with nothing installed."""
    return Kas(codex, tmp_path / "kasmos")


@pytest.fixture
def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        port: int = bound.getsockname()[1]
        return port
