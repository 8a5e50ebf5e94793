"""The shim's connection to the daemon: beats up, words down. Never waits, never gives up.

Knows what a line looks like on the wire, and nothing of what it means. Built-in modules only.
"""

import _socket as socket
import errno
import os
import stat

RETRY_FIRST_S = 0.25
RETRY_MOST_S = 3.0
CHUNK = 16_384
WORDS = ("ok", "pause", "resume", "stop", "bye")


class Link:
    """The connection to the daemon: beats up as chunks of a request, words down as lines."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.hello = b""
        self.connection: socket.socket | None = None
        self.is_open = False
        self.has_spoken = False
        """Some daemon may know the agent, even if its answer was never read."""
        self.retry_at = 0.0
        self.retry_s = RETRY_FIRST_S
        self.outgoing = b""
        self.incoming = b""

    def connect(self, now: float) -> str:
        """Connect without waiting and say hello; return why it failed, empty when it did not."""
        try:
            found = os.lstat(self.path)
            if not stat.S_ISSOCK(found.st_mode):
                raise OSError(errno.ENOTSOCK, "a file that is no socket lies there")
            if found.st_uid != os.getuid() or found.st_mode & 0o077:
                raise OSError(errno.EPERM, "the socket is not ours alone")
            self.connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            self.connection.setblocking(False)
            self.connection.connect(os.fsencode(self.path))
            self.has_spoken = True
        except OSError as error:
            self.drop(now)
            return str(error.strerror or error)
        self.outgoing = (
            b"POST /v1/agents/link HTTP/1.1\r\nHost: kasmos\r\n"
            b"Content-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        if self.hello:
            self.say(self.hello)
        return ""

    def drop(self, now: float) -> None:
        """Forget the connection and set when to try again."""
        if self.connection is not None:
            self.connection.close()
        self.connection = None
        self.is_open = False
        self.outgoing = self.incoming = b""
        self.retry_at = now + self.retry_s
        self.retry_s = min(self.retry_s * 2, RETRY_MOST_S)

    def say(self, line: bytes) -> None:
        """Queue one line as one chunk; a daemon that takes nothing loses beats, not our memory."""
        if self.connection is not None and len(self.outgoing) < CHUNK:
            self.outgoing += b"%x\r\n%s\n\r\n" % (len(line) + 1, line)

    def flush(self, now: float) -> None:
        """Send what the socket takes."""
        if self.connection is None or not self.outgoing:
            return
        try:
            self.outgoing = self.outgoing[self.connection.send(self.outgoing) :]
        except BlockingIOError:
            pass
        except OSError:
            self.drop(now)

    def words(self, now: float) -> list[str]:
        """Read what came, and return the words in it."""
        if self.connection is None:
            return []
        try:
            data = self.connection.recv(CHUNK)
        except BlockingIOError:
            return []
        except OSError:
            data = b""
        self.incoming += data
        found = []
        # Each word stands on a line of its own; heads and sizes of chunks are lines to skip.
        while b"\n" in self.incoming:
            line, self.incoming = self.incoming.split(b"\n", 1)
            word = line.strip().decode("ascii", "replace")
            if word in WORDS:
                found.append(word)
        if "ok" in found:
            self.is_open = True
            self.retry_s = RETRY_FIRST_S
        if not data or len(self.incoming) > CHUNK:
            self.drop(now)
        return found


def leave_word(path: str, line: bytes) -> None:
    """Leave the end in a file that the next daemon takes; without room for it, it is lost."""
    try:
        directory = os.path.dirname(path)
        if not os.path.isdir(directory):
            os.mkdir(directory, 0o700)
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        os.write(fd, line)
        os.close(fd)
    except OSError:
        pass
