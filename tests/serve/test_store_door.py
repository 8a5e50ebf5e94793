"""serve.store_door: the store of the file that lies there now, or why there is none."""

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from kasmos_plugin.errors import StoreCorrupt, StoreError, StoreTooNew
from kasmos_plugin.serve.store_door import StoreDoor
from kasmos_plugin.store import open_store
from tests.serve.conftest import read_only


@pytest.fixture
def door(tmp_path: Path) -> StoreDoor:
    return StoreDoor(tmp_path / "data" / "kasmos.db")


def test_the_store_is_made_at_the_start_and_kept_open(door: StoreDoor) -> None:
    store = door.open()
    assert door.store() is store
    door.close()


def test_a_missing_store_is_an_error_and_not_made_again(door: StoreDoor) -> None:
    door.open()
    door.path.unlink()
    with pytest.raises(StoreError, match="There is no store"):
        door.store()
    assert not door.path.exists()


def test_a_replaced_store_is_noticed(door: StoreDoor, tmp_path: Path) -> None:
    first = door.open().store_id
    other = open_store(tmp_path / "other.db")
    other_id = other.store_id
    other.close()
    (tmp_path / "other.db").replace(door.path)
    for name in ("-wal", "-shm"):
        Path(f"{door.path}{name}").unlink(missing_ok=True)
    assert door.store().store_id == other_id != first
    door.close()


def test_looking_at_the_file_drops_no_lock_of_the_connection(door: StoreDoor) -> None:
    """B3: else another process takes itself for the last, and removes the log that is read here."""
    door.open().projects.names()
    door.store()
    log = Path(f"{door.path}-wal")
    before = log.stat().st_ino
    another = (
        "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]);"
        "c.execute('SELECT * FROM projects').fetchall(); c.close()"
    )
    subprocess.run([sys.executable, "-c", another, door.path], check=True)
    assert log.stat().st_ino == before
    door.close()


@pytest.mark.parametrize("damage", [b"", b"\x00" * 8192, b"SQLite format 2"])
def test_damage_below_an_open_connection_is_noticed(door: StoreDoor, damage: bytes) -> None:
    """B3: a connection that has everything in its cache still sees that the file is gone."""
    store = door.open()
    assert store.projects.names() == ()
    # What still stands in the write-ahead log would mend the file when the connection closes.
    other = sqlite3.connect(door.path)
    other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    other.close()
    with door.path.open("r+b") as file:
        file.truncate(len(damage))
        file.write(damage)
    with pytest.raises(StoreCorrupt):
        door.store()
    with pytest.raises(StoreCorrupt):
        door.store()


def test_damage_inside_is_noticed_with_fresh_eyes(door: StoreDoor) -> None:
    """B3: health reads the file, not what a connection remembers of it."""
    door.open()
    door.close()
    size = door.path.stat().st_size
    with door.path.open("r+b") as file:
        file.seek(100)
        file.write(b"\xff" * (size - 100))
    with pytest.raises(StoreCorrupt):
        door.check().projects.names()


def test_a_store_of_a_newer_kasmos_is_refused_until_it_is_ours(door: StoreDoor) -> None:
    """B4, B5: refused with both versions, untouched, and read again when that is mended."""
    door.open()
    door.close()
    connection = sqlite3.connect(door.path)
    known = connection.execute("PRAGMA user_version").fetchone()[0]
    connection.execute(f"PRAGMA user_version = {known + 1}")
    connection.close()
    with pytest.raises(StoreTooNew) as caught:
        door.store()
    assert (caught.value.found, caught.value.known) == (known + 1, known)
    connection = sqlite3.connect(door.path)
    connection.execute(f"PRAGMA user_version = {known}")
    connection.close()
    assert door.store().projects.names() == ()
    door.close()


def test_a_store_that_loses_its_write_permission_is_opened_anew(door: StoreDoor) -> None:
    door.open()
    with read_only(door.path):
        assert door.store().is_read_only
    assert not door.store().is_read_only
    door.close()


def test_a_directory_at_the_path_is_an_error(tmp_path: Path) -> None:
    door = StoreDoor(tmp_path)
    with pytest.raises(StoreError):
        door.open()
    with pytest.raises(StoreError, match="cannot be read"):
        door.store()


def test_eyes_that_are_fresh_leave_the_locks_of_other_connections(door: StoreDoor) -> None:
    """A close of the file would end them, and the next process could drop the log in use."""
    door.open()
    other = open_store(door.path)
    log = door.path.with_name(f"{door.path.name}-wal")
    door.check()
    door.distrust()
    script = (
        "import sqlite3, sys; found = sqlite3.connect(sys.argv[1]);"
        " found.execute('SELECT * FROM tasks').fetchall(); found.close()"
    )
    subprocess.run([sys.executable, "-c", script, str(door.path)], check=True)
    assert log.exists()
    other.close()
    door.close()
