"""store.tasks: each change and its event are one transaction."""

import pytest

from kasmos_plugin.contract.agent import AgentRecord
from kasmos_plugin.contract.task import LifecycleEvent, Phase, SubtaskStatus, TaskStatus
from kasmos_plugin.errors import (
    BadArgument,
    Conflict,
    IllegalEvent,
    NotFound,
    PlanProblems,
    UnknownProject,
    UnknownTask,
)
from kasmos_plugin.store import Store
from tests.conftest import Clock, approve, approved_move

E, D = LifecycleEvent, SubtaskStatus
PLAN = "**Goal:** g\n## Wave 1\n### Task 1: a\n### Task 2: b\n## Wave 2: last\n### Task 1: c\n"


@pytest.fixture
def task(store: Store, project: str) -> str:
    return store.tasks.create(project, "plan.md", plan_text=PLAN).filename


def kinds(store: Store, project: str) -> list[str]:
    return [event.kind for event in reversed(store.events.latest(project, 100))]


def test_a_new_task_is_ready_and_planned_when_it_has_waves(
    store: Store, project: str, clock: Clock
) -> None:
    planned = store.tasks.create(project, " plan.md ", plan_text=PLAN, topic="t", branch="b")
    assert planned.model_dump(exclude_defaults=True) == {
        "project": "repo",
        "filename": "plan",
        "status": TaskStatus.READY,
        "phase": Phase.PLANNED,
        "topic": "t",
        "branch": "b",
        "goal": "g",
        "total_waves": 2,
        "subtasks_total": 3,
        "phase_at": clock.at,
        "created_at": clock.at,
        "updated_at": clock.at,
    }
    assert store.tasks.create(project, "bare", plan_text="words").phase is None
    assert store.tasks.plan_text(project, "plan") == PLAN


def test_the_store_records_the_end_of_waves_itself(store: Store, project: str, task: str) -> None:
    approved_move(store, project, task, E.IMPLEMENT_START)
    store.tasks.set_subtask(project, task, 1, D.DONE)
    assert store.tasks.set_subtask(project, task, 2, D.DONE).phase is Phase.WAVE_WAITING
    assert approved_move(store, project, task, E.ADVANCE_WAVE).active_wave == 2
    assert store.tasks.set_subtask(project, task, 3, D.DONE).status is TaskStatus.REVIEWING
    assert kinds(store, project)[1:] == [
        "task_created",
        "approval_given",
        "implement_start",
        "subtask_changed",
        "subtask_changed",
        "wave_finished",
        "approval_given",
        "advance_wave",
        "subtask_changed",
        "implement_finished",
    ]


def test_a_wave_that_is_done_already_ends_when_it_starts(
    store: Store, project: str, task: str
) -> None:
    for number in (1, 2):
        store.tasks.set_subtask(project, task, number, D.DONE)
    assert approved_move(store, project, task, E.IMPLEMENT_START).phase is Phase.WAVE_WAITING


def test_an_illegal_event_changes_nothing(store: Store, project: str, task: str) -> None:
    before = kinds(store, project)
    with pytest.raises(IllegalEvent, match="Legal now"):
        store.tasks.transition(project, task, E.VERIFY_APPROVED)
    assert kinds(store, project) == before


def test_only_changes_requested_makes_feedback_current(
    store: Store, project: str, task: str, clock: Clock
) -> None:
    approved_move(store, project, task, E.IMPLEMENT_START)
    store.tasks.transition(project, task, E.IMPLEMENT_FINISHED)
    with pytest.raises(BadArgument):
        store.tasks.transition(project, task, E.REVIEW_APPROVED, feedback="x")
    fixing = store.tasks.transition(project, task, E.REVIEW_CHANGES_REQUESTED, feedback=" mend it ")
    assert (fixing.feedback, fixing.review_cycle, fixing.feedback_at) == ("mend it", 1, clock.at)
    assert store.tasks.waiting(project) == (fixing,)
    again = store.tasks.transition(project, task, E.IMPLEMENT_FINISHED)
    assert again.feedback == ""
    assert store.tasks.waiting(project) == ()
    assert [(f.text, f.is_current) for f in store.tasks.feedback(project, task)] == [
        ("mend it", False)
    ]


def test_blank_feedback_is_no_feedback(store: Store, project: str, task: str) -> None:
    approved_move(store, project, task, E.IMPLEMENT_START)
    store.tasks.transition(project, task, E.IMPLEMENT_FINISHED)
    store.tasks.transition(project, task, E.REVIEW_CHANGES_REQUESTED, feedback="  ")
    assert store.tasks.waiting(project) == ()
    assert store.tasks.feedback(project, task) == ()


