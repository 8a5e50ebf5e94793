"""store.database: opening, refusing, migrating, locking, on real files and processes."""

import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from kasmos_plugin.contract.event import EventDraft
from kasmos_plugin.errors import StoreCorrupt, StoreError, StoreReadOnly, StoreTooNew
from kasmos_plugin.facts import daemon_absent, gather
from kasmos_plugin.store import Store, open_store
from kasmos_plugin.store.database import SCHEMA_VERSION, network_file_system
from kasmos_plugin.store.migrations import DERIVED


def dump(path: Path) -> str:
    with sqlite3.connect(path) as connection:
        text = "\n".join(connection.iterdump())
    connection.close()
    return text


def execute(path: Path, *statements: str) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    for statement in statements:
        connection.execute(statement)
    connection.close()


def test_a_new_store_is_private(home: Path, store: Store) -> None:
    assert store.path.stat().st_mode & 0o777 == 0o600
    assert store.path.parent.stat().st_mode & 0o777 == 0o700


def test_a_store_keeps_its_identity(store: Store) -> None:
    again = open_store(store.path)
    assert again.store_id == store.store_id
    again.close()


def test_a_newer_store_is_refused_before_anything_is_written(store: Store) -> None:
    """B4: both versions are named, nothing is created, the stamp is not lowered."""
    store.close()
    execute(store.path, "DROP INDEX tasks_active", "PRAGMA user_version = 99")
    before = dump(store.path)
    with pytest.raises(StoreTooNew, match=f"version 99, this kasmos knows up to {SCHEMA_VERSION}"):
        open_store(store.path)
    assert dump(store.path) == before
    connection = sqlite3.connect(store.path)
    assert connection.execute("PRAGMA user_version").fetchone() == (99,)
    connection.close()


def test_a_store_migrated_while_it_is_open_is_neither_read_nor_written(
    store: Store, project: str
) -> None:
    """B4: an older process that still runs gives no snapshot and writes nothing."""
    execute(store.path, "PRAGMA user_version = 99")
    before = dump(store.path)
    with pytest.raises(StoreTooNew, match="version 99"):
        gather(store, daemon_absent(), project=project)
    with pytest.raises(StoreTooNew):
        store.tasks.create(project, "a")
    assert dump(store.path) == before


def test_a_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="is a directory"):
        open_store(tmp_path)


def test_another_programs_database_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    execute(path, "CREATE TABLE theirs (x)")
    with pytest.raises(StoreError, match="database of another program"):
        open_store(path)
    assert "tasks" not in dump(path)


@pytest.mark.parametrize(
    "content", [b"not a database at all, but long enough" * 40, b"\x00" * 8192]
)
def test_a_file_that_is_no_database_is_an_error(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "broken.db"
    path.write_bytes(content)
    with pytest.raises(StoreError):
        open_store(path)
    assert path.read_bytes() == content


def test_damage_met_by_a_read_is_an_error_not_an_empty_list(store: Store, project: str) -> None:
    """B3: corruption is never an empty-looking all-clear."""
    for number in range(300):
        store.tasks.create(project, f"task-{number}", topic="x" * 100)
    store.close()
    size = store.path.stat().st_size
    with store.path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * (size - 4096))

    def read() -> None:
        open_store(store.path).tasks.list(project)

    with pytest.raises(StoreCorrupt):
        read()


def test_a_missing_store_is_not_made_when_it_must_exist(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="There is no store"):
        open_store(tmp_path / "missing.db", create=False)
    assert not (tmp_path / "missing.db").exists()


def test_missing_triggers_and_indexes_are_rebuilt_and_counts_mended(
    store: Store, project: str
) -> None:
    store.tasks.create(project, "a")
    store.close()
    execute(
        store.path,
        "DROP TRIGGER tasks_count_insert",
        "DROP INDEX tasks_active",
        "CREATE INDEX stray ON tasks (topic)",
        "INSERT INTO tasks (project, filename, status, phase_us, created_us, updated_us)"
        " VALUES ('repo', 'b', 'done', 0, 0, 0)",
    )
    again = open_store(store.path)
    assert again.tasks.counts(project) == {"ready": 1, "done": 1}
    again.close()
    connection = sqlite3.connect(store.path)
    names = {
        row[0]
        for row in connection.execute(
            "SELECT name FROM sqlite_master WHERE type IN ('index', 'trigger') AND sql NOT NULL"
        )
    }
    connection.close()
    assert names == set(DERIVED)


