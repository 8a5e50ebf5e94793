"""Fixtures of the tests in a host of MCP Apps: its built page, its servers, and panes in it."""

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import ConsoleMessage, FrameLocator, Page, Request

from e2e.harness import World
from e2e.host.servers import HostServers

WEB = Path(__file__).parents[2] / "web"


@dataclass(frozen=True)
class HostPage:
    """The host's page in a browser, with everything that it and its panes asked the network for."""

    page: Page
    servers: HostServers
    requests: list[Request]
    complaints: list[str]

    def open(self, name: str = "pane", **switches: Any) -> FrameLocator:
        """Call the tool, show its view, and return the view."""
        self.page.evaluate("([name, switches]) => openPane(name, switches)", [name, switches])
        return self.view(name)

    def view(self, name: str = "pane") -> FrameLocator:
        return self.page.frame_locator(f"#{name}").frame_locator("iframe")

    def tell(self, call: str, *arguments: Any, name: str = "pane") -> Any:
        """Call a method of a pane's host and return what came of it."""
        script = "([name, call, given]) => panes.get(name)[call](...given)"
        return self.page.evaluate(script, [name, call, list(arguments)])

    def wire(self, name: str = "pane") -> dict[str, list[Any]]:
        """Return what the view of a pane sent to its host."""
        sent: dict[str, list[Any]] = self.page.evaluate("name => panes.get(name).wire", name)
        return sent

    def methods(self, name: str = "pane") -> set[str]:
        """Return the methods of the messages that a view sent, without its answers."""
        return {message["method"] for message in self.wire(name)["messages"] if "method" in message}


@pytest.fixture(scope="session")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The host's and the sandbox's scripts, built from `web/testhost`."""
    out = tmp_path_factory.mktemp("testhost")
    subprocess.run(
        [
            "npx",
            "--no-install",
            "esbuild",
            "testhost/host.ts",
            "testhost/sandbox.ts",
            "--bundle",
            "--format=iife",
            "--target=es2022",
            "--log-level=warning",
            f"--outdir={out}",
        ],
        cwd=WEB,
        check=True,
    )
    return out


@pytest.fixture
def host(page: Page, calm: World, scripts: Path) -> Iterator[HostPage]:
    """A host connected to `calm`. In the end nothing else than its own traffic was on the wire."""
    servers = HostServers(scripts, calm.addresses["mcp"])
    requests: list[Request] = []
    complaints: list[str] = []

    def hear(message: ConsoleMessage) -> None:
        if message.type == "error":
            complaints.append(message.text)

    page.on("request", lambda request: requests.append(request))
    page.on("console", hear)
    page.goto(servers.url)
    host = HostPage(page, servers, requests, complaints)
    yield host
    asked = {(request.method, request.url.split("?")[0]) for request in requests}
    servers.close()
    assert asked <= {
        ("GET", f"{servers.url}/"),
        ("GET", f"{servers.url}/host.js"),
        ("GET", f"{servers.url}/mcp"),
        ("POST", f"{servers.url}/mcp"),
        ("GET", f"{servers.sandbox_url}/sandbox.html"),
        ("GET", f"{servers.sandbox_url}/sandbox.js"),
        ("GET", "data:,"),
    }
    assert all(
        request.frame == page.main_frame for request in requests if request.url.endswith("/mcp")
    )
    assert servers.violations == []
    # A stateless server refuses the stream that the client asks for first.
    assert [text for text in complaints if "status of 405" not in text] == []
