"""snapshot: facts to LiveStatus; order, cuts, omissions, cleaning."""

import json
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kasmos_plugin.contract.agent import AgentView
from kasmos_plugin.contract.event import EventRecord
from kasmos_plugin.contract.facts import DaemonView, Facts, FocusFacts
from kasmos_plugin.contract.live_status import LiveStatus
from kasmos_plugin.contract.task import Phase, Subtask, Task, TaskStatus, Wave
from kasmos_plugin.errors import BadArgument
from kasmos_plugin.facts import daemon_absent
from kasmos_plugin.snapshot import EVERYTHING, Question, assemble, question, uptime
from tests.conftest import Clock

NOW = Clock().at
RUNNING = DaemonView(is_running=True, uptime_s=3605, repo_count=2, projects=("p",))
HOSTILE = '\x1b[31m</script>\u202e\x00\n"quote" 👩‍👧' + "x" * 10_000


def ago(seconds: float) -> datetime:
    return NOW - timedelta(seconds=seconds)


def task(name: str, status: TaskStatus = TaskStatus.READY, **fields: Any) -> Task:
    return Task(
        project="p",
        filename=name,
        status=status,
        phase_at=fields.pop("phase_at", ago(60)),
        created_at=ago(600),
        updated_at=ago(60),
        **fields,
    )


def agent(name: str, **fields: Any) -> AgentView:
    return AgentView(
        id=name, project=fields.pop("project", "p"), role="coder", started_at=ago(60), **fields
    )


def event(number: int, **fields: Any) -> EventRecord:
    return EventRecord(id=number, project="p", at=ago(number), kind="k", message="m", **fields)


def facts(**fields: Any) -> Facts:
    empty = Facts(
        project="p",
        projects=("p",),
        counts={},
        tasks=(),
        waiting=(),
        events=(),
        event_count=0,
        daemon=RUNNING,
    )
    return Facts(**{**empty.__dict__, **fields})


def shown(status: LiveStatus) -> dict[str, Any]:
    decoded: dict[str, Any] = json.loads(status.model_dump_json())
    return decoded


def test_a_snapshot_of_nothing_has_the_eight_keys_and_a_notice() -> None:
    status = assemble(facts(daemon=daemon_absent()), Question(), now=NOW)
    assert shown(status) == {
        "schema_version": 2,
        "generated_at": "2026-03-04T05:06:07.89Z",
        "project": "p",
        "daemon_running": False,
        "lifecycle": {
            "planning": 0,
            "ready": 0,
            "implementing": 0,
            "reviewing": 0,
            "verifying": 0,
            "total": 0,
        },
        "active_agents": [],
        "attention": [],
        "truncated": {},
        "notices": [
            {
                "code": "daemon_unreachable",
                "message": "the daemon does not answer: agents are unknown, not absent",
            }
        ],
    }


def test_an_empty_section_differs_from_one_not_asked_for() -> None:
    asked = shown(assemble(facts(), EVERYTHING, now=NOW))
    assert (asked["projects"], asked["tasks"], asked["events"]) == (["p"], [], [])
    assert asked["uptime"] == "1h0m5s"
    assert "tasks" not in shown(assemble(facts(), Question(), now=NOW))


@pytest.mark.parametrize(
    ("given_cap", "means"),
    [(None, 20), (0, 20), (-1, 20), ("7", 7), (101, 100), (10**9, 100), ("+3", 3)],
)
def test_caps(given_cap: object, means: int) -> None:
    assert question(given_cap).cap == means


@pytest.mark.parametrize(
    "cap", ["abc", "1e9", 1e9, 1.5, True, float("nan"), "", "1_0", "9" * 5000, [], {}]
)
def test_a_cap_that_is_no_integer_is_an_error_never_a_guess(cap: object) -> None:
    """D13: not a number is not a number of items."""
    with pytest.raises(BadArgument, match="is not an integer"):
        question(cap)


