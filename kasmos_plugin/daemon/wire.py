"""HTTP/1.1 as bytes, for clients of the daemon's socket. Opens nothing, imports nothing.

A few lines of our own, because `http.client` alone triples the start of a command (RFC 9112).
"""

CONTROL_HEADER = "kasmos-control"
"""The daemon's answers carry the version of its bodies in it; an answer without it is another's."""
MAX_HEADER_BYTES = 64 * 1024
MAX_BODY_BYTES = 16 * 1024 * 1024


class WireError(Exception):
    """The bytes are no HTTP/1.1 answer that this module reads."""


def request(method: str, target: str, body: bytes = b"", *, close: bool = False) -> bytes:
    """Return a whole request with an optional JSON body."""
    lines = [f"{method} {target} HTTP/1.1", "Host: kasmos"]
    if body:
        lines += ["Content-Type: application/json"]
    if body or method in ("POST", "PUT"):
        lines += [f"Content-Length: {len(body)}"]
    if close:
        lines += ["Connection: close"]
    return "\r\n".join([*lines, "", ""]).encode("ascii") + body


class Answer:
    """One answer, fed as its bytes arrive: `Content-Length`, chunked, or up to the end.

    A chunked one has no trailers: the daemon sends none.
    """

    def __init__(self) -> None:
        self.status = 0
        self.control = ""
        """The value of `CONTROL_HEADER`, empty when it is missing."""
        self.body = b""
        self.is_complete = False
        self.keeps_connection = True
        self._buffer = b""
        self._length: int | None = None
        self._is_chunked = False

    def feed(self, data: bytes) -> bool:
        """Take the next bytes, b"" for the end of the stream; return whether it is complete.

        Raises:
            WireError: the bytes are no answer, it is too large, or it ended too early.
        """
        if not data:
            return self._end()
        self._buffer += data
        if not self.status and not self._read_head():
            return False
        if self._is_chunked:
            self._read_chunks()
        else:
            self.body += self._buffer
            self._buffer = b""
            if self._length is not None and len(self.body) >= self._length:
                self.body = self.body[: self._length]
                self.is_complete = True
        if len(self.body) > MAX_BODY_BYTES:
            raise WireError("the answer is too large")
        return self.is_complete

    def _end(self) -> bool:
        if self.status and self._length is None and not self._is_chunked:
            self.is_complete, self.keeps_connection = True, False
        if not self.is_complete:
            raise WireError("the answer ended too early")
        return True

    def _read_head(self) -> bool:
        head, found, rest = self._buffer.partition(b"\r\n\r\n")
        if not found:
            if len(self._buffer) > MAX_HEADER_BYTES or not b"HTTP/1.".startswith(self._buffer[:7]):
                raise WireError("no HTTP/1.1 answer")
            return False
        status_line, *lines = head.decode("latin-1").split("\r\n")
        parts = status_line.split(" ", 2)
        if len(parts) < 2 or not parts[0].startswith("HTTP/1.") or not parts[1].isdigit():
            raise WireError("no HTTP/1.1 answer")
        self.status, self._buffer = int(parts[1]), rest
        for line in lines:
            name, _, value = line.partition(":")
            self._take_header(name.strip().lower(), value.strip().lower())
        if self.status in (204, 304):
            self._length = 0
        return True

    def _take_header(self, name: str, value: str) -> None:
        if name == "content-length":
            if not value.isdigit():
                raise WireError("a length that is no number")
            self._length = int(value)
        elif name == "transfer-encoding":
            self._is_chunked = "chunked" in value
        elif name == CONTROL_HEADER:
            self.control = value
        elif name == "connection" and "close" in value:
            self.keeps_connection = False

    def _read_chunks(self) -> None:
        while True:
            line, found, rest = self._buffer.partition(b"\r\n")
            if not found:
                return
            try:
                size = int(line.split(b";")[0], 16)
            except ValueError:
                raise WireError("a chunk without a size") from None
            if size < 0 or size > MAX_BODY_BYTES:
                raise WireError("a chunk of an impossible size")
            if len(rest) < size + 2:
                return
            self.body += rest[:size]
            self._buffer = rest[size + 2 :]
            if size == 0:
                self.is_complete = True
                return
            if len(self.body) > MAX_BODY_BYTES:
                return
