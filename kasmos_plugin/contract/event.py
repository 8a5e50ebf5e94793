"""Events: the append-only audit trail that people read as a stream."""

from enum import StrEnum
from typing import Literal

from kasmos_plugin.contract.base import Model, Timestamp

Level = Literal["info", "warn", "error"]


class EventKind(StrEnum):
    """What an event tells of, beside the lifecycle events, whose names are kinds too."""

    TASK_CREATED = "task_created"
    TASK_UPDATED = "task_updated"
    TASK_DELETED = "task_deleted"
    TASK_BLOCKED = "task_blocked"
    TASK_UNBLOCKED = "task_unblocked"
    SUBTASK_CHANGED = "subtask_changed"
    APPROVAL_REQUESTED = "approval_requested"
    APPROVAL_GIVEN = "approval_given"
    APPROVAL_DECLINED = "approval_declined"
    PROJECT_ADDED = "project_added"
    PROJECT_REMOVED = "project_removed"
    AGENT_STARTED = "agent_started"
    AGENT_READY = "agent_ready"
    AGENT_RUNNING = "agent_running"
    AGENT_PAUSED = "agent_paused"
    AGENT_RESUMED = "agent_resumed"
    AGENT_EXITED = "agent_exited"
    AGENT_FAILED = "agent_failed"
    AGENT_LOST = "agent_lost"
    AGENT_DISMISSED = "agent_dismissed"


class EventDraft(Model):
    """An event before the store has numbered and dated it."""

    project: str
    kind: str
    """An `EventKind` or a `LifecycleEvent`."""
    message: str
    task: str = ""
    agent: str = ""
    wave: int = 0
    task_number: int = 0
    level: Level = "info"


class EventRecord(EventDraft):
    """One stored event; `id` grows with every event of the store, across projects."""

    id: int
    at: Timestamp