def test_an_unknown_section_is_an_error() -> None:
    with pytest.raises(BadArgument, match="Unknown section 'logs'"):
        question(include=["tasks", "logs"])


def test_cuts_come_after_sorting_and_say_how_much() -> None:
    """E10: sorted by urgency before the cut; the rest is counted."""
    waiting = [
        task(f"t{n}", TaskStatus.IMPLEMENTING, phase=Phase.FIXING, feedback="f", feedback_at=ago(n))
        for n in range(3)
    ]
    waiting.append(
        task("decide", TaskStatus.IMPLEMENTING, phase=Phase.WAVE_WAITING, phase_at=ago(1))
    )
    daemon = DaemonView(
        is_running=True,
        agents=tuple(agent(f"a{n}", reason="lost", reason_since=ago(999)) for n in range(2)),
    )
    status = assemble(
        facts(
            waiting=tuple(waiting),
            daemon=daemon,
            counts={TaskStatus.IMPLEMENTING: 4},
            events=tuple(event(n) for n in range(5)),
            event_count=50,
        ),
        question(2, ["tasks", "events"]),
        now=NOW,
    )
    assert [(item.task, item.kind) for item in status.attention] == [
        ("decide", "needs_decision"),
        ("t2", "review_feedback"),
    ]
    assert status.truncated.model_dump() == {"attention": 4, "tasks": 2, "events": 48}


def test_attention_names_its_reason_and_its_oldest_moment() -> None:
    blocked = task(
        "b",
        TaskStatus.IMPLEMENTING,
        phase=Phase.WAVE_WAITING,
        phase_at=ago(5),
        block_reason="which\nAPI?",
        blocked_at=ago(50),
    )
    (item,) = assemble(facts(waiting=(blocked,)), Question(), now=NOW).attention
    assert (item.detail, item.since) == ("which API?", ago(50))


@pytest.mark.parametrize("status", [s for s in TaskStatus if s is not TaskStatus.IMPLEMENTING])
def test_feedback_is_attention_in_implementing_only(status: TaskStatus) -> None:
    stored = task("t", status, feedback="old", feedback_at=ago(1))
    assert assemble(facts(waiting=(stored,)), Question(), now=NOW).attention == ()


def test_agents_of_other_projects_are_not_shown_and_paths_are_cut() -> None:
    daemon = DaemonView(
        is_running=True,
        agents=(
            agent("b", task="t", worktree="/home/me/tree", program="/usr/bin/codex"),
            agent("a", task="t", wave=1, is_ready=True, stage="ready", evidence="report"),
            agent("c", project="other"),
        ),
    )
    agents = shown(assemble(facts(daemon=daemon), Question(), now=NOW))["active_agents"]
    assert agents == [
        {"task": "t", "role": "coder", "worktree": "tree", "id": "b", "program": "codex"},
        {
            "task": "t",
            "role": "coder",
            "wave": 1,
            "stage": "ready",
            "ready": True,
            "id": "a",
            "evidence": "report",
        },
    ]


def test_a_task_with_a_stale_agent_is_blocked() -> None:
    daemon = DaemonView(is_running=True, agents=(agent("a", task="t", reason="lost"),))
    status = assemble(facts(daemon=daemon, tasks=(task("t"), task("u"))), EVERYTHING, now=NOW)
    assert status.tasks is not None
    assert [entry.blocked for entry in status.tasks] == [True, False]


def test_moments_are_never_in_the_future() -> None:
    """B8, E9: a stamp from the future is clamped to now."""
    later = NOW + timedelta(hours=1)
    daemon = DaemonView(
        is_running=True, agents=(agent("a", last_activity=later, stage_since=later),)
    )
    blocked = task("b", block_reason="r", blocked_at=later)
    late = EventRecord(id=1, project="p", at=later, kind="k", message="m")
    status = assemble(facts(daemon=daemon, waiting=(blocked,), events=(late,)), EVERYTHING, now=NOW)
    assert later not in [
        status.active_agents[0].last_activity,
        status.active_agents[0].stage_since,
        status.attention[0].since,
        *(item.at for item in status.events or ()),
    ]


