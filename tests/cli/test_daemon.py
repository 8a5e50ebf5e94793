"""`kas daemon`: from nothing to a daemon that answers, and back."""

import json
import os
import socket
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kasmos_plugin import paths
from tests.cli.conftest import KAS, Kas
from tests.daemon.harness import WITHIN_S, end, eventually, process_is_gone


@pytest.fixture
def kas_daemon(kas_process: Kas) -> Iterator[Kas]:
    """Run commands as processes, and end the daemon that they leave."""
    yield kas_process
    if paths.socket().exists():
        kas_process("daemon", "stop")


def test_start_is_ready_when_it_returns_and_stop_when_it_has_gone(kas_daemon: Kas) -> None:
    """C9."""
    started = kas_daemon("daemon", "start", "--json")
    assert started.code == 0, started.err
    pid = started.json["pid"]
    status = kas_daemon("daemon", "status", "--json")
    assert (status.json["pid"], status.json["database"]) == (pid, str(paths.database()))
    assert f"pid       {pid}" in kas_daemon("daemon", "status").out
    # It left this session, its terminal and its directory.
    assert os.getsid(pid) == pid
    assert Path(f"/proc/{pid}/cwd").readlink() == Path("/")
    log = paths.logs_dir() / "daemon.log"
    assert stat.S_IMODE(log.stat().st_mode) == 0o600

    again = kas_daemon("daemon", "start")
    assert (again.code, f"running already: pid {pid}" in again.err) == (1, True)

    stopped = kas_daemon("daemon", "stop")
    assert (stopped.code, stopped.err) == (0, f"daemon stopped: pid {pid}\n")
    assert process_is_gone(pid)
    assert not paths.socket().exists()


def test_a_dead_socket_is_not_taken_for_a_daemon_that_is_ready(kas_daemon: Kas) -> None:
    """C9, C1."""
    paths.socket().parent.mkdir(parents=True, mode=0o700)
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(paths.socket()))
    started = kas_daemon("daemon", "start", "--json")
    assert started.code == 0, started.err
    assert kas_daemon("daemon", "status", "--json").json["pid"] == started.json["pid"]


def test_a_start_that_fails_says_why(kas_daemon: Kas) -> None:
    paths.socket().parent.mkdir(parents=True, mode=0o700)
    paths.socket().write_text("mine")
    done = kas_daemon("daemon", "start")
    assert done.code == 1
    assert "is a file that is no socket; it was left alone" in done.err
    assert "hint: move it away, or set KASMOS_SOCKET" in done.err
    assert paths.socket().read_text() == "mine"
    paths.socket().unlink()


def test_a_start_without_a_usable_store_says_why(kas_daemon: Kas, tmp_path: Path) -> None:
    done = kas_daemon("daemon", "start", "--db", str(tmp_path))
    assert done.code == 1
    assert "is a directory" in done.err


def test_a_log_that_cannot_be_written_is_named(kas: Kas) -> None:
    paths.state_dir().mkdir(parents=True)
    paths.logs_dir().write_text("in the way")
    done = kas("daemon", "start")
    assert (done.code, "log" in done.err, "unexpected" in done.err) == (1, True, False)


def test_in_the_foreground_an_interrupt_stops_it(home: Path) -> None:
    command = [*KAS, "daemon", "start", "--foreground"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            assert "daemon ready" in process.stderr.readline()
            process.send_signal(2)
            assert process.wait(WITHIN_S) == 0
        finally:
            end(process.pid)
    assert not paths.socket().exists()


def test_without_a_daemon_the_code_is_three_and_the_hint_starts_one(kas: Kas) -> None:
    done = kas("daemon", "status")
    assert (done.code, done.out) == (3, "")
    assert "hint: kas daemon start\n" in done.err


def test_repositories_are_rows_of_the_store_and_need_no_daemon(
    kas: Kas, repo: Path, make_repo: Callable[[str], Path]
) -> None:
    assert "no repository is registered" in kas("daemon", "repos").out
    assert kas("daemon", "add", str(repo)).err == f"project 'repo': {repo}\n"
    other = make_repo("other")
    added = kas("daemon", "add", str(other / "."), "--project", "shop", "--json")
    assert added.json == {"project": "shop", "path": str(other)}
    assert kas("daemon", "repos", "--json").json == {
        "repos": [{"project": "repo", "path": str(repo)}, {"project": "shop", "path": str(other)}]
    }
    assert kas("daemon", "remove", "shop").err == "project 'shop' removed\n"
    assert [one["project"] for one in kas("daemon", "repos", "--json").json["repos"]] == ["repo"]


def test_what_cannot_be_registered_is_refused_with_a_way_out(kas: Kas, tmp_path: Path) -> None:
    outside = kas("daemon", "add", str(tmp_path))
    assert (outside.code, "is in no git repository" in outside.err) == (1, True)
    nowhere = kas("daemon", "add", str(tmp_path / "nowhere"))
    assert (nowhere.code, "There is no directory" in nowhere.err) == (1, True)
    assert "git init" not in nowhere.err
    unknown = kas("daemon", "remove", "nobody", "--db", str(tmp_path / "no.db"))
    assert (unknown.code, "There is no store" in unknown.err) == (1, True)


def test_what_is_not_there_to_remove_or_stop_is_told(kas: Kas, demo_project: str) -> None:
    unknown = kas("daemon", "remove", "nobody")
    assert (unknown.code, unknown.err.splitlines()[-1]) == (1, "hint: kas daemon repos")
    stopped = kas("daemon", "stop")
    assert (stopped.code, "nothing to stop" in stopped.err) == (3, True)
    assert "hint: kas daemon start" not in stopped.err


def test_a_relative_home_means_the_same_to_the_daemon(
    kas_daemon: Kas, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KASMOS_HOME", "here")
    assert kas_daemon("daemon", "start").code == 0
    assert kas_daemon("daemon", "status", "--json").json["socket"] == str(
        tmp_path / "here" / "run" / "daemon.sock"
    )
    assert kas_daemon("daemon", "stop").code == 0


def test_a_stopped_daemon_is_named_when_it_does_not_stop_in_time(
    kas_daemon: Kas, monkeypatch: pytest.MonkeyPatch, kas: Kas
) -> None:
    from kasmos_plugin.cli import daemon as module

    pid = json.loads(kas_daemon("daemon", "start", "--json").out)["pid"]
    monkeypatch.setattr(module, "STOP_WITHIN_S", 0.1)
    os.kill(pid, 19)
    try:
        done = kas("daemon", "stop")
        assert (done.code, f"hint: kill -9 {pid}" in done.err) == (1, True)
    finally:
        os.kill(pid, 18)
    eventually(lambda: process_is_gone(pid))


def test_every_word_of_the_help_fits_a_terminal() -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "kasmos_plugin", "daemon", "--help"],
        env=os.environ | {"COLUMNS": "80"},
        capture_output=True,
        text=True,
        timeout=20,
    )
    assert max(map(len, done.stdout.splitlines())) <= 100
