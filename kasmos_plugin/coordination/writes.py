"""Changes of tasks. The store holds every rule, the gate among them; nothing is decided here."""

from kasmos_plugin.contract.approval import Approval
from kasmos_plugin.contract.task import LifecycleEvent, Task
from kasmos_plugin.coordination import shown
from kasmos_plugin.coordination.arguments import (
    ApprovalAsked,
    Block,
    NewPlan,
    NewTask,
    OneTask,
    Review,
    SubtaskChange,
    Transition,
)
from kasmos_plugin.coordination.desk import Desk, Result
from kasmos_plugin.coordination.reads import words
from kasmos_plugin.errors import ApprovalRequired, BadArgument
from kasmos_plugin.rules.approval import step_words
from kasmos_plugin.rules.text import clean

_VERDICTS = {
    "approve": LifecycleEvent.REVIEW_APPROVED,
    "request_changes": LifecycleEvent.REVIEW_CHANGES_REQUESTED,
}


def approval_request(desk: Desk, asked: ApprovalAsked) -> Result:
    """Ask a person to approve a step; asked for already, it is not asked twice."""
    one = desk.store.approvals.request(asked.project, asked.task, asked.step, reason=asked.reason)
    run = how_to_approve(one)
    return Result(
        text=f"asked: {step_words(one.step, one.wave)}. {run}",
        data=shown.approval(one) | {"next": run},
    )


def task_create(desk: Desk, asked: NewTask) -> Result:
    """Store a new task with its plan."""
    return _changed(
        desk.store.tasks.create(
            asked.project,
            asked.task,
            plan_text=asked.plan,
            topic=asked.topic.strip(),
            branch=asked.branch.strip(),
        )
    )


def task_update_plan(desk: Desk, asked: NewPlan) -> Result:
    """Replace the plan of a task that has not been started."""
    return _changed(desk.store.tasks.update(asked.project, asked.task, plan_text=asked.plan))


def task_transition(desk: Desk, asked: Transition) -> Result:
    """Record a lifecycle event."""
    event = LifecycleEvent(asked.event)
    return _changed(
        desk.store.tasks.transition(asked.project, asked.task, event, feedback=asked.feedback)
    )


def subtask_update(desk: Desk, asked: SubtaskChange) -> Result:
    """Set how far a subtask is."""
    return _changed(
        desk.store.tasks.set_subtask(asked.project, asked.task, asked.number, asked.status)
    )


def review_submit(desk: Desk, asked: Review) -> Result:
    """Record what a review came to.

    Raises:
        BadArgument: changes are asked for and not named, or named and not asked for.
    """
    if (asked.verdict == "request_changes") is not bool(asked.feedback.strip()):
        raise BadArgument("request_changes needs feedback, and approve takes none.")
    event = _VERDICTS[asked.verdict]
    return _changed(
        desk.store.tasks.transition(asked.project, asked.task, event, feedback=asked.feedback)
    )


def task_block(desk: Desk, asked: Block) -> Result:
    """Make a task wait for a person, with the reason."""
    return _changed(desk.store.tasks.block(asked.project, asked.task, asked.reason))


def task_unblock(desk: Desk, asked: OneTask) -> Result:
    """Clear the reason for which a task waits."""
    return _changed(desk.store.tasks.unblock(asked.project, asked.task))


def task_delete(desk: Desk, asked: OneTask) -> Result:
    """Delete a task on which no agent works, after a person's yes."""
    task = desk.store.tasks.get(asked.project, asked.task)
    desk.store.tasks.delete(asked.project, asked.task)
    name = clean(task.filename)
    return Result(
        text=f"task '{name}' of project '{clean(asked.project)}' is deleted; its events stay",
        data={"project": asked.project, "task": task.filename, "deleted": True},
    )


def how_to_approve(one: Approval) -> str:
    """Return what a person has to run for an approval that is asked for."""
    if one.state == "approved":
        return "It is approved already."
    return f"{ApprovalRequired(one.project, one.task, one.step, '').hint}."


def _changed(task: Task) -> Result:
    row = shown.task_row(task)
    return Result(text=words(row), data=row)
