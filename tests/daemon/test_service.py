"""daemon.service: one daemon at one place, and what it leaves behind."""

import fcntl
import json
import os
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kasmos_plugin.daemon import client, processes
from kasmos_plugin.daemon.lock import Holder, holder, is_held
from kasmos_plugin.errors import DaemonUnreachable
from tests.daemon.harness import WITHIN_S, RunningDaemon, eventually


@pytest.fixture
def daemon(home: Path) -> Iterator[RunningDaemon]:
    """A daemon that was not started yet."""
    daemon = RunningDaemon(home)
    yield daemon
    daemon.close()


def refused(daemon: RunningDaemon, **changes: object) -> str:
    """Return what a start says that is refused."""
    process = daemon.spawn(**changes)
    out, err = process.communicate(timeout=WITHIN_S * 2)
    assert (process.returncode, out) == (1, "") or process.returncode == 2, (out, err)
    return err


def test_a_killed_daemon_leaves_a_socket_that_the_next_takes_over(daemon: RunningDaemon) -> None:
    """C1."""
    daemon.start().kill()
    assert stat.S_ISSOCK(daemon.socket_path.lstat().st_mode)
    first = daemon.start().get("/v1/ping")
    assert first["pid"] == daemon.pid


@pytest.mark.parametrize("kind", ["file", "directory", "link"])
def test_what_is_no_socket_is_named_and_never_removed(daemon: RunningDaemon, kind: str) -> None:
    """C1, C8."""
    path = daemon.socket_path
    path.parent.mkdir(mode=0o700, parents=True)
    if kind == "file":
        path.write_text("precious")
    elif kind == "directory":
        path.mkdir()
    else:
        path.symlink_to(path.parent / "elsewhere")
    assert "is a file that is no socket; it was left alone" in refused(daemon)
    assert path.lstat()
    assert not path.is_file() or path.read_text() == "precious"


def test_a_program_that_listens_keeps_its_socket(daemon: RunningDaemon) -> None:
    """C1, C2: only a refused connection proves that nobody owns the socket."""
    daemon.socket_path.parent.mkdir(mode=0o700, parents=True)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(daemon.socket_path))
        listener.listen()
        assert "Another program listens" in refused(daemon)
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(daemon.socket_path))


def test_a_second_start_says_who_is_there_even_when_that_one_is_busy(daemon: RunningDaemon) -> None:
    """C2, C3: ownership is asked, not health."""
    daemon.start()
    os.kill(daemon.pid, signal.SIGSTOP)
    try:
        said = refused(daemon)
    finally:
        os.kill(daemon.pid, signal.SIGCONT)
    assert f"running already: pid {daemon.pid}" in said
    assert daemon.get("/v1/ping")["pid"] == daemon.pid


def test_a_second_daemon_for_the_same_store_is_refused(daemon: RunningDaemon) -> None:
    """C2: another runtime directory must not make two owners of one store."""
    daemon.start()
    other = daemon.socket_path.with_name("other.sock")
    assert f"this store is running already: pid {daemon.pid}" in refused(daemon, socket=str(other))
    assert not other.exists()


def test_a_daemon_removes_its_socket_and_no_other(daemon: RunningDaemon) -> None:
    """C3."""
    daemon.start()
    assert daemon.stop() == 0
    assert not daemon.socket_path.exists()
    daemon.start()
    daemon.socket_path.unlink()
    with socket.socket(socket.AF_UNIX) as successor:
        successor.bind(str(daemon.socket_path))
        assert daemon.stop() == 0
        assert daemon.socket_path.exists()


def test_a_daemon_that_nobody_can_reach_any_more_ends(daemon: RunningDaemon) -> None:
    """C4: no transport, no daemon."""
    daemon.start()
    daemon.socket_path.unlink()
    assert daemon.process is not None
    _, said = daemon.process.communicate(timeout=WITHIN_S)
    assert daemon.process.returncode == 0
    assert "nobody can reach us" in said


def test_without_a_socket_nothing_is_started(daemon: RunningDaemon) -> None:
    """C4."""
    daemon.socket_path.parent.mkdir(parents=True)
    daemon.socket_path.parent.chmod(0o777)
    assert "can be written by others" in refused(daemon)
    assert not daemon.settings.database.exists()


def test_a_path_that_is_too_long_is_named(daemon: RunningDaemon, tmp_path: Path) -> None:
    path = tmp_path / ("s" * 60) / ("s" * 60) / "daemon.sock"
    assert "more than 103 bytes" in refused(daemon, socket=str(path))


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a directory away")
def test_a_directory_of_another_user_is_not_used(daemon: RunningDaemon) -> None:
    """C8."""
    daemon.socket_path.parent.mkdir(mode=0o700, parents=True)
    os.chown(daemon.socket_path.parent, 12_345, -1)
    assert "belongs to another user" in refused(daemon)