def test_a_failed_subtask_blocks_until_it_is_taken_up(
    store: Store, project: str, task: str
) -> None:
    store.tasks.set_subtask(project, task, 1, D.FAILED)
    both = store.tasks.set_subtask(project, task, 2, D.BLOCKED)
    assert both.block_reason == "subtask 1 failed: a; subtask 2 blocked: b"
    store.tasks.set_subtask(project, task, 1, D.RUNNING)
    assert store.tasks.set_subtask(project, task, 2, D.RUNNING).block_reason == ""


def test_a_persons_reason_outlives_subtasks_and_is_cleared_by_a_decision(
    store: Store, project: str, task: str
) -> None:
    store.tasks.block(project, task, "which API?")
    store.tasks.set_subtask(project, task, 1, D.FAILED)
    assert store.tasks.set_subtask(project, task, 1, D.DONE).block_reason == "which API?"
    assert store.tasks.unblock(project, task).block_reason == ""
    with pytest.raises(Conflict):
        store.tasks.unblock(project, task)
    store.tasks.block(project, task, "again")
    assert store.tasks.transition(project, task, E.CANCEL).block_reason == ""


def test_starting_over_begins_with_pending_subtasks(store: Store, project: str, task: str) -> None:
    for number in (1, 2, 3):
        store.tasks.set_subtask(project, task, number, D.DONE)
    approved_move(store, project, task, E.IMPLEMENT_START)
    approved_move(store, project, task, E.ADVANCE_WAVE)
    for event in (E.REVIEW_APPROVED, E.VERIFY_APPROVED, E.START_OVER):
        store.tasks.transition(project, task, event)
    again = store.tasks.get(project, task)
    assert (again.status, again.subtasks_done, again.last_verify_outcome) == ("planning", 0, None)
    assert {s.status for s in store.tasks.subtasks(project, task)} == {D.PENDING}


def test_a_broken_plan_changes_nothing(store: Store, project: str, task: str) -> None:
    with pytest.raises(PlanProblems):
        store.tasks.update(project, task, plan_text="## Wave 1\n", topic="new")
    with pytest.raises(PlanProblems):
        store.tasks.create(project, "other", plan_text="## Wave 1\n")
    assert store.tasks.get(project, task).topic == ""
    assert [t.filename for t in store.tasks.list(project)] == ["plan"]


def test_a_plan_is_replaced_only_before_the_work_begins(
    store: Store, project: str, task: str
) -> None:
    bare = store.tasks.update(project, task, plan_text="no waves")
    assert (bare.phase, bare.total_waves, bare.subtasks_total) == (None, 0, 0)
    store.tasks.update(project, task, plan_text=PLAN)
    approved_move(store, project, task, E.IMPLEMENT_START)
    with pytest.raises(Conflict, match="is being carried out"):
        store.tasks.update(project, task, plan_text=PLAN)


def test_an_update_changes_what_is_given(store: Store, project: str, task: str) -> None:
    store.tasks.update(project, task, pr_url="https://example.invalid/1", pr_check_status="failing")
    updated = store.tasks.update(project, task, pr_review_decision="approved", branch="b")
    assert (updated.pr_url, updated.pr_check_status, updated.pr_review_decision) == (
        "https://example.invalid/1",
        "failing",
        "approved",
    )
    with pytest.raises(BadArgument):
        store.tasks.update(project, task, pr_url="javascript:alert(1)")


@pytest.mark.parametrize("name", ["", ".md", "a\nb", "\x1b[31mred", "x" * 201, "a\u202eb"])
def test_a_name_that_cannot_be_shown_is_refused(store: Store, project: str, name: str) -> None:
    with pytest.raises(BadArgument):
        store.tasks.create(project, name)


def test_unknown_things_are_named(store: Store, project: str, task: str) -> None:
    with pytest.raises(UnknownProject, match="'nope'"):
        store.tasks.create("nope", "a")
    with pytest.raises(UnknownTask, match="'nope'"):
        store.tasks.get(project, "nope")
    with pytest.raises(NotFound, match="no subtask 4; it has 3"):
        store.tasks.set_subtask(project, task, 4, D.DONE)
    with pytest.raises(Conflict, match="has a task 'plan' already"):
        store.tasks.create(project, "plan.md")


def test_a_task_with_running_agents_is_not_deleted(
    store: Store, project: str, task: str, clock: Clock
) -> None:
    agent = AgentRecord(id="a1", project=project, task=task, started_at=clock.at)
    store.agents.save(agent)
    with pytest.raises(Conflict, match="1 running agent"):
        store.tasks.delete(project, task)
    store.agents.save(agent.model_copy(update={"is_dismissed": True}))
    approve(store, project, task, "task_delete")
    store.tasks.delete(project, task)
    assert kinds(store, project)[-1] == "task_deleted"
