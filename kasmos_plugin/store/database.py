"""One SQLite file: how it is found, opened, checked and locked. Knows no task and no event.

WAL, foreign keys, a busy timeout, `BEGIN IMMEDIATE` for every write. A store of a newer version is
refused before anything is written. Each failure of SQLite leaves as a `StoreError` that says what
to do. Source of the result codes: https://www.sqlite.org/rescode.html
"""

import os
import sqlite3
import sys
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from kasmos_plugin.errors import StoreCorrupt, StoreError, StoreReadOnly, StoreTooNew
from kasmos_plugin.store.migrations import APPLICATION_ID, DERIVED, MIGRATIONS

BUSY_TIMEOUT_S = 5.0
SCHEMA_VERSION = len(MIGRATIONS)
NETWORK_FILE_SYSTEMS = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "fuse.sshfs", "fuse.glusterfs"}
)

Value = str | int | None

_COUNTS = {
    "lifecycle_counts": "SELECT project, status, count(*) FROM tasks GROUP BY project, status",
    "event_counts": "SELECT project, count(*) FROM events GROUP BY project",
}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def utc_now() -> datetime:
    """Return the present instant in UTC."""
    return datetime.now(UTC)


def to_us(at: datetime) -> int:
    """Return `at` as whole microseconds since 1970 in UTC."""
    return (at - _EPOCH) // timedelta(microseconds=1)


def from_us(value: int) -> datetime:
    """Return the instant that `to_us` made `value` of."""
    return _EPOCH + timedelta(microseconds=value)


