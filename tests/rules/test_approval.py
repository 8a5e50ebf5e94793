"""When a step needs a yes, and how long one holds."""

from datetime import UTC, datetime, timedelta

import pytest

from kasmos_plugin.contract.approval import ApprovalState, Step
from kasmos_plugin.contract.task import LifecycleEvent, TaskStatus
from kasmos_plugin.rules.approval import HOLDS, gate, plan_hash, state, step_words, wave_of
from kasmos_plugin.rules.lifecycle import Position

NOW = datetime(2026, 3, 4, tzinfo=UTC)


def test_only_what_starts_work_is_gated_among_the_events() -> None:
    assert {event: gate(event) for event in LifecycleEvent if gate(event)} == {
        LifecycleEvent.IMPLEMENT_START: Step.IMPLEMENT_START,
        LifecycleEvent.ADVANCE_WAVE: Step.ADVANCE_WAVE,
    }


def test_every_step_has_words_and_a_wave_where_it_starts_one() -> None:
    at = Position(status=TaskStatus.IMPLEMENTING, active_wave=1, total_waves=3)
    assert {step: step_words(step, wave_of(step, at)) for step in Step} == {
        Step.IMPLEMENT_START: "start wave 1",
        Step.ADVANCE_WAVE: "start wave 2",
        Step.AGENT_START: "start one more coder",
        Step.AGENT_SEND: "send text to an agent",
        Step.TASK_DELETE: "delete the task",
        Step.MERGE: "merge",
        Step.PUSH: "push",
    }


@pytest.mark.parametrize(
    ("decision", "age", "is_used", "plan", "expected"),
    [
        (None, timedelta(), False, "p", "pending"),
        ("declined", timedelta(), False, "p", "declined"),
        ("approved", timedelta(), False, "p", "approved"),
        ("approved", HOLDS - timedelta(microseconds=1), False, "p", "approved"),
        ("approved", HOLDS, False, "p", "lapsed"),
        ("approved", timedelta(), False, "p ", "lapsed"),
        ("approved", timedelta(), True, "p", "used"),
        ("approved", HOLDS, True, "other", "used"),
        ("approved", -timedelta(days=400), False, "p", "approved"),
    ],
)
def test_a_yes_holds_for_one_plan_one_day_and_one_use(
    decision: ApprovalState | None,
    age: timedelta,
    is_used: bool,
    plan: str,
    expected: ApprovalState,
) -> None:
    found = state(
        decision=decision,
        decided_at=NOW - age if decision else None,
        used_at=NOW if is_used else None,
        approved_plan=plan_hash("p"),
        plan=plan_hash(plan),
        now=NOW,
    )
    assert found == expected
