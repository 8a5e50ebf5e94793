"""The shapes and colours of the terminal: four meanings and the unknown, each with its own shape.

Waiting for a person is amber ▲, running blue ●, done green ✓, broken red ■, unknown grey ◌.
"""

from dataclasses import dataclass

from kasmos_plugin.contract.event import Level
from kasmos_plugin.contract.live_status import ActiveAgent, TaskSummary
from kasmos_plugin.contract.task import SubtaskStatus, Task, TaskStatus


@dataclass(frozen=True)
class Mark:
    """A shape and its colour, as rich names it; the word beside it says the same."""

    shape: str
    style: str


WAITS = Mark("▲", "yellow")
RUNS = Mark("●", "blue")
DONE = Mark("✓", "green")
BROKEN = Mark("■", "red")
UNKNOWN = Mark("◌", "bright_black")
QUIET = Mark("○", "bright_black")
"""Not begun, or nothing to say."""
PLAIN = Mark("·", "bright_black")
PAUSED = Mark("‖", "bright_black")

_SUBTASKS = {
    SubtaskStatus.PENDING: QUIET,
    SubtaskStatus.RUNNING: RUNS,
    SubtaskStatus.DONE: DONE,
    SubtaskStatus.FAILED: BROKEN,
    SubtaskStatus.BLOCKED: WAITS,
}
_MOVING = (TaskStatus.PLANNING, TaskStatus.IMPLEMENTING, TaskStatus.REVIEWING, TaskStatus.VERIFYING)


def subtask_mark(status: SubtaskStatus) -> Mark:
    """Return the mark of a subtask."""
    return _SUBTASKS[status]


def task_mark(task: Task | TaskSummary, *, is_waiting: bool) -> Mark:
    """Return the mark of a task; `is_waiting` says whether it has an attention item."""
    if is_waiting:
        return WAITS
    if task.status is TaskStatus.DONE:
        return DONE
    return RUNS if task.status in _MOVING else QUIET


def agent_mark(agent: ActiveAgent) -> Mark:
    """Return the mark of an agent."""
    if agent.health == "stale":
        return BROKEN
    if agent.health == "unknown":
        return UNKNOWN
    if agent.paused:
        return PAUSED
    if agent.ready:
        return WAITS
    return RUNS if agent.active else UNKNOWN


def level_mark(level: Level | None) -> Mark:
    """Return the mark of an event."""
    if level == "error":
        return BROKEN
    return WAITS if level == "warn" else PLAIN