class Database:
    """One connection to one store; used by the thread that made it only."""

    def __init__(self, path: Path, *, create: bool = True) -> None:
        """Open the store, make it when it is missing and `create` is set, and bring it up to date.

        Raises:
            StoreTooNew: the file has a schema version above ours.
            StoreCorrupt: SQLite cannot read the file.
            StoreError: the path is a directory, lies on a network file system, is missing, or is
                the file of another program.
        """
        self.path = path
        self._depth = 0
        self._is_writing = False
        is_new = prepare(path, create=create)
        self.is_read_only = not os.access(path, os.W_OK)
        self._connection = self._connect()
        try:
            self._open(is_new=is_new)
        except BaseException:
            self._connection.close()
            raise

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def rows(self, sql: str, parameters: Sequence[Value] = ()) -> list[sqlite3.Row]:
        """Return every row of a query."""
        with self._translated():
            return self._connection.execute(sql, parameters).fetchall()

    def row(self, sql: str, parameters: Sequence[Value] = ()) -> sqlite3.Row | None:
        """Return the first row of a query, or None."""
        with self._translated():
            found: sqlite3.Row | None = self._connection.execute(sql, parameters).fetchone()
            return found

    def write(self, sql: str, parameters: Sequence[Value] = ()) -> int:
        """Run one writing statement inside `writing()`; return the last row id."""
        if not self._is_writing:
            raise RuntimeError("write() needs writing()")
        with self._translated():
            return self._connection.execute(sql, parameters).lastrowid or 0

    def data_version(self) -> int:
        """Return a number that changes when another connection has written to the store."""
        row = self.row("PRAGMA data_version")
        return int(row[0]) if row is not None else 0

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Hold one consistent view of the store; re-entrant."""
        with self._transaction("BEGIN"):
            yield

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the write lock; commit at the end, roll back on any error; re-entrant.

        Raises:
            StoreReadOnly: the file cannot be written.
        """
        if self.is_read_only:
            raise StoreReadOnly(
                f"The store '{self.path}' is read-only.", hint=f"chmod u+w '{self.path}'"
            )
        if self._depth and not self._is_writing:
            raise RuntimeError("writing() inside reading() could not see its own base")
        before, self._is_writing = self._is_writing, True
        try:
            with self._transaction("BEGIN IMMEDIATE"):
                yield
        finally:
            self._is_writing = before

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[None]:
        if self._depth == 0:
            with self._translated():
                self._connection.execute(begin)
        self._depth += 1
        try:
            if self._depth == 1:
                self._refuse_newer()
            yield
        except BaseException:
            self._depth -= 1
            if self._depth == 0 and self._connection.in_transaction:
                self._connection.rollback()
            raise
        self._depth -= 1
        if self._depth == 0 and self._connection.in_transaction:
            try:
                with self._translated():
                    self._connection.execute("COMMIT")
            except StoreError:
                if self._connection.in_transaction:
                    self._connection.rollback()
                raise

    def _refuse_newer(self) -> None:
        """Make sure that no newer kasmos has migrated the store while it was open here.

        Raises:
            StoreTooNew: one has; nothing of ours may read or write it any more.
        """
        row = self.row("PRAGMA user_version")
        if row is not None and row[0] > SCHEMA_VERSION:
            raise StoreTooNew(str(self.path), found=row[0], known=SCHEMA_VERSION)

    def _connect(self) -> sqlite3.Connection:
        with self._translated():
            connection = connect(self.path, is_read_only=self.is_read_only)
            connection.execute("PRAGMA foreign_keys = ON")
            return connection

    def _open(self, *, is_new: bool) -> None:
        version = self._version(is_new=is_new)
        if not self.is_read_only:
            with self._translated():
                self._connection.execute("PRAGMA journal_mode = WAL")
                self._connection.execute("PRAGMA synchronous = NORMAL")
                self._connection.execute("PRAGMA journal_size_limit = 67108864")
            if version < SCHEMA_VERSION:
                self._migrate()
            self._restore_derived()
        elif version < SCHEMA_VERSION:
            raise StoreReadOnly(
                f"The store '{self.path}' is read-only and has the older schema version {version}.",
                hint=f"chmod u+w '{self.path}'",
            )
        row = self.row("SELECT value FROM meta WHERE key = 'store_id'")
        if row is None:
            raise StoreCorrupt(f"The store '{self.path}' has lost its identity.")
        self.store_id = str(row[0])

    def _version(self, *, is_new: bool) -> int:
        """Return the file's schema version, having made sure that the file is ours to touch."""
        with self.reading():
            application = int((self.row("PRAGMA application_id") or (0,))[0])
            version = int((self.row("PRAGMA user_version") or (0,))[0])
            is_empty = self.row("SELECT 1 FROM sqlite_master LIMIT 1") is None
        if application != APPLICATION_ID and not (is_new or is_empty):
            raise StoreError(
                f"The file '{self.path}' is the database of another program.",
                hint="--db PATH, or set KASMOS_DB",
            )
        if version > SCHEMA_VERSION:
            raise StoreTooNew(str(self.path), found=version, known=SCHEMA_VERSION)
        return version

    def _migrate(self) -> None:
        """Apply what is missing, each version together with its record, or nothing of it."""
        for version in range(1, SCHEMA_VERSION + 1):
            with self.writing():
                # Another process may have been faster since the lock was asked for.
                if int((self.row("PRAGMA user_version") or (0,))[0]) >= version:
                    continue
                for statement in MIGRATIONS[version - 1]:
                    self.write(statement)
                if version == 1:
                    self.write(f"PRAGMA application_id = {APPLICATION_ID}")
                    self.write("INSERT INTO meta VALUES ('store_id', ?)", (uuid.uuid4().hex,))
                self.write(f"PRAGMA user_version = {version}")

    def _restore_derived(self) -> None:
        """Rebuild triggers and indexes that are missing or differ; recount where that happened."""
        if self._wrong_derived():
            with self.writing():
                for name, kind in self._wrong_derived().items():
                    if kind:
                        self.write(f"DROP {kind} {name}")
                    if name in DERIVED:
                        self.write(DERIVED[name])
                self.recount()

    def _wrong_derived(self) -> dict[str, str]:
        """Return what is not as it should be: name to its present type, empty when missing."""
        found = {
            str(row["name"]): (str(row["type"]), str(row["sql"]))
            for row in self.rows(
                "SELECT name, type, sql FROM sqlite_master"
                " WHERE type IN ('index', 'trigger') AND sql IS NOT NULL"
            )
        }
        wrong = {name: found.get(name, ("", ""))[0] for name in DERIVED}
        right = {name for name, sql in DERIVED.items() if found.get(name, ("", ""))[1] == sql}
        stray = {name: kind for name, (kind, _) in found.items() if name not in DERIVED}
        return {name: kind for name, kind in wrong.items() if name not in right} | stray

    def recount(self) -> bool:
        """Compare the kept counts with the rows and mend them; return whether they differed.

        Reads every task and event: for the start of a server, not of a command.
        """
        if self.is_read_only:
            return False
        with self.writing():
            wrong = [kept for kept, counted in _COUNTS.items() if self._recount(kept, counted)]
        return bool(wrong)

    def _recount(self, kept: str, counted: str) -> bool:
        should_be = sorted(map(tuple, self.rows(counted)))
        found = self.rows(f"SELECT * FROM {kept} WHERE count <> 0")  # noqa: S608 - own text.
        if should_be == sorted(map(tuple, found)):
            return False
        self.write(f"DELETE FROM {kept}")  # noqa: S608 - own text.
        for row in should_be:
            marks = ", ".join("?" * len(row))
            self.write(f"INSERT INTO {kept} VALUES ({marks})", row)  # noqa: S608 - own text.
        return True

    def quick_check(self) -> tuple[str, ...]:
        """Return what SQLite finds damaged, empty when nothing is. Reads the whole file."""
        found = tuple(str(row[0]) for row in self.rows("PRAGMA quick_check(20)"))
        return () if found == ("ok",) else found

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise store_error(self.path, error) from error


