"""daemon.control_api: every route of a real daemon, and streams that keep nobody waiting."""

import json
import os
import select
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kasmos_plugin.contract.control import AgentsReply, DaemonStatus, Ping, Repositories
from kasmos_plugin.contract.live_status import LiveStatus
from kasmos_plugin.contract.task import LifecycleEvent
from kasmos_plugin.daemon import client, wire
from kasmos_plugin.store import Store, open_store
from tests.daemon.harness import WITHIN_S, RunningDaemon, eventually

HELLO = {
    "id": "a",
    "project": "repo",
    "task": "t",
    "shim": {"pid": 1, "start": "1", "boot_id": "b"},
    "process": {"pid": 2, "start": "1", "boot_id": "b"},
    "started_at": "2026-03-04T05:06:07Z",
}


@pytest.fixture
def shared(running: RunningDaemon, repo: Path) -> Any:
    """The daemon's store as another process sees it, with one project."""
    store = open_store(running.settings.database)
    store.projects.add(repo)
    yield store
    store.close()


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A daemon with one project, for questions that change nothing."""
    directory = tmp_path_factory.mktemp("asked")
    daemon = RunningDaemon(directory).start()
    subprocess.run(["git", "init", "-q", str(directory / "repo")], check=True, timeout=WITHIN_S)
    assert daemon.ask("POST", "/v1/repos", {"path": str(directory / "repo")})[0] == 201
    yield daemon
    daemon.close()


class Link:
    """A shim's connection, spoken by hand."""

    def __init__(self, daemon: RunningDaemon) -> None:
        self.connection = daemon.connect()
        self.connection.sendall(
            b"POST /v1/agents/link HTTP/1.1\r\nHost: kasmos\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        self._file = self.connection.makefile("rb")

    def say(self, **line: object) -> None:
        data = json.dumps(line).encode() + b"\n"
        self.connection.sendall(b"%x\r\n%s\r\n" % (len(data), data))

    def head(self) -> bytes:
        """Return the first line of the answer."""
        return self._file.readline()

    def word(self) -> str:
        """Return the next word, empty at the end."""
        for line in self._file:
            if line.strip() in (b"ok", b"pause", b"resume", b"stop", b"bye"):
                return line.strip().decode()
        return ""

    def close(self) -> None:
        self._file.close()
        self.connection.close()


@pytest.mark.parametrize(
    ("target", "model"),
    [
        ("/v1/ping", Ping),
        ("/v1/status", DaemonStatus),
        ("/v1/repos", Repositories),
        ("/v1/repos/repo/agents", AgentsReply),
        ("/v1/repos/nobody/agents", AgentsReply),
        ("/v1/repos/-/agents", AgentsReply),
        ("/v1/repos/repo/live-status", LiveStatus),
        ("/v1/repos/-/live-status", LiveStatus),
    ],
)
def test_every_question_is_answered_in_its_form(
    asked: RunningDaemon, target: str, model: Any
) -> None:
    found = asked.get(target)
    assert json.loads(model.model_validate(found).model_dump_json()) == found


@pytest.mark.parametrize(
    ("method", "target", "body", "status", "code"),
    [
        ("GET", "/", None, 404, "not_found"),
        ("GET", "/v2/ping", None, 404, "not_found"),
        ("POST", "/v1/ping", None, 405, "method_not_allowed"),
        ("GET", "/v1/agents/link", None, 405, "method_not_allowed"),
        ("GET", "/v1/agents/nobody", None, 404, "not_found"),
        ("GET", "/v1/agents/nobody/stop", None, 405, "method_not_allowed"),
        ("POST", "/v1/agents/nobody/stop", None, 404, "not_found"),
        ("POST", "/v1/agents/nobody/fly", None, 404, "not_found"),
        ("POST", "/v1/agents/nobody/report", {"stage": "flying"}, 400, "bad_argument"),
        ("POST", "/v1/agents/nobody/report", {"stage": "ready"}, 404, "not_found"),
        ("POST", "/v1/agents/link", {"id": "a"}, 400, "bad_argument"),
        ("POST", "/v1/repos", {"path": "/nowhere"}, 404, "not_found"),
        ("POST", "/v1/repos", {"project": "x" * 70_000}, 413, "too_large"),
        ("DELETE", "/v1/repos/nobody", None, 404, "unknown_project"),
        ("GET", "/v1/repos/nobody/live-status", None, 404, "unknown_project"),
        ("GET", "/v1/repos/repo/live-status?cap=many", None, 400, "bad_argument"),
        ("GET", "/v1/repos/repo/live-status?include=all", None, 400, "bad_argument"),
        ("GET", "/v1/repos/repo/live-status?database=/x", None, 409, "daemon_other_store"),
    ],
)
def test_every_refusal_says_why(
    asked: RunningDaemon,
    method: str,
    target: str,
    body: object,
    status: int,
    code: str,
) -> None:
    found = asked.ask(method, target, body)
    assert (found[0], found[1]["error"]["code"]) == (status, code)


def test_repositories_come_and_go_by_the_api_and_by_the_store(
    running: RunningDaemon, shared: Store, repo: Path
) -> None:
    assert running.get("/v1/status")["repo_count"] == 1
    shared.projects.remove("repo")
    assert running.get("/v1/repos/-/agents")["projects"] == []
    added = running.ask("POST", "/v1/repos", {"path": str(repo), "project": "shop"})
    assert added == (201, {"project": "shop", "path": str(repo)})
    assert running.get("/v1/repos/shop/agents")["projects"] == ["shop"]
    assert running.ask("DELETE", "/v1/repos/shop") == (204, None)
    assert running.get("/v1/repos") == {"repos": []}


def test_the_snapshot_is_the_one_that_the_command_line_prints(
    running: RunningDaemon, shared: Store
) -> None:
    shared.tasks.create("repo", "t", plan_text="## Wave 1: A\n### Task 1: B\n")
    link = Link(running)
    link.say(**HELLO)
    assert link.word() == "ok"
    options = ["--project", "repo", "--include", "tasks,events", "--focus", "t", "--cap", "5"]
    done = subprocess.run(
        [sys.executable, "-P", "-m", "kasmos_plugin", "monitor", "status", "--json", *options],
        env=os.environ | {"KASMOS_SOCKET": str(running.socket_path)},
        capture_output=True,
        timeout=20,
        check=True,
    )
    target = "/v1/repos/repo/live-status?cap=5&include=tasks,events&focus=t"
    here = client.request(running.socket_path, "GET", target).body
    printed, answered = json.loads(done.stdout), json.loads(here)
    for snapshot in (printed, answered):
        snapshot.pop("generated_at")
        snapshot.pop("uptime", None)
    assert json.dumps(printed) == json.dumps(answered)
    assert [agent["id"] for agent in answered["active_agents"]] == ["a"]
    link.close()


def test_a_project_is_found_by_the_callers_directory(
    running: RunningDaemon, shared: Store, repo: Path
) -> None:
    other = repo.parent / "other"
    subprocess.run(["git", "init", "-q", str(other)], check=True, timeout=WITHIN_S)
    shared.projects.add(other)
    status, found = running.ask("GET", "/v1/repos/-/live-status")
    assert (status, found["error"]["code"]) == (400, "project_required")
    cwd = client.segment(str(repo))
    assert running.get(f"/v1/repos/-/live-status?cwd={cwd}")["project"] == "repo"


def test_a_shim_says_hello_beats_and_leaves(running: RunningDaemon, shared: Store) -> None:
    link = Link(running)
    link.say(**HELLO)
    assert link.word() == "ok"
    link.say(output_age_ms=10)
    found = eventually(lambda: (running.agent("a") or {}).get("stage") == "running")
    assert found
    link.say(end="exited", exit_code=0)
    assert link.word() == "bye"
    assert running.agent("a") is None
    link.close()
    told = ["agent_exited", "agent_started"]
    eventually(lambda: [event.kind for event in shared.events.latest("repo", 2)] == told)


def test_a_hello_with_numbers_that_no_store_can_hold_is_refused(running: RunningDaemon) -> None:
    link = Link(running)
    link.say(**{**HELLO, "wave": 10**20})
    assert link.head().startswith(b"HTTP/1.1 400 ")
    link.close()
    assert running.agent("a") is None


def test_words_go_down_and_are_answered_once_the_shim_confirms(running: RunningDaemon) -> None:
    link = Link(running)
    link.say(**HELLO)
    assert link.word() == "ok"
    with running.connect() as asking:
        asking.sendall(b"POST /v1/agents/a/pause HTTP/1.1\r\nHost: kasmos\r\n\r\n")
        assert link.word() == "pause"
        link.say(is_paused=True)
        answer = wire.Answer()
        while not answer.feed(asking.recv(65536)):
            pass
    assert json.loads(answer.body)["is_paused"]
    link.close()


def test_a_line_that_is_no_beat_is_passed_over(running: RunningDaemon) -> None:
    link = Link(running)
    link.say(**HELLO)
    assert link.word() == "ok"
    link.say(output_age_ms="soon")
    link.say(is_paused=True)
    eventually(lambda: (running.agent("a") or {}).get("is_paused"))
    link.close()


def test_a_report_is_stored_before_it_is_answered(running: RunningDaemon, shared: Store) -> None:
    link = Link(running)
    link.say(**HELLO)
    assert link.word() == "ok"
    status, view = running.ask("POST", "/v1/agents/a/report", {"stage": "ready"})
    running.kill()
    assert (status, view["is_ready"]) == (200, True)
    assert shared.agents.get("a").stage == "ready"
    link.close()


def test_an_agent_of_another_project_is_not_found(running: RunningDaemon) -> None:
    link = Link(running)
    link.say(**HELLO)
    assert link.word() == "ok"
    for method, verb in (("GET", ""), ("POST", "/stop"), ("POST", "/dismiss")):
        status, told = running.ask(method, f"/v1/agents/a{verb}?project=other")
        assert (status, told["error"]["code"]) == (404, "not_found")
    status, view = running.ask("GET", "/v1/agents/a?project=repo")
    assert (status, view["id"]) == (200, "a")
    link.close()


def test_a_store_that_another_process_keeps_locked_delays_no_answer(
    running: RunningDaemon, shared: Store
) -> None:
    link = Link(running)
    with shared.writing():
        link.say(**HELLO)
        assert link.word() == "ok"
        assert running.get("/v1/repos/repo/agents")["agents"][0]["id"] == "a"
        assert running.get("/v1/repos/repo/live-status")["active_agents"][0]["id"] == "a"
    eventually(lambda: shared.events.latest("repo", 1)[0].kind == "agent_started")
    link.close()


def test_events_of_every_process_reach_the_stream_in_order(
    running: RunningDaemon, shared: Store
) -> None:
    with running.events() as events:
        shared.tasks.create("repo", "one")
        link = Link(running)
        link.say(**HELLO)
        found = [events.event()["kind"], events.event()["kind"]]
        link.close()
    assert found == ["task_created", "agent_started"]


def test_a_stream_shows_what_was_asked_for(running: RunningDaemon, shared: Store) -> None:
    with running.events("?project=repo&task=two&kind=task_updated") as events:
        for name in ("one", "two"):
            shared.tasks.create("repo", name)
            shared.tasks.update("repo", name, topic="x")
        found = events.event()
    assert (found["task"], found["kind"]) == ("two", "task_updated")


def test_a_reader_goes_on_where_it_was(running: RunningDaemon, shared: Store) -> None:
    shared.tasks.create("repo", "one")
    last = shared.events.last_id()
    shared.tasks.create("repo", "two")
    shared.tasks.create("repo", "three")
    with running.events(last_id=last) as events:
        assert events.until(b"id: ") == f"id: {last + 1}\n".encode()
        assert [events.event()["task"], events.event()["task"]] == ["two", "three"]


def test_a_reader_that_is_far_behind_is_told_so_and_closed(
    running: RunningDaemon, shared: Store
) -> None:
    first = shared.events.last_id()
    with shared.writing():
        for number in range(257):
            shared.events.note("repo", "task_updated", f"event {number}")
    with running.events(last_id=first) as events:
        marker = events.until(b"event: ")
        data = events.until(b"data: ")
        rest = events.rest()
    assert (marker, json.loads(data[6:])) == (b"event: behind\n", {"last_id": first + 257})
    assert rest.endswith(b"0\r\n\r\n")
    with running.events(last_id=first + 1) as events:
        assert events.event()["message"] == "event 1"


def test_a_last_event_id_that_is_no_number_is_refused(running: RunningDaemon) -> None:
    with running.connect() as connection:
        connection.sendall(
            b"GET /v1/events HTTP/1.1\r\nHost: kasmos\r\nLast-Event-ID: soon\r\n\r\n"
        )
        assert connection.recv(65536).startswith(b"HTTP/1.1 400 ")


def test_a_reader_that_takes_nothing_is_cut_and_delays_nobody(home: Path, repo: Path) -> None:
    daemon = RunningDaemon(home, takes_within_s=0.3).start()
    store = open_store(daemon.settings.database)
    store.projects.add(repo)
    try:
        with daemon.connect() as lazy, daemon.events() as eager:
            lazy.sendall(b"GET /v1/events HTTP/1.1\r\nHost: kasmos\r\n\r\n")
            for _ in range(8):
                with store.writing():
                    for _ in range(200):
                        store.events.note("repo", "task_updated", "x" * 1_000)
                eager.event()
                assert daemon.get("/v1/ping")
            eventually(lambda: _is_cut(lazy))
    finally:
        store.close()
        daemon.close()


def _is_cut(connection: Any) -> bool:
    """Return whether the other end is gone, without reading what it sent."""
    poll = select.poll()
    poll.register(connection, 0)
    return any(event & select.POLLHUP for _, event in poll.poll(0))


def test_a_quiet_stream_says_that_it_lives(home: Path) -> None:
    daemon = RunningDaemon(home, quiet_s=0.05).start()
    try:
        with daemon.events() as events:
            assert events.until(b": quiet") == b": quiet\n"
    finally:
        daemon.close()


def test_an_idle_daemon_writes_nothing(running: RunningDaemon, shared: Store) -> None:
    link = Link(running)
    link.say(**HELLO)
    assert link.word() == "ok"
    eventually(lambda: shared.events.latest("repo", 1)[0].kind == "agent_started")
    before = shared.data_version()
    for age_ms in range(0, 1_000, 10):
        link.say(output_age_ms=age_ms)
        running.get("/v1/repos/repo/agents")
    assert shared.data_version() == before
    link.close()


def test_a_hung_shim_delays_nobody(running: RunningDaemon) -> None:
    link = Link(running)
    link.connection.sendall(b"5\r\nhello")
    assert running.get("/v1/ping")["pid"] == running.pid
    link.close()


def test_a_stopped_daemon_answers_again_when_it_goes_on(running: RunningDaemon) -> None:
    link = Link(running)
    link.say(**HELLO)
    assert link.word() == "ok"
    os.kill(running.pid, signal.SIGSTOP)
    for age_ms in (0, 60_000):
        link.say(output_age_ms=age_ms)
    os.kill(running.pid, signal.SIGCONT)
    eventually(lambda: (running.agent("a") or {}).get("last_activity"))
    assert (running.agent("a") or {}).get("stage") is None
    link.close()


def test_a_directory_that_is_deleted_under_its_agent_is_a_reason(
    running: RunningDaemon, tmp_path: Path
) -> None:
    """F3."""
    worktree = tmp_path / "wt"
    worktree.mkdir()
    link = Link(running)
    link.say(**HELLO, worktree=str(worktree))
    assert link.word() == "ok"
    worktree.rmdir()
    eventually(lambda: (running.agent("a") or {}).get("reason") == "worktree missing")
    worktree.mkdir()
    eventually(lambda: "reason" not in (running.agent("a") or {}))
    link.close()


def test_a_failed_agent_leaves_when_its_task_is_closed_elsewhere(
    running: RunningDaemon, shared: Store
) -> None:
    shared.tasks.create("repo", "t")
    link = Link(running)
    link.say(**HELLO)
    assert link.word() == "ok"
    link.say(end="exited", exit_code=3)
    assert link.word() == "bye"
    assert (running.agent("a") or {})["reason"] == "exited with code 3"
    shared.tasks.transition("repo", "t", LifecycleEvent.CANCEL)
    eventually(lambda: running.agent("a") is None)
    eventually(lambda: shared.agents.get("a").is_dismissed)
    link.close()


@pytest.mark.parametrize("view", ["live-status", "agents"])
def test_a_store_that_was_removed_is_no_all_clear(
    running: RunningDaemon, shared: Store, view: str
) -> None:
    """B3: what the daemon still holds of a removed file is nobody's truth."""
    assert running.ask("GET", f"/v1/repos/repo/{view}")[0] == 200
    shared.path.rename(shared.path.with_name("elsewhere"))
    status, found = running.ask("GET", f"/v1/repos/repo/{view}")
    assert status == 503
    assert "removed or replaced" in found["error"]["message"]
