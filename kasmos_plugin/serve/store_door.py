"""The way to the store for a process that lives long: opened when it can be, looked at every time.

Knows that a file can be replaced, emptied, damaged or made read-only while it is open. Reads no
task itself.
"""

import logging
import os
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from kasmos_plugin.errors import StoreCorrupt, StoreError
from kasmos_plugin.store import Store, open_store, utc_now

logger = logging.getLogger("kasmos.serve")

_MAGIC = b"SQLite format 3\x00"


class StoreDoor:
    """Hands out the open store, or raises why there is none; used by one thread only."""

    def __init__(self, path: Path, *, now: Callable[[], datetime] = utc_now) -> None:
        self.path = path
        self._now = now
        self._store: Store | None = None
        self._seen: tuple[int, int, bool] | None = None
        self._head = -1
        """The file, to read its head; kept open, since closing it drops SQLite's locks on it."""
        self._was_open = False

    def open(self) -> Store:
        """Return the store, made when it is missing: for the start of a server.

        Raises:
            StoreError: it cannot be used; a later `store()` tries again.
        """
        self.close()
        self._replace(open_store(self.path, now=self._now))
        return self.store()

    def store(self) -> Store:
        """Return the store of the file that lies at the path now.

        Raises:
            StoreError: the file is missing, unreadable, damaged, or of a newer kasmos.
        """
        seen = self._look()
        if self._store is None or seen != self._seen:
            self.distrust()
            self._replace(open_store(self.path, now=self._now, create=False))
        assert self._store is not None
        return self._store

    def distrust(self) -> None:
        """Drop the connection, so that the next reader opens the file anew.

        The file itself stays open for its head: closing it would end the locks of every other
        connection of this process.
        """
        store, self._store = self._store, None
        if store is not None:
            store.close()

    def check(self) -> Store:
        """Return the store, opened with fresh eyes: no page of it comes from a cache.

        Raises:
            StoreError: as `store`.
        """
        self.distrust()
        return self.store()

    def public(self, error: StoreError) -> StoreError:
        """Return `error` without the directory of the store: answers name no place on the disk."""
        directory = f"{self.path.parent}{os.sep}"
        error.message = error.message.replace(directory, "")
        error.hint = error.hint.replace(directory, "")
        return error

    def close(self) -> None:
        """Close the connection, if there is one."""
        self.distrust()
        head, self._head = self._head, -1
        if head >= 0:
            os.close(head)

    def _replace(self, store: Store) -> None:
        self._store, self._seen = store, self._look()
        self._was_open = True

    def _look(self) -> tuple[int, int, bool]:
        """Return what tells this file from another one at the same path.

        A connection in WAL mode goes on reading its own pages after the file below it was cut off
        or overwritten, so the head of the file is read each time: 100 bytes.
        """
        try:
            found = self.path.stat()
            if self._head >= 0 and not os.path.samestat(found, os.fstat(self._head)):
                self.close()
            if self._head < 0:
                # Any close of the file ends every POSIX lock that this process holds on it, those
                # of an open connection too: https://sqlite.org/howtocorrupt.html section 2.2.
                self._head = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
                found = os.fstat(self._head)
            head = os.pread(self._head, 100, 0)
        except FileNotFoundError:
            self.close()
            raise StoreError(
                f"There is no store at '{self.path.name}'.", hint="kas daemon add PATH"
            ) from None
        except OSError as error:
            self.close()
            raise StoreError(
                f"The store '{self.path.name}' cannot be read: {error.strerror}."
            ) from error
        if self._was_open and not head.startswith(_MAGIC):
            self.close()
            raise StoreCorrupt(
                f"The store '{self.path.name}' is damaged: its head was overwritten or cut off.",
                hint="stop kas, set the file aside, and put a backup from beside it in its place",
            )
        return (found.st_dev, found.st_ino, os.access(self.path, os.W_OK))
