"""Two rotating copies of the store beside it. Knows SQLite's backup, and nothing of the rows.

A damaged store is never copied over a good backup. Source: https://www.sqlite.org/backup.html
"""

import logging
import os
import sqlite3
import time
from contextlib import closing
from pathlib import Path

LIMIT_BYTES = 64 * 1024 * 1024
"""A larger store is the person's to back up."""

logger = logging.getLogger("kasmos.daemon")


def back_up(database: Path, *, every_s: float) -> bool:
    """Copy the store to `NAME.backup` when the last copy is old; the one before it is kept.

    Returns whether a copy was made. Failures are logged: no backup is no reason to stop.
    """
    newest = database.with_name(database.name + ".backup")
    older = database.with_name(database.name + ".backup.1")
    try:
        if newest.exists() and 0 <= time.time() - newest.stat().st_mtime < every_s:
            return False
        if database.stat().st_size > LIMIT_BYTES:
            return False
        fresh = database.with_name(f"{database.name}.backup.{os.getpid()}")
        try:
            if not _copy(database, fresh):
                logger.error("the store is damaged, its backups were left alone")
                return False
            if newest.exists():
                newest.replace(older)
            fresh.replace(newest)
        finally:
            fresh.unlink(missing_ok=True)
    except (OSError, sqlite3.Error) as error:
        logger.warning("no backup of the store: %s", error)
        return False
    return True


def _copy(database: Path, fresh: Path) -> bool:
    """Copy, and return whether SQLite finds nothing wrong with the copy."""
    os.close(os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    source = sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True)
    with closing(source), closing(sqlite3.connect(fresh)) as copy:
        source.backup(copy, pages=1000)
        copy.execute("PRAGMA journal_mode = DELETE")
        return [tuple(row) for row in copy.execute("PRAGMA quick_check(1)")] == [("ok",)]
