"""Requests and replies of the two listeners, as little of ASGI as they need. Knows no route."""

from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Any

from kasmos_plugin.serve.cache import encode

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
ASGIApp = Callable[[Scope, Receive, Send], Awaitable[None]]

JSON = b"application/json"
HTML = b"text/html; charset=utf-8"

SECURITY_HEADERS = (
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"x-frame-options", b"DENY"),
)


@dataclass(frozen=True)
class Request:
    """One request whose body is read."""

    method: str
    path: str
    query: str
    body: bytes


@dataclass(frozen=True)
class Reply:
    """One whole answer."""

    status: int
    body: bytes = b""
    content_type: bytes = JSON
    headers: Mapping[bytes, bytes] = field(default_factory=dict)


Handler = Callable[[Request], Awaitable[Reply]]
Routes = Mapping[str, Mapping[str, Handler]]
"""Path to method to handler. Whatever is not in it is a 404 or a 405 in JSON."""


def error_reply(
    status: int, code: str, message: str, *, headers: Mapping[bytes, bytes] | None = None
) -> Reply:
    """Return a failure in the form that the daemon and the HTTP routes share."""
    body = encode({"error": {"code": code, "message": message}})
    return Reply(status, body, headers=headers or {})


async def send_reply(send: Send, reply: Reply) -> None:
    """Send a reply with the headers that every answer has."""
    headers = [*SECURITY_HEADERS, *reply.headers.items()]
    if reply.status != 204:
        headers += [
            (b"content-type", reply.content_type),
            (b"content-length", str(len(reply.body)).encode()),
        ]
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    await send({"type": "http.response.body", "body": reply.body})


async def read_body(receive: Receive, limit: int) -> bytes | None:
    """Return the body, or None as soon as it is longer than `limit` bytes.

    Raises:
        ConnectionError: the client left before its body was whole.
    """
    body = b""
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ConnectionError("the client left")
        part: bytes = message.get("body", b"")
        body += part
        if len(body) > limit:
            return None
        if not message.get("more_body", False):
            return body


def router(routes: Routes, otherwise: ASGIApp | None = None) -> ASGIApp:
    """Return an app that serves `routes`; a HEAD is a GET without its body.

    `otherwise` gets what is in none of them.
    """

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        handlers = routes.get(scope["path"])
        if handlers is None and otherwise is not None:
            await otherwise(scope, receive, send)
            return
        if handlers is None:
            await send_reply(send, error_reply(404, "not_found", "There is nothing here."))
            return
        method = scope["method"]
        is_head = method == "HEAD" and "GET" in handlers
        handler = handlers.get("GET" if is_head else method)
        if handler is None:
            allowed = ", ".join([*handlers, *(["HEAD"] if "GET" in handlers else [])])
            await send_reply(
                send,
                error_reply(
                    405,
                    "method_not_allowed",
                    f"Only {allowed} can be used here.",
                    headers={b"allow": allowed.encode()},
                ),
            )
            return
        # The guard has bounded it already.
        body = await read_body(receive, 1 << 30) or b""
        query = scope.get("query_string", b"").decode("latin-1")
        reply = await handler(Request(method, scope["path"], query, body))
        await send_reply(send, reply)

    return app
