"""summary: the snapshot in words."""

from datetime import timedelta

import pytest

from kasmos_plugin.contract.live_status import (
    ActiveAgent,
    AttentionItem,
    EventItem,
    LifecycleCounts,
    LiveStatus,
    Notice,
    TaskSummary,
    Truncation,
)
from kasmos_plugin.contract.task import TaskStatus
from kasmos_plugin.summary import age, agent_state, describe, headline, progress
from tests.conftest import Clock

NOW = Clock().at


def status(**fields: object) -> LiveStatus:
    counts = dict.fromkeys(["planning", "ready", "implementing", "reviewing", "verifying"], 0)
    base: dict[str, object] = {
        "generated_at": NOW,
        "project": "p",
        "daemon_running": True,
        "lifecycle": LifecycleCounts(**counts, total=0),
        "active_agents": (),
        "attention": (),
        "truncated": Truncation(),
    }
    return LiveStatus.model_validate({**base, **fields})


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(-9, "now"), (0, "now"), (12, "12s"), (299, "4m"), (7_300, "2h"), (300_000, "3d")],
)
def test_ages_are_short_and_never_in_the_future(seconds: int, text: str) -> None:
    """E9."""
    assert age(NOW - timedelta(seconds=seconds), NOW) == text


def test_the_headline_counts_what_was_cut_off() -> None:
    """E10: listed and cut off together."""
    lines = LifecycleCounts(planning=0, ready=0, implementing=3, reviewing=0, verifying=0, total=3)
    shown = status(
        lifecycle=lines,
        attention=(AttentionItem(task="a", kind="needs_decision"),),
        truncated=Truncation(attention=2, active_agents=1),
    )
    assert headline(shown) == "3 implementing, 1 agent, 3 waiting for you"


def test_unknown_agents_are_never_told_as_none() -> None:
    lost = status(
        daemon_running=False,
        notices=(Notice(code="daemon_unreachable", message="the daemon does not answer"),),
    )
    text = describe(lost)
    assert "agents: unknown" in text
    assert "agents: none" not in text
    assert "waiting for you: nothing in the store; the health of agents is unknown" in text
    assert "agents: none" in describe(status())


def test_each_state_of_an_agent_has_its_own_words() -> None:
    states = [
        ActiveAgent(task="t", role="r", health="unknown"),
        ActiveAgent(task="t", role="r", health="stale"),
        ActiveAgent(task="t", role="r", paused=True),
        ActiveAgent(task="t", role="r", stage="loading", active=True),
        ActiveAgent(task="t", role="r", stage="running", active=True),
        ActiveAgent(task="t", role="r", stage="ready", ready=True, active=True),
        ActiveAgent(task="t", role="r", active=True),
    ]
    assert len({agent_state(agent) for agent in states}) == len(states)


def test_a_plan_without_waves_is_never_complete() -> None:
    """G7."""
    bare = TaskSummary(filename="t", status=TaskStatus.READY, subtasks_done=0, subtasks_total=0)
    assert progress(bare) == "no waves"


def test_a_full_snapshot_of_twenty_agents_is_short() -> None:
    agents = tuple(
        ActiveAgent(
            task=f"task-with-a-name-{n}",
            role="coder",
            wave=1,
            stage="running",
            active=True,
            worktree=f"worktree-{n}",
            branch=f"kas/task-with-a-name-{n}",
            task_number=n + 1,
            last_activity=NOW,
            id=f"agent-{n:08}",
            program="codex",
            stage_since=NOW,
            evidence="output",
        )
        for n in range(20)
    )
    events = tuple(EventItem(at=NOW, kind="k", message="m" * 240, task="t") for _ in range(20))
    text = describe(status(active_agents=agents, events=events), link="http://127.0.0.1:7433/")
    assert len(text.encode()) < 8_000
    assert text.endswith("monitor in a browser: http://127.0.0.1:7433/")
    assert all(agent.id in text for agent in agents)
