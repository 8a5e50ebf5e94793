"""The MCP side: the monitor's tools and widget, and the operations. Alone builds on the SDK.

Both protocol eras come from one stateless app: nothing is lost with a restart, and a client that
knew the server before goes on with its next call.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import urlencode

from mcp.server import MCPServer
from mcp.server.apps import APP_MIME_TYPE, Apps
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.mcpserver.context import Context
from mcp.server.mcpserver.resources import TextResource
from mcp.server.mcpserver.tools import Tool
from mcp.server.mcpserver.utilities.func_metadata import ArgModelBase, FuncMetadata
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from mcp_types import CallToolResult, TextContent, ToolAnnotations
from pydantic import AnyUrl, ConfigDict

from kasmos_plugin import __version__
from kasmos_plugin.contract.live_status import LiveStatus
from kasmos_plugin.coordination.operations import OPERATIONS, Operation
from kasmos_plugin.errors import KasmosError
from kasmos_plugin.serve import tools
from kasmos_plugin.serve.cache import Answer, SnapshotCache
from kasmos_plugin.serve.coordinator import Coordinator
from kasmos_plugin.serve.fast_path import FastPath
from kasmos_plugin.serve.http import (
    ASGIApp,
    Handler,
    Receive,
    Reply,
    Scope,
    Send,
    error_reply,
    router,
    send_reply,
)
from kasmos_plugin.serve.tools import Asked
from kasmos_plugin.summary import describe

logger = logging.getLogger("kasmos.serve")

MCP_PATH = "/mcp"

_ANNOTATIONS = ToolAnnotations(
    read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)


class _Arguments(ArgModelBase):
    """Takes any argument as it came: ours are judged by `tools`, which names what is wrong."""

    model_config = ConfigDict(extra="allow")

    def model_dump_one_level(self) -> dict[str, Any]:
        return {"arguments": dict(self.model_extra or {})}


class MonitorServer(MCPServer[Any]):
    """The SDK's server; reads the widget under its plain address and those of other versions."""

    def __init__(self, *, widget_uri: str, **options: Any) -> None:
        super().__init__(**options)
        self._widget_uri = widget_uri

    async def read_resource(
        self, uri: AnyUrl | str, context: Context[Any, Any] | None = None
    ) -> Any:
        """Read the widget. A host that remembers the address of an older build gets this one."""
        is_ours = str(uri).startswith(f"{tools.WIDGET_URI}.") and str(uri).endswith(".html")
        return await super().read_resource(self._widget_uri if is_ours else uri, context)


def build_server(
    cache: SnapshotCache,
    coordinator: Coordinator,
    *,
    html: str,
    html_hash: str,
    monitor_url: str,
) -> MonitorServer:
    """Return the MCP server; `monitor_url` is the page that a person can open."""
    uri = f"{tools.WIDGET_URI}.{html_hash}.html"
    apps = Apps()
    apps.add_resource(
        TextResource(
            uri=uri,
            name="kasmos-monitor",
            title="Agent monitor",
            description="A read-only monitor of coding agents.",
            mime_type=APP_MIME_TYPE,
            meta=tools.WIDGET_META,
            text=html,
        )
    )
    return MonitorServer(
        widget_uri=uri,
        name="kasmos",
        title="kasmos",
        description="A truthful monitor for groups of coding agents, and their coordination.",
        version=__version__,
        instructions=tools.INSTRUCTIONS,
        tools=[
            *_tools(cache, uri, monitor_url),
            *(_operation(one, coordinator, cache) for one in OPERATIONS.values()),
        ],
        extensions=[apps],
        # Nothing ever changes but the snapshot, which is polled.
        subscriptions=False,
        log_level="WARNING",
        middleware=[advertise_extensions(apps.identifier, apps.settings()), FastPath(cache)],
    )


def _tools(cache: SnapshotCache, uri: str, monitor_url: str) -> list[Tool]:
    async def live_status(asked: Asked) -> CallToolResult:
        return _result(await cache.answer(asked.project, asked.focus, asked.question))

    async def open_monitor(asked: Asked) -> CallToolResult:
        answer = await cache.answer(asked.project, asked.focus, asked.question)
        return _result(answer, describe(answer.status, link=_link(monitor_url, answer.status)))

    return [
        _tool(
            tools.OPEN_MONITOR,
            "Open the agent monitor",
            "Show what the coding agents of a project are doing now: tasks by state, running"
            " agents, and what waits for a person. Opens the monitor where the host can draw it;"
            " the text is complete in itself. Changes nothing.",
            tools.MONITOR_INPUT,
            tools.open_meta(uri),
            tools.monitor_asked,
            open_monitor,
        ),
        _tool(
            tools.LIVE_STATUS,
            "Read the agents' state",
            "Read the state of a project's coding agents as compact data: counts, agents,"
            " attention; tasks, events, projects and one task in full on request. Changes nothing.",
            tools.STATUS_INPUT,
            tools.STATUS_META,
            tools.status_asked,
            live_status,
        ),
        _tool(
            tools.REFRESH_MONITOR,
            "Refresh the agent monitor",
            "Read the snapshot that an open monitor shows. Called by the monitor itself.",
            tools.MONITOR_INPUT,
            tools.REFRESH_META,
            tools.monitor_asked,
            live_status,
        ),
    ]