def connect(path: Path, *, is_read_only: bool) -> sqlite3.Connection:
    """Return a connection to an existing store; sets nothing in it."""
    mode = "ro" if is_read_only else "rw"
    if is_read_only and not os.access(path.parent, os.W_OK):
        # WAL needs a shared-memory file; beside a store that nobody can write there is none.
        wal = Path(f"{path}-wal")
        mode = "ro" if wal.exists() and wal.stat().st_size else "ro&immutable=1"
    connection = sqlite3.connect(
        f"{path.as_uri()}?mode={mode}", uri=True, timeout=BUSY_TIMEOUT_S, isolation_level=None
    )
    connection.row_factory = sqlite3.Row
    return connection


def network_file_system(path: Path, mountinfo: str) -> str | None:
    """Return the type of the network file system that holds `path`, or None when it is local.

    `mountinfo` is the text of `/proc/self/mountinfo`; source: proc_pid_mountinfo(5).
    """
    best, kind = "", None
    for line in mountinfo.splitlines():
        left, _, right = line.partition(" - ")
        fields = left.split(" ")
        if len(fields) < 5 or not right:
            continue
        mount = fields[4].replace("\\040", " ")
        if path.is_relative_to(mount) and len(mount) >= len(best):
            best, kind = mount, right.split(" ")[0]
    return kind if kind in NETWORK_FILE_SYSTEMS else None


def prepare(path: Path, *, create: bool) -> bool:
    """Make sure that `path` can be a store; return whether the file was made just now."""
    if path.is_dir():
        raise StoreError(f"The store's path '{path}' is a directory.", hint="--db FILE")
    if sys.platform == "linux":
        mountinfo = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace")
        if kind := network_file_system(path.absolute(), mountinfo):
            raise StoreError(
                f"The store '{path}' lies on a network file system ({kind}),"
                " where SQLite cannot share it between processes.",
                hint="--db PATH, or set KASMOS_DB, to a local file",
            )
    try:
        if path.exists():
            return False
        if not create:
            raise StoreError(f"There is no store at '{path}'.", hint="kas daemon add PATH")
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        return False
    except OSError as error:
        raise StoreError(
            f"The store '{path}' cannot be opened: {error.strerror}.", hint="--db PATH"
        ) from error
    return True


def store_error(path: Path, error: sqlite3.Error) -> StoreError:
    """Return the failure of ours that a failure of SQLite means."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return StoreCorrupt(
            f"The store '{path}' is damaged: {error}.",
            hint="stop kas, set the file aside, and put a backup from beside it in its place",
        )
    if code == sqlite3.SQLITE_READONLY:
        return StoreReadOnly(f"The store '{path}' is read-only.", hint=f"chmod u+w '{path}'")
    if code == sqlite3.SQLITE_FULL:
        return StoreError(f"The disk that holds the store '{path}' is full.", hint=f"df '{path}'")
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return StoreError(
            f"The store '{path}' is busy: another process has written for {BUSY_TIMEOUT_S:g} s.",
            hint="try again",
        )
    return StoreError(f"The store '{path}' cannot be used: {error}.", hint="--db PATH")
