"""The one door to the daemon for other programs: one request over the Unix socket, one answer.

Imports no pydantic, no http.client, and not even `socket`: hooks call it all day. Makes sure first
that the socket is ours alone, and then that a daemon answers, so that nobody else's program is ever
believed.
"""

import os
import stat
import time

from kasmos_plugin.daemon import wire
from kasmos_plugin.errors import DaemonIncompatible, DaemonUnreachable, Exit, KasmosError

TYPE_CHECKING = False  # `typing` itself would be the heaviest import here.
if TYPE_CHECKING:
    import _socket

StrPath = str | os.PathLike[str]

TIMEOUT_S = 5.0
CONTROL_VERSION = "1"
"""`contract.control.CONTROL_VERSION` as a header; a test keeps them equal."""
NO_SOCKET = "there is no socket"
USAGE_CODES = ("bad_argument", "project_required")
"""Codes of refusals that say that the command was used wrongly."""


class Reply:
    """The daemon's answer: HTTP status and body."""

    __slots__ = ("body", "status")

    def __init__(self, status: int, body: bytes) -> None:
        self.status = status
        self.body = body


def request(
    socket_path: StrPath,
    method: str,
    target: str,
    *,
    body: bytes = b"",
    timeout_s: float = TIMEOUT_S,
) -> Reply:
    """Send one request and return the answer, whatever its status, within `timeout_s` in all.

    Raises:
        DaemonUnreachable: nothing listens, the socket is not ours, or no answer came in time.
        DaemonIncompatible: what answers is no daemon, or one of another control version.
    """
    deadline = time.monotonic() + timeout_s
    connection = connect(socket_path, timeout_s=timeout_s)
    try:
        connection.sendall(wire.request(method, target, body, close=True))
        answer = wire.Answer()
        data = _receive(connection, deadline)
        if not data:
            raise DaemonUnreachable(str(socket_path), "it hung up")
        while not answer.feed(data):
            data = _receive(connection, deadline)
    except TimeoutError:
        raise DaemonUnreachable(str(socket_path), f"no answer within {timeout_s:g} s") from None
    except OSError as error:
        raise DaemonUnreachable(str(socket_path), str(error.strerror or error)) from error
    except wire.WireError as error:
        raise DaemonIncompatible(str(socket_path), str(error)) from error
    finally:
        connection.close()
    if answer.control != CONTROL_VERSION:
        found = f"control version {answer.control}" if answer.control else "another program answers"
        raise DaemonIncompatible(str(socket_path), found)
    return Reply(answer.status, answer.body)


def call(
    socket_path: StrPath,
    method: str,
    target: str,
    *,
    body: bytes = b"",
    timeout_s: float = TIMEOUT_S,
) -> bytes:
    """Send one request and return the body of a successful answer.

    Raises:
        KasmosError: what the daemon refused, with its code, message and hint.
        Unreachable: as `request`.
    """
    reply = request(socket_path, method, target, body=body, timeout_s=timeout_s)
    if reply.status < 400:
        return reply.body
    raise refusal(socket_path, reply)


def refusal(socket_path: StrPath, reply: Reply) -> KasmosError:
    """Return the error that a failed answer carries."""
    import json  # Only a failure is worth reading here.

    try:
        error = json.loads(reply.body)["error"]
        refused = KasmosError(str(error["message"]), hint=str(error.get("hint", "")))
        refused.code, refused.http_status = str(error["code"]), reply.status
        if refused.code in USAGE_CODES:
            refused.exit_code = Exit.USAGE
    except (ValueError, KeyError, TypeError, AttributeError):
        return DaemonIncompatible(str(socket_path), f"an answer {reply.status} without its reason")
    return refused


def segment(text: str) -> str:
    """Return `text` as one segment of a request's path, or as a query's value."""
    safe = b"-._~abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
    return "".join(chr(byte) if byte in safe else f"%{byte:02X}" for byte in os.fsencode(text))


def connect(socket_path: StrPath, *, timeout_s: float) -> "_socket.socket":
    """Return a connection to a socket that is ours alone.

    Raises:
        DaemonUnreachable: nothing listens, or the socket or its directory is not ours alone.
    """
    import _socket  # `socket` itself imports selectors and enum: 4 ms.

    if (why := why_foreign(socket_path)) is not None:
        raise DaemonUnreachable(str(socket_path), why)
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    connection.settimeout(timeout_s)
    try:
        connection.connect(os.fsencode(socket_path))
    except TimeoutError:
        connection.close()
        raise DaemonUnreachable(str(socket_path), "it does not accept") from None
    except OSError as error:
        connection.close()
        raise DaemonUnreachable(str(socket_path), str(error.strerror or error)) from error
    return connection


def why_foreign(socket_path: StrPath) -> str | None:
    """Return why the path cannot be our daemon's socket, or None when it can."""
    try:
        found, directory = os.lstat(socket_path), os.stat(os.path.dirname(socket_path))
    except FileNotFoundError:
        return NO_SOCKET
    except OSError as error:
        return str(error.strerror)
    if not stat.S_ISSOCK(found.st_mode):
        return "the path is a file that is no socket"
    if found.st_uid != os.getuid() or directory.st_uid != os.getuid():
        return "the socket belongs to another user"
    if found.st_mode & 0o077 or directory.st_mode & 0o022:
        return "the socket can be used by others"
    return None


def _receive(connection: "_socket.socket", deadline: float) -> bytes:
    remaining = deadline - time.monotonic()
    if remaining <= 0:
        raise TimeoutError
    connection.settimeout(remaining)
    return connection.recv(65536)
