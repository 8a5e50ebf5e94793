"""What stands before every route of both listeners: Host, Origin, size and depth. Knows no route.

A page on any site can send requests to loopback, and a name that its owner points at 127.0.0.1 can
read the answers (DNS rebinding). So a request must name a loopback host, and a page that asks must
be ours. Source of the header forms: RFC 9110 section 7.2, RFC 6454 section 6.
"""

import hmac
import re
from collections.abc import Callable

from kasmos_plugin.serve.http import (
    ASGIApp,
    Message,
    Receive,
    Reply,
    Scope,
    Send,
    error_reply,
    read_body,
    send_reply,
)

MAX_BODY_BYTES = 64 * 1024
MAX_HEADER_BYTES = 32 * 1024
MAX_TARGET_BYTES = 4 * 1024
MAX_DEPTH = 32
"""How deep JSON may nest; a deeper body is refused before anything parses it."""
SECRET_HEADER = b"x-kasmos-preview"
NAMES = ("127.0.0.1", "localhost", "[::1]")

_BRACKETS = re.compile(rb'"(?:[^"\\]|\\.)*"?|[\[\]{}]', re.DOTALL)
_PREFLIGHT_MAX_AGE_S = 600


class Guard:
    """Lets a request through to `app` when it comes from where requests may come from."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        port: int,
        null_origin_paths: frozenset[str] = frozenset(),
        secret: Callable[[], str] | None = None,
    ) -> None:
        """Guard the listener on `port`.

        `null_origin_paths` also answer a page of origin `null` (a local file) that sends the secret
        in `X-Kasmos-Preview`.
        """
        self._app = app
        self._hosts = frozenset(
            host.encode() for name in NAMES for host in (name, f"{name}:{port}")
        )
        self._origins = frozenset(_origin(name, port) for name in NAMES)
        self._null_origin_paths = null_origin_paths
        self._secret = secret

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or refuse it in JSON."""
        if scope["type"] != "http":
            return
        host, origin, secret, declared = _headers(scope)
        refusal = self._refusal(scope, host)
        if refusal is not None:
            await send_reply(send, refusal)
            return
        if origin is not None and origin not in self._origins:
            if origin != b"null" or scope["path"] not in self._null_origin_paths:
                await send_reply(send, _forbidden("Requests of this origin are refused."))
                return
            if scope["method"] == "OPTIONS":
                await send_reply(send, _preflight(scope))
                return
            if not self._is_secret(secret):
                await send_reply(
                    send,
                    _forbidden("This page is not known here: make it anew, kas monitor widget."),
                )
                return
            send = _readable_by_null(send)
        await self._pass(scope, receive, send, declared)

    def _refusal(self, scope: Scope, host: bytes | None) -> Reply | None:
        if host not in self._hosts:
            return error_reply(421, "misdirected_request", "Only loopback names reach this server.")
        if sum(len(name) + len(value) for name, value in scope["headers"]) > MAX_HEADER_BYTES:
            return error_reply(431, "too_large", "The headers are too large.")
        if len(scope.get("raw_path") or b"") + len(scope["query_string"]) > MAX_TARGET_BYTES:
            return error_reply(414, "too_large", "The address is too long.")
        return None

    def _is_secret(self, given: bytes | None) -> bool:
        if self._secret is None or given is None:
            return False
        known = self._secret().encode()
        return bool(known) and hmac.compare_digest(given, known)

    async def _pass(self, scope: Scope, receive: Receive, send: Send, declared: bytes) -> None:
        too_large = error_reply(
            413,
            "too_large",
            f"A body has at most {MAX_BODY_BYTES} bytes.",
            # What is left of the body is not read: this connection is of no more use.
            headers={b"connection": b"close"},
        )
        if declared.isdigit() and int(declared) > MAX_BODY_BYTES:
            await send_reply(send, too_large)
            return
        try:
            body = await read_body(receive, MAX_BODY_BYTES)
        except ConnectionError:
            return
        if body is None:
            await send_reply(send, too_large)
        elif is_deeper(body, MAX_DEPTH):
            await send_reply(
                send, error_reply(400, "bad_argument", f"JSON nests deeper than {MAX_DEPTH}.")
            )
        else:
            await self._app(scope, _replay(body, receive), send)


def is_deeper(body: bytes, limit: int) -> bool:
    """Return whether JSON nests deeper than `limit`; text that is no JSON may count as deeper."""
    if body.count(b"[") + body.count(b"{") <= limit:
        return False
    depth = 0
    for found in _BRACKETS.finditer(body):
        token = found.group()
        if token in (b"[", b"{"):
            depth += 1
            if depth > limit:
                return True
        elif token in (b"]", b"}"):
            depth -= 1
    return False


def _headers(scope: Scope) -> tuple[bytes | None, bytes | None, bytes | None, bytes]:
    """Return Host, Origin, the secret and the declared length; what is said twice counts as wrong.

    A second Host or Origin joins the first with a comma, which no allowed value contains.
    """
    host: bytes | None = None
    origin: bytes | None = None
    secret: bytes | None = None
    declared = b""
    for name, value in scope["headers"]:
        if name == b"host":
            host = value.lower() if host is None else host + b"," + value
        elif name == b"origin":
            origin = value if origin is None else origin + b"," + value
        elif name == SECRET_HEADER:
            secret = value
        elif name == b"content-length":
            declared = value
    return host, origin, secret, declared


def _origin(name: str, port: int) -> bytes:
    return (f"http://{name}" if port == 80 else f"http://{name}:{port}").encode()


def _forbidden(message: str) -> Reply:
    return error_reply(403, "forbidden", message, headers={b"vary": b"Origin"})


def _preflight(scope: Scope) -> Reply:
    """Allow the one request that a page made by `kas monitor widget` sends.

    A preflight cannot carry the secret, and tells nothing; the request behind it must carry it.
    """
    headers = {
        b"access-control-allow-origin": b"null",
        b"access-control-allow-methods": b"POST",
        b"access-control-allow-headers": b"content-type, " + SECRET_HEADER,
        b"access-control-max-age": str(_PREFLIGHT_MAX_AGE_S).encode(),
        b"vary": b"Origin",
    }
    if (b"access-control-request-private-network", b"true") in scope["headers"]:
        headers[b"access-control-allow-private-network"] = b"true"
    return Reply(204, headers=headers)


def _readable_by_null(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            extra = [(b"access-control-allow-origin", b"null"), (b"vary", b"Origin")]
            message = {**message, "headers": [*message["headers"], *extra]}
        await send(message)

    return sending


def _replay(body: bytes, receive: Receive) -> Receive:
    is_given = False

    async def receiving() -> Message:
        nonlocal is_given
        if is_given:
            return await receive()
        is_given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return receiving
