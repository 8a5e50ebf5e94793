"""Gaps of the MCP SDK that serve closes. A test that fails here says that upstream mended one."""

from typing import Any

import anyio
import pytest
from mcp.server import MCPServer
from mcp.server.apps import Apps
from mcp.server.transport_security import TransportSecuritySettings

from kasmos_plugin.serve.http import Message
from tests.serve.conftest import Response, request, rpc_body, rpc_headers

pytestmark = pytest.mark.anyio

_OPEN = TransportSecuritySettings(enable_dns_rebinding_protection=False)


def bare() -> MCPServer[Any]:
    server: MCPServer[Any] = MCPServer("bare", extensions=[Apps()], log_level="WARNING")
    server.streamable_http_app(stateless_http=True, json_response=True, transport_security=_OPEN)
    return server


async def test_the_sdk_drops_extensions_from_the_handshake() -> None:
    """When this fails, `advertise_extensions` can go."""
    server = bare()
    params = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    }
    body = rpc_body("initialize", params, "2025-11-25")
    headers = rpc_headers(body, era="2025-11-25", method="initialize")
    async with server.session_manager.run():
        answered: Response = await request(
            server.session_manager.handle_request, "POST", "/mcp", body=body, headers=headers
        )
    assert "extensions" not in answered.json["result"]["capabilities"]


async def test_the_sdk_holds_a_stream_open_for_a_stateless_get() -> None:
    """When this fails, the 405 of `mcp_app` can go."""
    server = bare()
    started = anyio.Event()
    statuses: list[int] = []

    bodies: list[Message] = [{"type": "http.request", "body": b"", "more_body": False}]

    async def receive() -> Message:
        if not bodies:
            await anyio.sleep_forever()
        return bodies.pop()

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])
            started.set()

    scope = {
        "type": "http",
        "method": "GET",
        "path": "/mcp",
        "query_string": b"",
        "headers": [(b"host", b"localhost"), (b"accept", b"text/event-stream")],
    }
    async with server.session_manager.run(), anyio.create_task_group() as group:
        group.start_soon(server.session_manager.handle_request, scope, receive, send)
        with anyio.fail_after(5):
            await started.wait()
        assert statuses == [200]
        group.cancel_scope.cancel()


async def test_the_sdk_refuses_a_host_without_a_port() -> None:
    """D1: why its own check is off and ours stands before it."""
    server: MCPServer[Any] = MCPServer("bare", log_level="WARNING")
    server.streamable_http_app(stateless_http=True, json_response=True)
    body = rpc_body("ping", {}, "2025-06-18")
    headers = rpc_headers(body, era="2025-06-18", method="ping")
    async with server.session_manager.run():
        answered = await request(
            server.session_manager.handle_request,
            "POST",
            "/mcp",
            body=body,
            headers=headers,
            host="localhost",
        )
    assert answered.status == 421
