"""daemon.backup: two copies, rotated, and never one of a damaged store. B7."""

import os
from pathlib import Path

import pytest

from kasmos_plugin.daemon import backup
from kasmos_plugin.store import Store, open_store


def copies(store: Store) -> list[Path]:
    return sorted(store.path.parent.glob("kasmos.db.backup*"))


def test_a_copy_is_made_once_a_while_and_the_one_before_it_kept(store: Store, project: str) -> None:
    assert backup.back_up(store.path, every_s=60)
    assert not backup.back_up(store.path, every_s=60)
    store.tasks.create(project, "later")
    assert backup.back_up(store.path, every_s=0)
    assert [path.name for path in copies(store)] == ["kasmos.db.backup", "kasmos.db.backup.1"]
    assert {oct(path.stat().st_mode & 0o777) for path in copies(store)} == {"0o600"}
    newest, older = (open_store(path) for path in copies(store))
    assert (len(newest.tasks.list(project)), len(older.tasks.list(project))) == (1, 0)
    newest.close()
    older.close()


def test_a_damaged_store_replaces_no_backup(tmp_path: Path) -> None:
    path = tmp_path / "kasmos.db"
    open_store(path).close()
    assert backup.back_up(path, every_s=0)
    good = path.with_name("kasmos.db.backup").read_bytes()
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(os.urandom(16_384))
    assert not backup.back_up(path, every_s=0)
    assert path.with_name("kasmos.db.backup").read_bytes() == good
    assert sorted(one.name for one in tmp_path.glob("*.backup*")) == ["kasmos.db.backup"]


def test_a_large_store_is_left_to_its_owner(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backup, "LIMIT_BYTES", 10)
    assert not backup.back_up(store.path, every_s=0)
    assert copies(store) == []


def test_a_backup_dated_in_the_future_does_not_stop_the_next(store: Store) -> None:
    """B8."""
    assert backup.back_up(store.path, every_s=60)
    os.utime(copies(store)[0], (4e9, 4e9))
    assert backup.back_up(store.path, every_s=60)
