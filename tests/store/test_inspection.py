"""A look at a store changes nothing, and tells what is wrong."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from kasmos_plugin.errors import StoreCorrupt, StoreError
from kasmos_plugin.store import Store
from kasmos_plugin.store.database import SCHEMA_VERSION
from kasmos_plugin.store.inspection import inspect


def test_a_healthy_store_is_told_with_its_sizes(store: Store) -> None:
    found = inspect(store.path)
    assert found.schema == found.known_schema == SCHEMA_VERSION
    assert found.damage == ()
    assert found.is_writable
    assert found.size == store.path.stat().st_size
    assert found.wal_size == Path(f"{store.path}-wal").stat().st_size


def test_a_missing_store_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no store"):
        inspect(tmp_path / "none.db")
    assert list(tmp_path.iterdir()) == []


def test_an_older_store_is_not_migrated(store: Store) -> None:
    path = store.path
    store.close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION - 1}")
    before = path.read_bytes()
    assert inspect(path).schema == SCHEMA_VERSION - 1
    assert path.read_bytes() == before


def test_damage_is_told(store: Store) -> None:
    """Fault B3: health reads real data."""
    path = store.path
    store.close()
    content = bytearray(path.read_bytes())
    content[4096 : 4096 + 3000] = b"\xff" * 3000
    path.write_bytes(content)
    try:
        found = inspect(path)
    except StoreCorrupt:
        return
    assert found.damage


def test_the_database_of_another_program_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE t (x)")
    with pytest.raises(StoreError, match="another program"):
        inspect(path)
    (tmp_path / "text").write_text("no database, by far\n" * 200)
    with pytest.raises(StoreCorrupt):
        inspect(tmp_path / "text")