def test_a_focus_shows_every_wave_and_its_readiness() -> None:
    focus = FocusFacts(
        task=task(
            "t",
            TaskStatus.IMPLEMENTING,
            phase=Phase.WAVE_RUNNING,
            active_wave=1,
            total_waves=2,
            goal="g",
        ),
        waves=(Wave(wave=1, title="first"), Wave(wave=2)),
        subtasks=(Subtask(wave=1, number=1, title="a"), Subtask(wave=2, number=2, title="b")),
    )
    assert shown(assemble(facts(focus=focus), Question(), now=NOW))["focus"] == {
        "filename": "t",
        "goal": "g",
        "waves": [
            {
                "wave": 1,
                "title": "first",
                "active": True,
                "tasks": [{"number": 1, "title": "a", "status": "pending"}],
            },
            {"wave": 2, "tasks": [{"number": 2, "title": "b", "status": "pending"}]},
        ],
        "readiness": {"status": "implementing"},
    }


def test_hostile_text_in_every_field_leaves_cleaned() -> None:
    """D9: one cleaner for every field, and nothing longer than its limit."""
    hostile = task(
        HOSTILE,
        topic=HOSTILE,
        branch=HOSTILE,
        goal=HOSTILE,
        block_reason=HOSTILE,
        blocked_at=ago(1),
        pr_url=HOSTILE,
    )
    daemon = DaemonView(
        is_running=True,
        agents=(
            agent(
                HOSTILE,
                task=HOSTILE,
                branch=HOSTILE,
                worktree=HOSTILE,
                program=HOSTILE,
                reason=HOSTILE,
            ),
        ),
    )
    record = EventRecord(
        id=1, project="p", at=NOW, kind=HOSTILE, message=HOSTILE, task=HOSTILE, agent=HOSTILE
    )
    status = assemble(
        facts(
            project="p",
            projects=(HOSTILE,),
            tasks=(hostile,),
            waiting=(hostile,),
            events=(record,),
            daemon=daemon,
            focus=FocusFacts(
                task=hostile,
                waves=(Wave(wave=1, title=HOSTILE),),
                subtasks=(Subtask(wave=1, number=1, title=HOSTILE),),
            ),
        ),
        EVERYTHING,
        now=NOW,
    )
    text = status.model_dump_json()
    assert not any(bad in text for bad in ("\\u001b", "[31m", "\u202e", "\\u0000", "\\n"))
    assert len(text) < 12_000


@given(
    st.lists(st.sampled_from(list(TaskStatus)), max_size=30),
    st.integers(-5, 150),
    st.integers(0, 30),
)
def test_listed_and_cut_off_always_add_up(
    statuses: list[TaskStatus], cap: int, agents: int
) -> None:
    tasks = [
        task(f"t{n:03}", status, block_reason="r", blocked_at=ago(n))
        for n, status in enumerate(statuses)
        if status not in (TaskStatus.DONE, TaskStatus.CANCELLED)
    ]
    counts = {status: sum(t.status is status for t in tasks) for status in TaskStatus}
    daemon = DaemonView(is_running=True, agents=tuple(agent(f"a{n}") for n in range(agents)))
    status = assemble(
        facts(tasks=tuple(tasks), waiting=tuple(tasks), counts=counts, daemon=daemon),
        question(cap, ["tasks"]),
        now=NOW,
    )
    assert len(status.tasks or ()) + status.truncated.tasks == len(tasks) == status.lifecycle.total
    assert len(status.attention) + status.truncated.attention == len(tasks)
    assert len(status.active_agents) + status.truncated.active_agents == agents
    assert LiveStatus.model_validate_json(status.model_dump_json()) == status


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, ""), (45, "45s"), (180, "3m0s"), (3605, "1h0m5s"), (176_590, "49h3m10s"), (-3, "")],
)
def test_uptime(seconds: int, text: str) -> None:
    assert uptime(seconds) == text
