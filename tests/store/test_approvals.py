"""store.approvals: nothing starts without a yes for exactly this step and this plan."""

import threading
from datetime import timedelta
from pathlib import Path

import pytest

from kasmos_plugin.contract.approval import Step
from kasmos_plugin.contract.task import LifecycleEvent, SubtaskStatus, TaskStatus
from kasmos_plugin.errors import ApprovalRequired, Conflict, IllegalEvent, KasmosError, NotFound
from kasmos_plugin.rules.approval import plan_hash
from kasmos_plugin.store import Store, open_store
from tests.conftest import Clock, approve

E = LifecycleEvent
PLAN = "## Wave 1\n### Task 1: a\n## Wave 2\n### Task 1: b\n"


@pytest.fixture
def task(store: Store, project: str) -> str:
    return store.tasks.create(project, "plan", plan_text=PLAN).filename


def states(store: Store, project: str) -> list[tuple[str, int, str]]:
    return [(one.step, one.wave, one.state) for one in reversed(store.approvals.list(project))]


def test_a_step_without_a_yes_is_refused_and_asked_for_once(
    store: Store, project: str, task: str, clock: Clock
) -> None:
    for _ in range(2):
        with pytest.raises(ApprovalRequired) as caught:
            store.tasks.transition(project, task, E.IMPLEMENT_START)
    assert caught.value.hint == (
        "a person runs: kas task approve 'plan' --step implement_start --project 'repo'"
    )
    found = store.tasks.get(project, task)
    assert found.status is TaskStatus.READY
    assert (found.pending_step, found.pending_wave, found.pending_at) == (
        Step.IMPLEMENT_START,
        1,
        clock.at,
    )
    assert states(store, project) == [("implement_start", 1, "pending")]
    assert store.tasks.waiting(project) == (found,)


def test_an_illegal_step_is_not_asked_for(store: Store, project: str, task: str) -> None:
    with pytest.raises(IllegalEvent):
        store.tasks.transition(project, task, E.ADVANCE_WAVE)
    assert states(store, project) == []


def test_a_yes_is_used_once(store: Store, project: str, task: str) -> None:
    approve(store, project, task, "implement_start")
    store.tasks.transition(project, task, E.IMPLEMENT_START)
    store.tasks.set_subtask(project, task, 1, SubtaskStatus.DONE)
    with pytest.raises(ApprovalRequired, match="start wave 2"):
        store.tasks.transition(project, task, E.ADVANCE_WAVE)
    assert states(store, project) == [
        ("implement_start", 1, "used"),
        ("advance_wave", 2, "pending"),
    ]
    approve(store, project, task, "advance_wave")
    assert store.tasks.get(project, task).pending_step is None
    assert store.tasks.transition(project, task, E.ADVANCE_WAVE).active_wave == 2


def test_a_yes_for_another_step_is_none(store: Store, project: str, task: str) -> None:
    for step in ("merge", "push", "agent_start", "task_delete"):
        approve(store, project, task, step)
    with pytest.raises(ApprovalRequired):
        store.tasks.transition(project, task, E.IMPLEMENT_START)


def test_a_changed_plan_voids_a_yes(store: Store, project: str, task: str) -> None:
    approve(store, project, task, "implement_start")
    store.tasks.update(project, task, plan_text=PLAN + "### Task 2: more\n")
    with pytest.raises(ApprovalRequired):
        store.tasks.transition(project, task, E.IMPLEMENT_START)
    assert states(store, project) == [
        ("implement_start", 1, "lapsed"),
        ("implement_start", 1, "pending"),
    ]


def test_a_plan_that_changes_while_it_is_read_is_not_approved(
    store: Store, project: str, task: str
) -> None:
    read = plan_hash(PLAN)
    store.tasks.update(project, task, plan_text=PLAN + "### Task 2: more\n")
    with pytest.raises(Conflict, match="changed while it was read"):
        store.approvals.decide(
            project, task, Step.IMPLEMENT_START, "approved", by="ann", plan_hash=read
        )
    assert states(store, project) == []