def test_socket_lock_store_and_directory_are_ours_alone(daemon: RunningDaemon) -> None:
    """C8: whatever the umask is."""
    before = os.umask(0)
    try:
        daemon.start()
    finally:
        os.umask(before)
    found = {
        path.name: oct(path.lstat().st_mode & 0o777)
        for path in (
            daemon.socket_path,
            daemon.socket_path.parent,
            daemon.settings.lock_path,
            daemon.settings.database,
        )
    }
    assert found == {
        "daemon.sock": "0o600",
        "run": "0o700",
        "daemon.sock.lock": "0o600",
        "kasmos.db": "0o600",
    }


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")
def test_another_user_is_refused_even_where_the_modes_let_it_in(daemon: RunningDaemon) -> None:
    """C8: peer uid check."""
    daemon.start()
    daemon.socket_path.chmod(0o777)
    daemon.socket_path.parent.chmod(0o755)
    here = os.open(daemon.socket_path.parent, os.O_RDONLY)
    hear, tell = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.fchdir(here)
        os.setuid(12_345)
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(daemon.socket_path.name)
            try:
                connection.sendall(b"GET /v1/ping HTTP/1.1\r\nHost: x\r\n\r\n")
                answer = connection.recv(100)
            except OSError:
                answer = b""
        os.write(tell, b"got %d bytes" % len(answer))
        os._exit(0)
    os.waitpid(pid, 0)
    assert os.read(hear, 100) == b"got 0 bytes"
    for fd in (here, hear, tell):
        os.close(fd)


def test_a_lock_without_its_process_is_no_daemon_whatever_it_says(daemon: RunningDaemon) -> None:
    """C6: the number in the file is a stranger's by now, here the test's own."""
    own = processes.identify(os.getpid())
    assert own is not None
    stale = Holder(process=own, socket="s", database="d", version="0")
    daemon.settings.lock_path.parent.mkdir(mode=0o700, parents=True)
    daemon.settings.lock_path.write_text(stale.model_dump_json())
    assert holder(daemon.settings.lock_path) is None
    daemon.start()
    found = holder(daemon.settings.lock_path)
    assert found is not None
    assert found.process.pid == daemon.pid
    daemon.stop()
    assert not is_held(daemon.settings.lock_path)


def test_stop_signals_nobody_but_the_process_that_is_named(
    daemon: RunningDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C6: pid, start and boot must agree before anything is signalled."""
    from kasmos_plugin.daemon.stopping import terminate

    with subprocess.Popen([sys.executable, "-S", "-c", "input()"], stdin=subprocess.PIPE) as other:
        known = processes.identify(other.pid)
        assert known is not None
        for wrong in ({"start": "1"}, {"boot_id": "another boot"}):
            terminate(known.model_copy(update=wrong))
        with pytest.raises(subprocess.TimeoutExpired):
            other.wait(0.2)
        terminate(known)
        assert other.wait(WITHIN_S) == -signal.SIGTERM
        terminate(known)


def test_a_lock_is_refused_where_its_file_is_a_link(daemon: RunningDaemon, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    daemon.settings.lock_path.parent.mkdir(mode=0o700, parents=True)
    daemon.settings.lock_path.symlink_to(victim)
    assert "cannot be opened" in refused(daemon)
    assert victim.read_text() == "precious"


def test_a_lock_held_by_a_silent_program_is_still_held(daemon: RunningDaemon) -> None:
    daemon.settings.lock_path.parent.mkdir(mode=0o700, parents=True)
    with daemon.settings.lock_path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert "running already: another process" in refused(daemon)


def test_a_store_that_cannot_be_used_is_told_and_leaves_no_socket(daemon: RunningDaemon) -> None:
    daemon.settings.database.parent.mkdir(parents=True)
    daemon.settings.database.write_text("not a database, " * 100)
    assert "is damaged" in refused(daemon)
    assert not daemon.socket_path.exists()


def test_the_daemon_imports_no_mcp_and_no_command_line() -> None:
    code = (
        "import sys\n"
        "import kasmos_plugin.daemon.service\n"
        "heavy = {'mcp', 'anyio', 'starlette', 'rich', 'httpx', 'kasmos_plugin.serve'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], capture_output=True, text=True, timeout=20
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_stop_ends_streams_first_and_then_leaves_at_once(daemon: RunningDaemon) -> None:
    daemon.start()
    with daemon.events() as events, daemon.connect() as kept:
        kept.sendall(b"GET /v1/ping HTTP/1.1\r\nHost: kasmos\r\n\r\n")
        assert kept.recv(100)
        assert daemon.process is not None
        daemon.process.terminate()
        assert events.rest().endswith(b"0\r\n\r\n")
        # A connection that is only kept open is closed, not waited for.
        eventually(lambda: kept.recv(65536) == b"")
        assert daemon.process.wait(WITHIN_S) == 0


def test_the_daemon_makes_a_backup_that_opens(daemon: RunningDaemon) -> None:
    """B7."""
    from kasmos_plugin.store import open_store

    daemon.start()
    backup = daemon.settings.database.with_name("kasmos.db.backup")
    eventually(backup.exists)
    found = open_store(backup)
    assert found.store_id == daemon.get("/v1/status")["store_id"]
    found.close()


def test_an_unreachable_daemon_is_an_error_with_the_command_that_mends_it(
    daemon: RunningDaemon,
) -> None:
    with pytest.raises(DaemonUnreachable) as caught:
        client.call(daemon.socket_path, "GET", "/v1/ping")
    assert caught.value.hint == "kas daemon start"


def test_a_holder_survives_its_file() -> None:
    own = processes.identify(os.getpid())
    assert own is not None
    told = Holder(process=own, socket="s", database="d", version="0")
    assert Holder.model_validate_json(json.dumps(told.model_dump())) == told
