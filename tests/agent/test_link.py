"""agent.link with a real daemon: what is seen of an agent, and what survives whom."""

import os
import signal
import socket
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kasmos_plugin.store import Store, open_store
from tests.agent.conftest import Piped, Shown
from tests.agent.harness import Screen, shim_command
from tests.daemon.harness import WITHIN_S, RunningDaemon, end, eventually, process_is_gone

QUIET = ("sh", "-c", "read line; exit 0")


@pytest.fixture
def store(running: RunningDaemon, repo: Path) -> Iterator[Store]:
    """The daemon's store as another process sees it."""
    store = open_store(running.settings.database)
    store.projects.add(repo)
    yield store
    store.close()


def listed(daemon: RunningDaemon, agent_id: str = "a") -> dict[str, Any]:
    return eventually(lambda: daemon.agent(agent_id) or {})


def until(daemon: RunningDaemon, agent_id: str = "a", **wanted: object) -> dict[str, Any]:
    """Return what the daemon says of the agent once it says what is wanted."""

    def look() -> dict[str, Any]:
        found = daemon.agent(agent_id) or {}
        return found if all(found.get(key) == value for key, value in wanted.items()) else {}

    return eventually(look)


def kinds(store: Store) -> list[str]:
    return [event.kind for event in reversed(store.events.latest("repo", 20))][1:]


def finish(process: "subprocess.Popen[bytes]") -> int:
    assert process.stdin is not None
    process.stdin.close()
    return process.wait(WITHIN_S)


def test_an_agent_is_loading_then_running_then_gone(
    running: RunningDaemon, store: Store, piped: Piped
) -> None:
    process = piped("sh", "-c", "read one; echo out; read two; exit 0")
    assert listed(running)["stage"] == "loading"
    assert process.stdin is not None
    process.stdin.write(b"\n")
    process.stdin.flush()
    found = until(running, stage="running")
    assert (found["evidence"], found["is_active"]) == ("output", True)
    assert finish(process) == 0
    assert running.agent("a") is None
    eventually(lambda: kinds(store) == ["agent_started", "agent_exited"])


@pytest.mark.parametrize(
    ("command", "reason"),
    [("exit 3", "exited with code 3"), ("kill -9 $$", "killed by SIGKILL")],
)
def test_a_bad_end_is_listed_with_its_reason(
    running: RunningDaemon, piped: Piped, command: str, reason: str
) -> None:
    piped("sh", "-c", command).wait(WITHIN_S)
    assert running.get("/v1/agents/a")["reason"] == reason


def test_a_killed_child_is_told_as_killed(running: RunningDaemon, piped: Piped) -> None:
    process = piped(*QUIET)
    os.kill(listed(running)["pid"], signal.SIGKILL)
    assert process.wait(WITHIN_S) == 137
    assert running.get("/v1/agents/a")["reason"] == "killed by SIGKILL"


def test_a_killed_shim_with_its_child_is_lost(
    running: RunningDaemon, store: Store, piped: Piped
) -> None:
    process = piped(*QUIET)
    pid = listed(running)["pid"]
    process.kill()
    eventually(lambda: process_is_gone(pid))
    until(running, reason="lost")
    assert kinds(store) == ["agent_started", "agent_lost"]


def test_a_child_that_outlives_its_killed_shim_is_not_lost(
    running: RunningDaemon, store: Store, piped: Piped
) -> None:
    process = piped("sh", "-c", "trap '' HUP; echo up; sleep 30")
    assert process.stdout is not None
    assert process.stdout.readline() == b"up\n"
    pid = listed(running)["pid"]
    try:
        process.kill()
        process.wait(WITHIN_S)
        with running.events() as events:
            store.tasks.create("repo", "later")
            events.event("task_created")
        found = until(running, is_active=True)
        assert (found["pid"], found.get("reason", "")) == (pid, "")
    finally:
        end(pid)
    until(running, reason="lost")


def test_an_agent_outlives_a_killed_daemon_and_registers_again(
    running: RunningDaemon, store: Store, piped: Piped
) -> None:
    process = piped(*QUIET)
    listed(running)
    running.ask("POST", "/v1/agents/a/report", {"stage": "ready"})
    running.kill()
    running.start()
    found = until(running, is_ready=True, is_active=True)
    assert found["evidence"] == "report"
    assert finish(process) == 0
    eventually(lambda: kinds(store) == ["agent_started", "agent_ready", "agent_exited"])


def test_an_agent_that_ends_while_no_daemon_listens_is_not_lost(
    running: RunningDaemon, store: Store, piped: Piped
) -> None:
    process = piped(*QUIET)
    eventually(lambda: kinds(store) == ["agent_started"])
    running.kill()
    assert finish(process) == 0
    word = running.settings.ends_dir / "a"
    assert oct(word.stat().st_mode & 0o777) == "0o600"
    assert oct(word.parent.stat().st_mode & 0o777) == "0o700"
    running.start()
    assert running.agent("a") is None
    eventually(lambda: kinds(store) == ["agent_started", "agent_exited"])
    assert not word.exists()


def test_an_agent_whose_end_nobody_saw_is_unknown_and_then_lost(
    running: RunningDaemon, store: Store, piped: Piped
) -> None:
    process = piped(*QUIET)
    pid = listed(running)["pid"]
    eventually(lambda: kinds(store) == ["agent_started"])
    running.kill()
    process.kill()
    process.wait(WITHIN_S)
    eventually(lambda: process_is_gone(pid))
    running.start()
    assert listed(running).get("health") == "unknown"
    until(running, reason="lost")