def test_a_yes_lapses_after_a_day_and_no_clock_makes_it_last_longer(
    store: Store, project: str, task: str, clock: Clock
) -> None:
    approve(store, project, task, "implement_start")
    clock.advance(timedelta(hours=24).total_seconds())
    with pytest.raises(ApprovalRequired):
        store.tasks.transition(project, task, E.IMPLEMENT_START)


def test_a_no_clears_the_request_and_the_step_stays_refused(
    store: Store, project: str, task: str
) -> None:
    asked = store.approvals.request(project, task, Step.MERGE, reason="wave 1 is green")
    assert (asked.state, asked.reason) == ("pending", "wave 1 is green")
    store.approvals.decide(project, task, Step.MERGE, "declined", by="ann", plan_hash="")
    assert store.tasks.get(project, task).pending_step is None
    assert states(store, project) == [("merge", 0, "declined")]
    with pytest.raises(NotFound, match="Nobody asks to merge"):
        store.approvals.decide(project, task, Step.MERGE, "declined", by="ann", plan_hash="")


def test_the_oldest_request_is_shown_until_it_is_decided(
    store: Store, project: str, task: str, clock: Clock
) -> None:
    store.approvals.request(project, task, Step.PUSH)
    clock.advance(5)
    store.approvals.request(project, task, Step.MERGE)
    assert store.tasks.get(project, task).pending_step is Step.PUSH
    approve(store, project, task, "push")
    assert store.tasks.get(project, task).pending_step is Step.MERGE


def test_a_step_that_is_carried_out_elsewhere_takes_its_yes_here(
    store: Store, project: str, task: str
) -> None:
    for step in (Step.AGENT_START, Step.AGENT_SEND):
        with pytest.raises(ApprovalRequired):
            store.approvals.take(project, task, step)
        approve(store, project, task, step)
        store.approvals.take(project, task, step)
        with pytest.raises(ApprovalRequired):
            store.approvals.take(project, task, step)
    store.tasks.transition(project, task, E.CANCEL)
    with pytest.raises(Conflict, match="cancelled already"):
        store.approvals.take(project, task, Step.AGENT_START)


def test_deleting_a_task_takes_its_approvals_and_leaves_the_events(
    store: Store, project: str, task: str
) -> None:
    with pytest.raises(ApprovalRequired, match="delete the task"):
        store.tasks.delete(project, task)
    approve(store, project, task, "task_delete")
    store.tasks.delete(project, task)
    assert store.approvals.list(project) == ()
    kinds = [event.kind for event in store.events.latest(project, 3)]
    assert kinds == ["task_deleted", "approval_given", "approval_requested"]


def test_the_plan_of_the_last_yes_is_kept_for_comparison(
    store: Store, project: str, task: str
) -> None:
    assert store.approvals.last_plan(project, task) is None
    approve(store, project, task, "implement_start")
    store.tasks.update(project, task, plan_text=PLAN + "### Task 2: more\n")
    assert store.approvals.last_plan(project, task) == PLAN
    approve(store, project, task, "implement_start")
    assert store.approvals.last_plan(project, task) == PLAN + "### Task 2: more\n"


def test_of_two_coordinators_one_wins(store: Store, project: str, task: str, home: Path) -> None:
    approve(store, project, task, "implement_start")
    results: list[str] = []
    ready = threading.Barrier(2)

    def start() -> None:
        own = open_store(store.path)
        ready.wait(5)
        try:
            results.append(own.tasks.transition(project, task, E.IMPLEMENT_START).status)
        except KasmosError as error:
            results.append(error.code)
        finally:
            own.close()

    # The clock of the test stands far from the real one: these stores use the real one.
    approve_now = open_store(store.path)
    approve(approve_now, project, task, "implement_start")
    approve_now.close()
    threads = [threading.Thread(target=start) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert sorted(results) == ["illegal_event", "implementing"]
