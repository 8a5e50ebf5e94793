"""coordination.reads: bounded, cleaned answers, and nothing that was not seen."""

import json
import os
from pathlib import Path

import pytest

from kasmos_plugin import paths
from kasmos_plugin.contract.agent import AgentRecord
from kasmos_plugin.coordination import reads
from kasmos_plugin.errors import Conflict, NotFound, ProjectRequired, Unreachable
from kasmos_plugin.store import Store
from tests.conftest import Clock
from tests.coordination.conftest import Call

PLAN = "**Goal:** sign in\n\n## Wave 1: base\n### Task 1: model\n### Task 2: form\n"


def test_tasks_come_in_pages_and_by_status(call: Call, store: Store, project: str) -> None:
    for number in range(5):
        store.tasks.create(project, f"task-{number}", plan_text=PLAN)
    store.tasks.block(project, "task-3", "which\x1b[31m API?\n")
    page = call("task_list", limit=2, offset=2).data
    assert page == {
        "project": "repo",
        "total": 5,
        "tasks": [
            {
                "project": "repo",
                "task": "task-2",
                "status": "ready",
                "subtasks_done": 0,
                "subtasks_total": 2,
                "phase": "planned",
                "total_waves": 1,
            },
            {
                "project": "repo",
                "task": "task-3",
                "status": "ready",
                "subtasks_done": 0,
                "subtasks_total": 2,
                "phase": "planned",
                "total_waves": 1,
                "blocked": "which API?",
            },
        ],
    }
    assert call("task_list", statuses=["done"]).data["total"] == 0


def test_a_plan_comes_only_when_it_is_asked_for(call: Call, store: Store, project: str) -> None:
    store.tasks.create(project, "auth", plan_text=PLAN)
    shown = call("task_show", task="auth").data
    assert "plan" not in shown
    assert shown["legal_events"] == ["plan_start", "implement_start", "cancel"]
    assert shown["goal"] == "sign in"
    assert call("task_show", task="auth.md", plan=True).data["plan"] == PLAN


def test_a_project_that_is_not_named_is_the_only_one(
    call: Call, store: Store, project: str
) -> None:
    assert call("task_list").data["project"] == "repo"
    with store.writing():
        store._database.write("INSERT INTO projects VALUES ('other', NULL, 0)")
    with pytest.raises(ProjectRequired):
        call("task_list")
    assert [one["project"] for one in rows(call("project_list").data["projects"])] == [
        "other",
        "repo",
    ]


def test_events_can_be_chosen(call: Call, store: Store, project: str, clock: Clock) -> None:
    store.tasks.create(project, "auth", plan_text=PLAN)
    then = clock.at
    clock.advance(60)
    store.tasks.block(project, "auth", "why\x07?")
    (event,) = rows(call("event_list", since=then.isoformat(), task="auth").data["events"])
    assert (event["kind"], event["message"], event["level"]) == (
        "task_blocked",
        "blocked: why?",
        "warn",
    )
    assert (
        rows(call("event_list", kind="task_created", limit=1).data["events"])[0]["task"] == "auth"
    )


def test_without_a_daemon_agents_are_unknown(call: Call, project: str, home: Path) -> None:
    with pytest.raises(Unreachable) as caught:
        call("agent_list")
    assert caught.value.code == "daemon_unreachable"
    assert str(home) not in caught.value.message
    told = call("daemon_status").data
    assert (told["is_running"], told["next"]) == (False, "kas daemon start")
    assert str(home) not in json.dumps(told)


@pytest.fixture
def logged(store: Store, project: str, clock: Clock) -> Path:
    """The log of agent `a1`, still empty."""
    log = paths.logs_dir() / "agent-a1.log"
    log.parent.mkdir(parents=True)
    log.touch()
    store.agents.save(AgentRecord(id="a1", project=project, log=str(log), started_at=clock.at))
    return log


def test_output_is_the_last_lines_cleaned(call: Call, logged: Path) -> None:
    logged.write_bytes(b"one\r\r\n\x1b[31mtwo\x1b[0m\r\n\xff\n\x1b]0;title\x07four\n")
    assert call("agent_output", agent="a1").data == {
        "agent": "a1",
        "lines": ["one", "two", "\ufffd", "four"],
        "is_cut": False,
    }
    assert call("agent_output", agent="a1", lines=1).data["lines"] == ["four"]


def test_output_is_bounded(call: Call, logged: Path) -> None:
    logged.write_bytes(
        b"x" * 3_000_000 + b"\n" + b"".join(b"%d " % n * 300 + b"\n" for n in range(999))
    )
    found = call("agent_output", agent="a1", lines=200)
    lines = found.data["lines"]
    assert isinstance(lines, list)
    assert str(lines[-1]).startswith("998 998")
    assert sum(len(str(line)) + 1 for line in lines) <= reads.OUTPUT_LIMIT
    assert found.data["is_cut"] is True


def test_output_goes_on_over_a_rotation(call: Call, logged: Path) -> None:
    logged.with_name(f"{logged.name}.1").write_bytes(b"old\n")
    logged.write_bytes(b"new\n")
    assert call("agent_output", agent="a1").data["lines"] == ["old", "new"]


def test_only_a_log_is_read(
    call: Call, store: Store, project: str, clock: Clock, logged: Path, tmp_path: Path
) -> None:
    """A record may name any file: a program tells it."""
    secret = tmp_path / "secret"
    secret.write_text("secret")
    store.agents.save(AgentRecord(id="a2", project=project, log=str(secret), started_at=clock.at))
    logged.unlink()
    logged.symlink_to(secret)
    fifo = tmp_path / "agent-a3.log"
    os.mkfifo(fifo)
    store.agents.save(AgentRecord(id="a3", project=project, log=str(fifo), started_at=clock.at))
    for agent in ("a1", "a2", "a3"):
        with pytest.raises(NotFound, match="is gone"):
            call("agent_output", agent=agent)


def test_an_agent_in_a_terminal_keeps_no_output(
    call: Call, store: Store, project: str, clock: Clock
) -> None:
    store.agents.save(AgentRecord(id="a1", project=project, started_at=clock.at))
    with pytest.raises(Conflict, match="runs in a terminal"):
        call("agent_output", agent="a1")
    with pytest.raises(NotFound, match="has no agent 'a9'"):
        call("agent_output", agent="a9")


def rows(value: object) -> list[dict[str, object]]:
    assert isinstance(value, list)
    return value
