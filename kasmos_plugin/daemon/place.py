"""The daemon's socket as a file: made ours alone, taken over only when proved dead, removed only
while it is still ours. Knows nothing of what is said over it.
"""

import errno
import os
import socket
import stat
import struct
from pathlib import Path

from kasmos_plugin.errors import BadArgument, Conflict, KasmosError
from kasmos_plugin.paths import SOCKET_PATH_LIMIT

BACKLOG = 128


class ForeignFile(Conflict):
    """Something that is not ours lies where the socket belongs."""

    code = "socket_taken"


class Place:
    """One bound and listening socket."""

    def __init__(self, path: Path) -> None:
        """Bind and listen; the caller holds the lock of this path.

        Raises:
            ForeignFile: a file of another kind or owner lies there, or another program listens.
            BadArgument: the path is too long, or its directory is open to others.
            KasmosError: the socket cannot be made.
        """
        if len(os.fsencode(path)) > SOCKET_PATH_LIMIT:
            raise BadArgument(
                f"The socket's path '{path}' has more than {SOCKET_PATH_LIMIT} bytes.",
                hint="KASMOS_SOCKET=/a/shorter/path",
            )
        self.path = path
        private_directory(path.parent)
        _clear(path)
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        # The mode comes with the file: between bind and a later chmod others could connect.
        before = os.umask(0o177)
        try:
            self.listener.bind(os.fspath(path))
        except OSError as error:
            self.listener.close()
            raise KasmosError(f"The socket '{path}' cannot be made: {error.strerror}.") from error
        finally:
            os.umask(before)
        self.listener.listen(BACKLOG)
        self.listener.setblocking(False)
        found = path.lstat()
        self._mine = (found.st_dev, found.st_ino)

    def is_mine(self) -> bool:
        """Return whether the file at the path is still the socket made here."""
        try:
            found = self.path.lstat()
        except OSError:
            return False
        return (found.st_dev, found.st_ino) == self._mine

    def leave(self) -> None:
        """Remove the socket if it is still this one, and close it."""
        if self.is_mine():
            self.path.unlink(missing_ok=True)
        self.listener.close()


def private_directory(path: Path) -> None:
    """Make the directory, ours alone; one that exists must be ours and closed to others.

    Raises:
        KasmosError: it is not, or cannot be made.
    """
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = path.stat()
    except OSError as error:
        raise KasmosError(
            f"The directory '{path}' cannot be made: {error.strerror}.",
            hint="set KASMOS_HOME to a directory of yours",
        ) from error
    if found.st_uid != os.getuid():
        raise ForeignFile(
            f"The directory '{path}' belongs to another user.",
            hint="set KASMOS_SOCKET to a path in a directory of yours",
        )
    if found.st_mode & 0o022:
        raise ForeignFile(
            f"The directory '{path}' can be written by others.", hint=f"chmod 700 '{path}'"
        )


def peer_uid(connection: socket.socket) -> int | None:
    """Return the user at the other end of a connection, None where the platform cannot tell.

    Sources: unix(7) SO_PEERCRED; macOS unix(4) LOCAL_PEERCRED.
    """
    if hasattr(socket, "SO_PEERCRED"):
        data = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        return int(struct.unpack("iII", data)[1])
    if hasattr(socket, "LOCAL_PEERCRED"):
        data = connection.getsockopt(0, socket.LOCAL_PEERCRED, 76)
        return int(struct.unpack_from("II", data)[1])
    return None


def _clear(path: Path) -> None:
    """Remove a dead socket of ours; only a refused connection proves that it is dead."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(found.st_mode):
        raise ForeignFile(
            f"'{path}' is a file that is no socket; it was left alone.",
            hint="move it away, or set KASMOS_SOCKET",
        )
    if found.st_uid != os.getuid():
        raise ForeignFile(f"The socket '{path}' belongs to another user.", hint="set KASMOS_SOCKET")
    probe = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    probe.settimeout(1.0)
    try:
        probe.connect(os.fspath(path))
    except ConnectionRefusedError:
        path.unlink()
        return
    except OSError as error:
        if error.errno == errno.ENOENT:
            return
        why = error.strerror or "no answer"
        raise ForeignFile(
            f"It cannot be told whether the socket '{path}' is in use: {why}.",
            hint="set KASMOS_SOCKET",
        ) from error
    finally:
        probe.close()
    raise ForeignFile(f"Another program listens on the socket '{path}'.", hint="set KASMOS_SOCKET")
