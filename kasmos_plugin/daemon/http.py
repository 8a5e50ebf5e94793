"""The little of HTTP that the control API needs on top of ASGI: bodies in, answers out, errors.

Knows no route's meaning. Raw ASGI, because one route reads and writes at the same time.
"""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import parse_qsl, unquote

from pydantic import BaseModel

from kasmos_plugin.contract.control import CONTROL_VERSION, ErrorBody, ErrorReply
from kasmos_plugin.daemon.wire import CONTROL_HEADER
from kasmos_plugin.errors import BadArgument, KasmosError

# ASGI is untyped by nature; what is read from these mappings is converted at once.
Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

MAX_BODY_BYTES = 64 * 1024


class TooLarge(BadArgument):
    """A request's body, or a line of it, is longer than anything that is sent to a daemon."""

    code = "too_large"
    http_status = 413


class Gone(Exception):
    """The client left."""


class Request:
    """One request: method, path in parts, query and body."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.scope = scope
        self.receive = receive
        self.send = send
        self.has_started = False
        """An answer is on its way: it is too late for an error."""
        self._is_read = False
        self.method = str(scope["method"])
        # Split before unquoting: a project's name may hold a quoted slash.
        raw = bytes(scope.get("raw_path") or b"").decode("ascii", "replace")
        self.parts = tuple(
            unquote(part, errors="surrogateescape") for part in raw.strip("/").split("/")
        )
        text = bytes(scope.get("query_string") or b"").decode("ascii", "replace")
        self.query = dict(parse_qsl(text, keep_blank_values=True, errors="surrogateescape"))
        self.headers = {
            bytes(name).decode("latin-1"): bytes(value).decode("latin-1")
            for name, value in scope["headers"]
        }

    async def chunk(self) -> bytes:
        """Return the next bytes of the body, b"" at its end.

        Raises:
            Gone: the client left.
        """
        while not self._is_read:
            message = await self.receive()
            if message["type"] == "http.disconnect":
                raise Gone
            self._is_read = not message.get("more_body", False)
            if body := bytes(message.get("body", b"")):
                return body
        return b""

    async def until_gone(self) -> None:
        """Wait until the client leaves, whatever it still sends."""
        while (await self.receive())["type"] != "http.disconnect":
            pass

    async def body(self) -> bytes:
        """Return the whole body.

        Raises:
            TooLarge: it has more than 64 KiB.
        """
        body = b""
        while chunk := await self.chunk():
            body += chunk
            if len(body) > MAX_BODY_BYTES:
                raise TooLarge(f"The body is longer than {MAX_BODY_BYTES} bytes.")
        return body

    async def start(self, status: int, content_type: str, *, length: int | None = None) -> None:
        """Begin the answer; without `length` it is a stream that ends with its connection."""
        headers = [
            (CONTROL_HEADER.encode(), str(CONTROL_VERSION).encode()),
            (b"content-type", content_type.encode()),
            (b"cache-control", b"no-store"),
        ]
        if length is None:
            headers.append((b"connection", b"close"))
        else:
            headers.append((b"content-length", str(length).encode()))
        self.has_started = True
        await self.send({"type": "http.response.start", "status": status, "headers": headers})

    async def write(self, data: bytes, *, more: bool = True) -> None:
        """Send a piece of the answer; waits while the client takes nothing."""
        await self.send({"type": "http.response.body", "body": data, "more_body": more})

    async def answer(self, value: BaseModel | None, *, status: int = 200) -> None:
        """Send a whole answer: a model as JSON, or 204 for None."""
        if value is None:
            await self.send(
                {
                    "type": "http.response.start",
                    "status": 204,
                    "headers": [(CONTROL_HEADER.encode(), str(CONTROL_VERSION).encode())],
                }
            )
            await self.write(b"", more=False)
            return
        data = value.model_dump_json().encode()
        await self.start(status, "application/json", length=len(data))
        await self.write(data, more=False)

    async def refuse(self, error: KasmosError) -> None:
        """Send an error as its reply."""
        body = ErrorBody(code=error.code, message=error.message, hint=error.hint)
        await self.answer(ErrorReply(error=body), status=error.http_status)

    def abort(self) -> None:
        """Cut the connection, whatever is still to be sent."""
        abort: Callable[[], None] | None = self.scope["state"].get("abort")
        if abort is not None:
            abort()
