"""rules.lifecycle: the table, walked by hand and at random."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kasmos_plugin.contract.task import (
    LifecycleEvent,
    Phase,
    Subtask,
    SubtaskStatus,
    TaskStatus,
)
from kasmos_plugin.errors import IllegalEvent
from kasmos_plugin.rules.lifecycle import (
    MOVES,
    PHASES,
    Position,
    follow_up,
    legal_events,
    move,
    new_position,
    told,
)

E, S, P = LifecycleEvent, TaskStatus, Phase


def test_a_task_of_two_waves_walks_to_done() -> None:
    at = new_position(total_waves=2)
    walked = []
    for event in (
        E.IMPLEMENT_START,
        E.WAVE_FINISHED,
        E.ADVANCE_WAVE,
        E.IMPLEMENT_FINISHED,
        E.REVIEW_CHANGES_REQUESTED,
        E.IMPLEMENT_FINISHED,
        E.REVIEW_APPROVED,
        E.VERIFY_FAILED,
        E.IMPLEMENT_FINISHED,
        E.REVIEW_APPROVED,
        E.VERIFY_APPROVED,
    ):
        at = move(at, event)
        walked.append((at.status.value, at.phase and at.phase.value, at.active_wave))
    assert walked == [
        ("implementing", "wave_running", 1),
        ("implementing", "wave_waiting", 1),
        ("implementing", "wave_running", 2),
        ("reviewing", "reviewing", 0),
        ("implementing", "fixing", 0),
        ("reviewing", "reviewing", 0),
        ("verifying", None, 0),
        ("implementing", "fixing", 0),
        ("reviewing", "reviewing", 0),
        ("verifying", None, 0),
        ("done", None, 0),
    ]
    assert (at.review_cycle, at.last_verify_outcome) == (1, "approved")


def test_every_event_stands_in_the_table_and_is_told() -> None:
    assert set(MOVES) == set(LifecycleEvent)
    for event in LifecycleEvent:
        message, _ = told(event, new_position(total_waves=1))
        assert message


@given(st.lists(st.sampled_from(list(LifecycleEvent)), max_size=40), st.integers(0, 3))
def test_any_walk_keeps_phase_and_status_together(events: list[LifecycleEvent], waves: int) -> None:
    at = new_position(total_waves=waves)
    for event in events:
        if event in legal_events(at):
            before, at = at, move(at, event)
            assert at.status is MOVES[event].to
            assert at.review_cycle >= before.review_cycle or event in (E.START_OVER, E.REOPEN)
        else:
            with pytest.raises(IllegalEvent):
                move(at, event)
        assert at.phase in PHASES[at.status]
        assert 0 <= at.active_wave <= at.total_waves
        assert not at.has_feedback or at.status is S.IMPLEMENTING


def test_an_illegal_event_lists_the_legal_ones() -> None:
    with pytest.raises(IllegalEvent, match="Legal now: plan_start, implement_start, cancel"):
        move(new_position(total_waves=1), E.REVIEW_APPROVED, name="a")


@pytest.mark.parametrize("event", [E.IMPLEMENT_START, E.PLANNER_FINISHED])
def test_a_plan_without_waves_cannot_be_implemented(event: LifecycleEvent) -> None:
    status = S.READY if event is E.IMPLEMENT_START else S.PLANNING
    with pytest.raises(IllegalEvent, match="the plan has no waves") as refused:
        move(Position(status=status), event, name="auth")
    assert refused.value.hint == "kas task update auth --plan PLAN.md"


def test_a_wave_that_runs_is_left_through_its_subtasks() -> None:
    at = Position(status=S.IMPLEMENTING, phase=P.WAVE_RUNNING, active_wave=1, total_waves=2)
    with pytest.raises(IllegalEvent, match="it needs the phase wave_waiting") as refused:
        move(at, E.ADVANCE_WAVE, name="a b")
    assert refused.value.hint.startswith("kas task subtask 'a b' N done")


def test_after_the_last_wave_there_is_no_next() -> None:
    at = Position(status=S.IMPLEMENTING, phase=P.WAVE_WAITING, active_wave=2, total_waves=2)
    with pytest.raises(IllegalEvent, match="there is no wave after wave 2"):
        move(at, E.ADVANCE_WAVE)


def test_the_last_subtask_of_a_wave_makes_its_end_due() -> None:
    def due(active: int, *statuses: SubtaskStatus) -> LifecycleEvent | None:
        at = Position(
            status=S.IMPLEMENTING, phase=P.WAVE_RUNNING, active_wave=active, total_waves=2
        )
        waves = (1, 1, 2)
        return follow_up(
            at,
            [
                Subtask(wave=wave, number=number, title="", status=status)
                for number, (wave, status) in enumerate(zip(waves, statuses, strict=True), 1)
            ],
        )

    done, failed, pending = SubtaskStatus.DONE, SubtaskStatus.FAILED, SubtaskStatus.PENDING
    assert due(1, done, pending, pending) is None
    assert due(1, done, failed, pending) is None
    assert due(1, done, done, pending) is E.WAVE_FINISHED
    assert due(2, done, done, pending) is None
    assert due(2, done, done, done) is E.IMPLEMENT_FINISHED