def test_an_agent_that_began_without_a_daemon_is_seen_when_one_comes(
    home: Path, piped: Piped
) -> None:
    piped(*QUIET)
    daemon = RunningDaemon(home).start()
    try:
        assert listed(daemon)["is_active"]
    finally:
        daemon.close()


def test_a_hung_daemon_keeps_no_agent_waiting(running: RunningDaemon, shown: Shown) -> None:
    screen = shown("sh", "-c", "while read line; do echo heard $line; done")
    listed(running)
    os.kill(running.pid, signal.SIGSTOP)
    try:
        for number in range(50):
            screen.type(b"%d\r" % number)
            screen.until(b"heard %d\r\n" % number)
        screen.type(b"\x04")
        assert screen.wait() == 0
    finally:
        os.kill(running.pid, signal.SIGCONT)
    eventually(lambda: running.agent("a") is None)


def test_something_else_at_the_socket_is_not_spoken_to(socket_path: Path, piped: Piped) -> None:
    """C8."""
    socket_path.parent.mkdir(mode=0o700, parents=True)
    socket_path.write_text("mine")
    process = piped("sh", "-c", "exit 0")
    _, err = process.communicate(timeout=WITHIN_S)
    assert b"a file that is no socket lies there" in err
    assert socket_path.read_text() == "mine"


def test_a_program_that_is_no_daemon_does_not_disturb_the_agent(
    socket_path: Path, piped: Piped
) -> None:
    socket_path.parent.mkdir(mode=0o700, parents=True)
    with socket.socket(socket.AF_UNIX) as listener:
        before = os.umask(0o177)
        listener.bind(str(socket_path))
        os.umask(before)
        listener.listen()
        process = piped("sh", "-c", "read line; exit 5")
        listener.settimeout(WITHIN_S)
        connection, _ = listener.accept()
        with connection:
            connection.sendall(
                b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n" + b"x" * 50_000
            )
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(WITHIN_S) == 5


def test_pause_stops_every_group_of_the_session_and_resume_continues_them(
    running: RunningDaemon, store: Store, piped: Piped
) -> None:
    process = piped("sh", "-c", "set -m; sleep 30 & echo $!; read line")
    assert process.stdout is not None
    background = int(process.stdout.readline())
    leader = listed(running)["pid"]
    assert os.getpgid(background) != os.getpgid(leader)
    status, view = running.ask("POST", "/v1/agents/a/pause")
    assert (status, view["is_paused"], view.get("is_active", False)) == (200, True, False)
    eventually(lambda: (state(leader), state(background)) == ("T", "T"))
    status, view = running.ask("POST", "/v1/agents/a/resume")
    assert (status, view.get("is_paused", False), view["is_active"]) == (200, False, True)
    eventually(lambda: "T" not in (state(leader), state(background)))
    end(background)
    assert kinds(store) == ["agent_started", "agent_paused", "agent_resumed"]


def test_a_child_stopped_by_hand_is_paused(running: RunningDaemon, piped: Piped) -> None:
    piped(*QUIET)
    pid = listed(running)["pid"]
    os.kill(pid, signal.SIGSTOP)
    until(running, is_paused=True)
    os.kill(pid, signal.SIGCONT)
    until(running, is_active=True)


def test_stop_ends_a_paused_agent(running: RunningDaemon, piped: Piped) -> None:
    process = piped(*QUIET)
    listed(running)
    running.ask("POST", "/v1/agents/a/pause")
    assert running.ask("POST", "/v1/agents/a/stop")[0] == 200
    assert process.wait(WITHIN_S) == 143
    assert running.get("/v1/agents/a")["reason"] == "killed by SIGTERM"


def test_stop_kills_what_does_not_listen_after_five_seconds(
    running: RunningDaemon, piped: Piped
) -> None:
    process = piped("sh", "-c", "trap '' TERM; echo up; while :; do sleep 1; done")
    assert process.stdout is not None
    process.stdout.readline()
    listed(running)
    running.ask("POST", "/v1/agents/a/stop")
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(4)
    assert process.wait(WITHIN_S) == 137


def test_a_detached_agent_outlives_its_terminal(
    running: RunningDaemon, socket_path: Path, tmp_path: Path
) -> None:
    log = tmp_path / "a.log"
    script = "tty >/dev/null && stty size; trap '' HUP; echo up; sleep 30"
    screen = Screen(shim_command(socket_path, "sh", "-c", script, log=str(log)))
    assert screen.until(b"a\r\n") == b"a\r\n"
    assert screen.wait() == 0
    screen.hang_up()
    found = until(running, is_active=True)
    try:
        eventually(lambda: b"up" in log.read_bytes())
        assert log.read_bytes().startswith(b"24 80")
        assert stat.S_IMODE(log.stat().st_mode) == 0o600
        assert running.ask("POST", "/v1/agents/a/stop")[0] == 200
        until(running, reason="killed by SIGTERM")
    finally:
        end(found["pid"])


def test_a_detached_command_that_cannot_run_is_told_to_the_caller(
    piped: Piped, tmp_path: Path
) -> None:
    process = piped("/nowhere/at-all", log=str(tmp_path / "a.log"))
    out, err = process.communicate(timeout=WITHIN_S)
    assert (out, process.returncode) == (b"", 127)
    assert b"'/nowhere/at-all' cannot be run: No such file or directory" in err


def state(pid: int) -> str:
    text = Path(f"/proc/{pid}/stat").read_text()
    return text[text.rindex(")") + 2]