def _tool(
    name: str,
    title: str,
    description: str,
    schema: dict[str, Any],
    meta: dict[str, Any],
    read: Callable[[Mapping[str, object]], Asked],
    run: Callable[[Asked], Awaitable[CallToolResult]],
) -> Tool:
    async def call(arguments: dict[str, Any]) -> CallToolResult:
        try:
            return await run(read(arguments))
        except KasmosError as error:
            return CallToolResult.model_validate(tools.failure(error))
        except Exception:
            logger.exception("tool %s failed", name)
            return CallToolResult.model_validate(tools.failure(tools.Unexpected()))

    return Tool(
        fn=call,
        name=name,
        title=title,
        description=description,
        parameters=schema,
        # Advertised, not checked on the way out: the snapshot is typed where it is made.
        fn_metadata=FuncMetadata(arg_model=_Arguments, output_schema=tools.OUTPUT),
        is_async=True,
        annotations=_ANNOTATIONS.model_copy(update={"title": title}),
        meta=meta,
    )


def _operation(operation: Operation, coordinator: Coordinator, cache: SnapshotCache) -> Tool:
    async def call(arguments: dict[str, Any]) -> CallToolResult:
        try:
            done = await coordinator.run(operation, arguments)
        except KasmosError as error:
            return CallToolResult.model_validate(tools.refusal(error))
        except Exception:
            logger.exception("tool %s failed", operation.name)
            return CallToolResult.model_validate(tools.refusal(tools.Unexpected()))
        finally:
            # A refused step was asked for: that is a change as well.
            if not operation.effects.is_read_only:
                cache.forget()
        return CallToolResult(
            content=[TextContent(type="text", text=done.text)], structured_content=done.data
        )

    effects = operation.effects
    return Tool(
        fn=call,
        name=operation.name,
        title=operation.title,
        description=operation.description,
        parameters=operation.arguments.schema_of_input(),
        fn_metadata=FuncMetadata(arg_model=_Arguments),
        is_async=True,
        annotations=ToolAnnotations(
            title=operation.title,
            read_only_hint=effects.is_read_only,
            destructive_hint=effects.is_destructive,
            idempotent_hint=effects.is_idempotent,
            open_world_hint=effects.is_open_world,
        ),
        meta=tools.OPERATION_META,
    )


def _result(answer: Answer, text: str | None = None) -> CallToolResult:
    return CallToolResult(
        content=[TextContent(type="text", text=answer.text if text is None else text)],
        structured_content=answer.structured,
    )


def _link(monitor_url: str, status: LiveStatus) -> str:
    scope = {"project": status.project, "task": status.focus.filename if status.focus else ""}
    query = urlencode({name: value for name, value in scope.items() if value})
    return f"{monitor_url}/?{query}" if query else f"{monitor_url}/"


def advertise_extensions(
    identifier: str, settings: Mapping[str, Any]
) -> Callable[[ServerRequestContext[Any, Any], CallNext], Awaitable[HandlerResult]]:
    """Return a middleware that puts `capabilities.extensions` back into `initialize`.

    mcp 2.3.0 sieves it out of every handshake-era result, so a host never learns of the widget.
    """

    async def middleware(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        result = await call_next(ctx)
        if ctx.method == "initialize" and isinstance(result, dict):
            capabilities = result.get("capabilities", {})
            extensions = {identifier: dict(settings), **capabilities.get("extensions", {})}
            result = {**result, "capabilities": {**capabilities, "extensions": extensions}}
        return result

    return middleware


def session_manager(server: MCPServer[Any], *, max_body_bytes: int) -> StreamableHTTPSessionManager:
    """Return the stateless JSON transport of `server`; its `run()` must enclose every request."""
    server.streamable_http_app(
        stateless_http=True,
        json_response=True,
        max_request_body_size=max_body_bytes,
        # Ours stands before it, covers every route, and takes a Host without a port as well.
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    return server.session_manager


def mcp_app(manager: StreamableHTTPSessionManager, *, health: Handler) -> ASGIApp:
    """Return the app of the MCP listener: POST /mcp, GET /healthz, and nothing else.

    A stateless GET would hold an idle stream that makes some clients time out, so it is a 405.
    """
    others = router({"/healthz": {"GET": health}})

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] != MCP_PATH:
            await others(scope, receive, send)
        elif scope["method"] != "POST":
            await send_reply(send, _post_only())
        else:
            await manager.handle_request(scope, receive, send)

    return app


def _post_only() -> Reply:
    return error_reply(
        405, "method_not_allowed", "Only POST can be used here.", headers={b"allow": b"POST"}
    )
