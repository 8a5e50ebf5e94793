"""What the tests of serve share: the apps in memory, a client for them, a daemon that is told."""

import json
import os
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from kasmos_plugin.contract.agent import AgentView
from kasmos_plugin.contract.control import AgentsReply
from kasmos_plugin.contract.live_status import Notice
from kasmos_plugin.serve.app import Apps, build_apps
from kasmos_plugin.serve.coordinator import Coordinator
from kasmos_plugin.serve.daemon_link import Heard
from kasmos_plugin.serve.http import ASGIApp, Message
from kasmos_plugin.serve.store_door import StoreDoor
from kasmos_plugin.store import Store

MONITOR_PORT = 7001
MCP_PORT = 7002
SECRET = "s" * 43
TOKEN = "t" * 43
ERAS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28")
MODERN = "2026-07-28"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@dataclass
class Response:
    """What an app answered."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        def refuse(name: str) -> None:
            raise AssertionError(f"{name} is not JSON")

        return json.loads(self.body, parse_constant=refuse)


async def request(
    app: ASGIApp,
    method: str,
    path: str,
    *,
    port: int = MONITOR_PORT,
    body: bytes | Sequence[bytes] = b"",
    headers: Sequence[tuple[str, str]] = (),
    host: str | None = "",
    query: str = "",
) -> Response:
    """Send one request to an app in memory; a list of bodies arrives in chunks."""
    chunks = [body] if isinstance(body, bytes) else list(body)
    sent: list[Message] = [
        {"type": "http.request", "body": chunk, "more_body": number < len(chunks) - 1}
        for number, chunk in enumerate(chunks)
    ]
    names = [(name.lower().encode(), value.encode("latin-1")) for name, value in headers]
    if host is not None:
        names.insert(0, (b"host", (host or f"127.0.0.1:{port}").encode()))
    got: list[Message] = []

    async def receive() -> Message:
        return sent.pop(0) if sent else {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        got.append(message)

    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": names,
        "client": ("127.0.0.1", 5),
        "server": ("127.0.0.1", port),
        "state": {},
    }
    await app(scope, receive, send)
    start = got[0]
    assert start["type"] == "http.response.start"
    told = {name.decode(): value.decode("latin-1") for name, value in start["headers"]}
    whole = b"".join(message.get("body", b"") for message in got[1:])
    return Response(start["status"], told, whole)


@dataclass
class FakeLink:
    """Stands for the daemon: answers what it is told to, and remembers what it was asked."""

    heard: Callable[[str], Heard] = field(default=lambda project: Heard())
    asked: list[str] = field(default_factory=list)

    async def ask(self, project: str) -> Heard:
        self.asked.append(project)
        return self.heard(project)


@dataclass
class Serving:
    """Both apps over one store, in memory."""

    apps: Apps
    link: FakeLink
    door: StoreDoor
    monotonic: "Monotonic"

    async def http(self, method: str, path: str, **options: Any) -> Response:
        """Send one request to the HTTP listener."""
        return await request(self.apps.monitor, method, path, **options)

    async def snapshot(self, body: object = None, **options: Any) -> Response:
        """Ask the snapshot bridge."""
        sent = json.dumps({} if body is None else body).encode()
        return await self.http("POST", "/v1/monitor/snapshot", body=sent, **options)

    async def rpc(
        self, method: str, params: dict[str, Any] | None = None, *, era: str = "2025-06-18"
    ) -> Any:
        """Send one MCP request in the given era and return the whole reply."""
        return (await self.mcp(rpc_body(method, params, era), era=era, method=method)).json

    async def mcp(
        self, body: bytes, *, era: str, method: str, headers: Sequence[tuple[str, str]] = ()
    ) -> Response:
        """Send one body to the MCP listener."""
        sent = rpc_headers(body, era=era, method=method)
        return await request(
            self.apps.mcp, "POST", "/mcp", port=MCP_PORT, body=body, headers=[*sent, *headers]
        )

    async def call(self, tool: str, arguments: Any = None, *, era: str = "2025-06-18") -> Any:
        """Call a tool and return its result."""
        params = {"name": tool, "arguments": {} if arguments is None else arguments}
        reply = await self.rpc("tools/call", params, era=era)
        assert "result" in reply, reply
        return reply["result"]


def rpc_body(method: str, params: dict[str, Any] | None, era: str, number: int = 1) -> bytes:
    """Return a JSON-RPC request as a client of that era writes it."""
    params = dict(params or {})
    if era == MODERN:
        params["_meta"] = {
            "io.modelcontextprotocol/protocolVersion": era,
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
            **params.get("_meta", {}),
        }
    message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    return json.dumps(message).encode()


def rpc_headers(body: bytes, *, era: str, method: str) -> list[tuple[str, str]]:
    """Return the headers that a client of that era sends."""
    headers = [
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
        ("content-length", str(len(body))),
    ]
    if method != "initialize":
        headers.append(("mcp-protocol-version", era))
    if era == MODERN:
        headers.append(("mcp-method", method))
        params = json.loads(body).get("params", {})
        for key in ("name", "uri"):
            if isinstance(params.get(key), str):
                headers.append(("mcp-name", params[key]))
    return headers


class Monotonic:
    """A monotonic clock that stands until it is told to move."""

    def __init__(self) -> None:
        self.at = 100.0

    def __call__(self) -> float:
        return self.at

    def advance(self, seconds: float) -> None:
        self.at += seconds


@asynccontextmanager
async def serving(
    path: Path, link: FakeLink | None = None, *, socket: Path | None = None, token: str = TOKEN
) -> AsyncIterator[Serving]:
    """Run both apps over the store at `path`; operations reach a daemon at `socket`."""
    door, monotonic = StoreDoor(path), Monotonic()
    coordinator = Coordinator(path, socket or path.with_name("no.sock"))
    link = link or FakeLink()
    apps = build_apps(
        door,
        link.ask,
        coordinator,
        monitor_port=MONITOR_PORT,
        mcp_port=MCP_PORT,
        instance="instance",
        secret=lambda: SECRET,
        token=lambda: token,
        monotonic=monotonic,
    )
    async with apps.manager.run():
        yield Serving(apps, link, door, monotonic)
    coordinator.close()
    door.close()


def agent(number: int, project: str, task: str = "") -> AgentView:
    """A running agent as the daemon tells of it."""
    at = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
    return AgentView(
        id=f"agent-{number:04}",
        project=project,
        task=task,
        role="coder",
        wave=1,
        task_number=number,
        program="codex",
        branch=f"feature/part-{number}",
        worktree=f"repo-part-{number}",
        stage="running",
        stage_since=at,
        is_active=True,
        last_activity=at,
        evidence="output",
        started_at=at,
    )


def daemon_of(
    store: Store, *agents: AgentView, notice: Notice | None = None, store_id: str = ""
) -> FakeLink:
    """A daemon of this store (or another) that lists these agents by project."""

    def heard(project: str) -> Heard:
        return Heard(
            reply=AgentsReply(
                instance="daemon",
                uptime_s=185,
                repo_count=len(store.projects.list()),
                store_id=store_id or store.store_id,
                projects=store.projects.names(),
                agents=tuple(found for found in agents if found.project == project),
            ),
            notice=notice,
        )

    return FakeLink(heard)


@contextmanager
def read_only(path: Path) -> Iterator[None]:
    """Take the permission to write a file away, from root as well where that can be done."""
    if subprocess.run(["chattr", "+i", str(path)], capture_output=True).returncode:
        path.chmod(0o400)
    try:
        if os.access(path, os.W_OK):
            pytest.skip("this user may write to everything here")
        yield
    finally:
        subprocess.run(["chattr", "-i", str(path)], capture_output=True, check=False)
        path.chmod(0o600)