def test_wrong_counts_are_mended_at_the_start_of_a_server(store: Store, project: str) -> None:
    store.tasks.create(project, "a")
    assert not store.recount()
    execute(store.path, "UPDATE lifecycle_counts SET count = 7")
    execute(store.path, "UPDATE event_counts SET count = 70")
    assert store.recount()
    assert store.tasks.counts(project) == {"ready": 1}
    assert store.events.count(project) == len(store.events.latest(project, 100))


def test_two_processes_may_make_the_same_store_at_once(tmp_path: Path) -> None:
    path = tmp_path / "new" / "kasmos.db"
    program = (
        "import sys, pathlib\n"
        "from kasmos_plugin.store import open_store\n"
        "sys.stdin.readline()\n"
        "print(open_store(pathlib.Path(sys.argv[1])).store_id)\n"
    )
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", program, str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("go\n")
        racer.stdin.flush()
    ids = {racer.communicate(timeout=30)[0] for racer in racers}
    assert len(ids) == 1
    assert all(racer.returncode == 0 for racer in racers)


def test_a_failed_write_leaves_nothing_behind(store: Store, project: str) -> None:
    before = dump(store.path)

    def fail_halfway() -> None:
        with store.writing():
            store.tasks.create(project, "a")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_halfway()
    assert dump(store.path) == before


def test_a_reader_sees_one_state_while_another_writes(store: Store, project: str) -> None:
    store.tasks.create(project, "a")
    with store.reading():
        before = store.tasks.counts(project)

        def write() -> None:
            other = open_store(store.path)
            other.tasks.create(project, "b")
            other.close()

        writer = threading.Thread(target=write)
        writer.start()
        writer.join(timeout=5)
        assert store.tasks.counts(project) == before
    assert store.tasks.counts(project) == {"ready": 2}


def test_events_cannot_be_changed_or_deleted(store: Store, project: str) -> None:
    store.events.append(EventDraft(project=project, kind="x", message="m"))
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        execute(store.path, "UPDATE events SET message = 'other'")
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        execute(store.path, "DELETE FROM events")


def test_a_store_on_a_network_file_system_is_recognised() -> None:
    """B2: the file system's type decides, read from the longest mount that holds the file."""
    mountinfo = (
        "21 1 8:1 / / rw - ext4 /dev/root rw\n"
        "30 21 0:40 / /home rw shared:1 - nfs4 server:/home rw\n"
        "31 30 8:2 / /home/local\\040disk rw - ext4 /dev/sdb rw\n"
        "broken line\n"
    )
    assert network_file_system(Path("/home/me/kasmos.db"), mountinfo) == "nfs4"
    assert network_file_system(Path("/home/local disk/kasmos.db"), mountinfo) is None
    assert network_file_system(Path("/var/kasmos.db"), mountinfo) is None


def test_a_read_only_store_is_read_and_says_so(store: Store, project: str) -> None:
    store.tasks.create(project, "a")
    store.close()
    if subprocess.run(["chattr", "+i", str(store.path)], capture_output=True).returncode:
        store.path.chmod(0o400)
    try:
        read_only = open_store(store.path)
        if not read_only.is_read_only:
            pytest.skip("this user may write to everything here")
        assert read_only.tasks.counts(project) == {"ready": 1}
        with pytest.raises(StoreReadOnly):
            read_only.tasks.create(project, "b")
        read_only.close()
    finally:
        subprocess.run(["chattr", "-i", str(store.path)], capture_output=True, check=False)
        store.path.chmod(0o600)


def test_a_full_disk_is_a_clear_error_and_loses_nothing(tmp_path: Path) -> None:
    mount = tmp_path / "small"
    mount.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(mount)], capture_output=True
    )
    if mounted.returncode:
        pytest.skip("mounting a small file system needs root")
    try:
        store = open_store(mount / "kasmos.db")
        with store.writing():
            store._database.write("INSERT INTO projects VALUES ('p', NULL, 0)")
        store.tasks.create("p", "kept")

        def fill() -> None:
            for number in range(1000):
                store.tasks.create("p", f"task-{number}", plan_text="x" * 50_000)

        with pytest.raises(StoreError, match="is full"):
            fill()
        assert store.tasks.get("p", "kept").filename == "kept"
        assert store.quick_check() == ()
        store.close()
    finally:
        subprocess.run(["umount", str(mount)], check=True)
