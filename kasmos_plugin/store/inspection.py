"""A look at a store that changes nothing: no migration, no repair, no file made."""

import os
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from kasmos_plugin.errors import StoreError
from kasmos_plugin.store.database import SCHEMA_VERSION, connect, prepare, store_error
from kasmos_plugin.store.migrations import APPLICATION_ID


@dataclass(frozen=True, kw_only=True)
class StoreFacts:
    """What a store's file says of itself."""

    schema: int
    known_schema: int
    """The schema version of this kasmos."""
    size: int
    """Bytes, without the write-ahead log."""
    wal_size: int
    """Bytes of the write-ahead log."""
    is_writable: bool
    damage: tuple[str, ...]
    """What SQLite finds damaged; empty when nothing is."""


def inspect(path: Path) -> StoreFacts:
    """Look at the store at `path`; reads the whole file.

    Raises:
        StoreError: there is none, it cannot be read, or it is another program's.
    """
    prepare(path, create=False)
    try:
        with closing(connect(path, is_read_only=True)) as store:
            application = _number(store, "PRAGMA application_id")
            schema = _number(store, "PRAGMA user_version")
            found = tuple(str(row[0]) for row in store.execute("PRAGMA quick_check(20)"))
        size = path.stat().st_size
    except sqlite3.Error as error:
        raise store_error(path, error) from error
    except OSError as error:
        raise StoreError(
            f"The store '{path}' cannot be read: {error.strerror}.", hint=f"ls -l '{path}'"
        ) from error
    if application != APPLICATION_ID and size:
        raise StoreError(
            f"The file '{path}' is the database of another program.",
            hint="--db PATH, or set KASMOS_DB",
        )
    wal = Path(f"{path}-wal")
    return StoreFacts(
        schema=schema,
        known_schema=SCHEMA_VERSION,
        size=size,
        wal_size=wal.stat().st_size if wal.exists() else 0,
        is_writable=os.access(path, os.W_OK) and os.access(path.parent, os.W_OK),
        damage=() if found == ("ok",) else found,
    )


def _number(store: sqlite3.Connection, pragma: str) -> int:
    row = store.execute(pragma).fetchone()
    return int(row[0]) if row is not None else 0
