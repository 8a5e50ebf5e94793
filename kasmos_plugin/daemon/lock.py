"""Who owns a daemon's place: one flock, held for life, with the holder's identity in the file.

The kernel gives the lock up with its process, so that it is never stale; the text beside it may be,
and is believed only while the lock is held and the process is the one it names. Source: flock(2).
"""

import fcntl
import os
import time
from pathlib import Path
from types import TracebackType

from pydantic import ValidationError

from kasmos_plugin.contract.agent import ProcessIdentity
from kasmos_plugin.contract.base import Model
from kasmos_plugin.errors import Conflict, KasmosError

_WRITTEN_WITHIN_S = 1.0


class Holder(Model):
    """The daemon that holds a lock."""

    process: ProcessIdentity
    socket: str
    database: str
    version: str


class AlreadyRunning(Conflict):
    """Another daemon holds the lock; `holder` is None when it has not said who it is."""

    code = "already_running"

    def __init__(self, what: str, holder: Holder | None) -> None:
        who = f"pid {holder.process.pid}" if holder is not None else "another process"
        where = f", at the socket '{holder.socket}'" if holder is not None else ""
        super().__init__(
            f"A daemon for {what} is running already: {who}{where}.", hint="kas daemon status"
        )


class Lock:
    """One held lock; leaving the block gives it up. The file stays: it is no sign of life."""

    def __init__(self, path: Path, what: str, holder: Holder) -> None:
        """Take the lock at once.

        Raises:
            AlreadyRunning: another process holds it.
            KasmosError: the file cannot be made.
        """
        self._fd = _open(path, create=True)
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            found = _read(self._fd)
            os.close(self._fd)
            raise AlreadyRunning(what, found) from None
        try:
            os.ftruncate(self._fd, 0)
            os.pwrite(self._fd, holder.model_dump_json().encode(), 0)
        except OSError as error:
            os.close(self._fd)
            raise KasmosError(
                f"The lock '{path}' cannot be written: {error.strerror}.", hint=f"df '{path}'"
            ) from error

    def __enter__(self) -> "Lock":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        os.ftruncate(self._fd, 0)
        os.close(self._fd)


def is_held(path: Path) -> bool:
    """Return whether a daemon holds the lock now."""
    if not path.exists():
        return False
    fd = _open(path, create=False)
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False


def holder(path: Path) -> Holder | None:
    """Return who holds the lock, or None when nobody does, or nobody who says so."""
    deadline = time.monotonic() + _WRITTEN_WITHIN_S
    while is_held(path):
        fd = _open(path, create=False)
        try:
            found = _read(fd)
        finally:
            os.close(fd)
        # Between taking the lock and writing it down there is a moment.
        if found is not None or time.monotonic() > deadline:
            return found
        time.sleep(0.01)
    return None


def _open(path: Path, *, create: bool) -> int:
    flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | (os.O_CREAT if create else 0)
    try:
        return os.open(path, flags, 0o600)
    except OSError as error:
        raise KasmosError(f"The lock '{path}' cannot be opened: {error.strerror}.") from error


def _read(fd: int) -> Holder | None:
    try:
        return Holder.model_validate_json(os.pread(fd, 65536, 0))
    except ValidationError:
        return None
