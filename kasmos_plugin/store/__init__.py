"""The task store: one SQLite file that serve, daemon and CLI open directly. Judges no health.

`open_store` is the door; behind it `projects`, `tasks`, `events` and `agents` share one connection.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path

from kasmos_plugin.store.agents import Agents
from kasmos_plugin.store.approvals import Approvals
from kasmos_plugin.store.database import Database, utc_now
from kasmos_plugin.store.events import Events
from kasmos_plugin.store.projects import Projects
from kasmos_plugin.store.tasks import Tasks

__all__ = ["Store", "open_store", "utc_now"]


class Store:
    """One open store; used by the thread that opened it only."""

    def __init__(self, database: Database, now: Callable[[], datetime]) -> None:
        self._database = database
        self.events = Events(database, now)
        self.projects = Projects(database, self.events, now)
        self.agents = Agents(database, self.events)
        self.tasks = Tasks(database, self.projects, self.events, self.agents, now)

    @property
    def approvals(self) -> Approvals:
        """The requests and approvals of steps."""
        return self.tasks.approvals

    @property
    def path(self) -> Path:
        """The store's file."""
        return self._database.path

    @property
    def store_id(self) -> str:
        """The store's identity, made with it and never changed."""
        return self._database.store_id

    @property
    def is_read_only(self) -> bool:
        """Whether the file could only be opened for reading."""
        return self._database.is_read_only

    def reading(self) -> AbstractContextManager[None]:
        """Hold one consistent view over several reads; re-entrant."""
        return self._database.reading()

    def writing(self) -> AbstractContextManager[None]:
        """Hold the write lock over several writes, all or nothing; re-entrant."""
        return self._database.writing()

    def data_version(self) -> int:
        """Return a number that changes when another connection has written."""
        return self._database.data_version()

    def recount(self) -> bool:
        """Mend the lifecycle counts at the start of a server; return whether they were wrong."""
        return self._database.recount()

    def quick_check(self) -> tuple[str, ...]:
        """Return what SQLite finds damaged, empty when nothing is. Reads the whole file."""
        return self._database.quick_check()

    def close(self) -> None:
        """Close the connection."""
        self._database.close()


def open_store(path: Path, *, now: Callable[[], datetime] = utc_now, create: bool = True) -> Store:
    """Open the store at `path`, making or migrating it where needed.

    Raises:
        StoreError: and its kinds: too new, damaged, read-only, a directory, another program's file.
    """
    return Store(Database(path.expanduser().absolute(), create=create), now)
