"""Tasks, their waves and subtasks, and the words of their lifecycle."""

from enum import StrEnum
from typing import Literal

from kasmos_plugin.contract.approval import Step
from kasmos_plugin.contract.base import Model, Timestamp


class TaskStatus(StrEnum):
    """Where a task is in its life."""

    PLANNING = "planning"
    READY = "ready"
    IMPLEMENTING = "implementing"
    REVIEWING = "reviewing"
    VERIFYING = "verifying"
    DONE = "done"
    CANCELLED = "cancelled"


ACTIVE_STATUSES: tuple[TaskStatus, ...] = (
    TaskStatus.PLANNING,
    TaskStatus.READY,
    TaskStatus.IMPLEMENTING,
    TaskStatus.REVIEWING,
    TaskStatus.VERIFYING,
)
"""The five statuses that a monitor counts and lists, in lifecycle order."""


class Phase(StrEnum):
    """What happens inside a status; each phase belongs to one status."""

    PLANNED = "planned"
    WAVE_RUNNING = "wave_running"
    WAVE_WAITING = "wave_waiting"
    FIXING = "fixing"
    REVIEWING = "reviewing"


class LifecycleEvent(StrEnum):
    """What moves a task from one status or phase to another."""

    PLAN_START = "plan_start"
    PLANNER_FINISHED = "planner_finished"
    IMPLEMENT_START = "implement_start"
    WAVE_FINISHED = "wave_finished"
    ADVANCE_WAVE = "advance_wave"
    IMPLEMENT_FINISHED = "implement_finished"
    REVIEW_APPROVED = "review_approved"
    REVIEW_CHANGES_REQUESTED = "review_changes_requested"
    VERIFY_APPROVED = "verify_approved"
    VERIFY_FAILED = "verify_failed"
    REQUEST_REVIEW = "request_review"
    REIMPLEMENT = "reimplement"
    START_OVER = "start_over"
    CANCEL = "cancel"
    REOPEN = "reopen"


class SubtaskStatus(StrEnum):
    """How far one subtask is."""

    PENDING = "pending"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    BLOCKED = "blocked"


PrCheckStatus = Literal["pending", "passing", "failing"]
PrReviewDecision = Literal["required", "approved", "changes_requested"]
VerifyOutcome = Literal["approved", "failed"]
BlockSource = Literal["person", "subtask"]


class Subtask(Model):
    """One numbered piece of work of a wave; `number` is unique in its task, 1..N over all waves."""

    wave: int
    number: int
    title: str
    status: SubtaskStatus = SubtaskStatus.PENDING


class Wave(Model):
    """A set of subtasks that may be worked on together; `wave` counts from 1."""

    wave: int
    title: str = ""


class Plan(Model):
    """What a plan's text says: a goal, waves in order, and subtasks numbered over all waves."""

    goal: str = ""
    waves: tuple[Wave, ...] = ()
    subtasks: tuple[Subtask, ...] = ()


class Task(Model):
    """One task as stored. Texts are as given: cleaning happens where they leave (`rules.text`)."""

    project: str
    filename: str
    """The task's name, unique in its project, without `.md`."""
    status: TaskStatus
    phase: Phase | None = None
    topic: str = ""
    branch: str = ""
    goal: str = ""
    active_wave: int = 0
    """The wave being worked on, 0 when none is."""
    total_waves: int = 0
    subtasks_done: int = 0
    subtasks_total: int = 0
    review_cycle: int = 0
    feedback: str = ""
    """The current review feedback; empty when there is none or it became historical."""
    feedback_at: Timestamp | None = None
    block_reason: str = ""
    block_source: BlockSource | None = None
    blocked_at: Timestamp | None = None
    pending_step: Step | None = None
    """The step that a person is asked to approve; the oldest when there are several."""
    pending_wave: int = 0
    pending_at: Timestamp | None = None
    pr_url: str = ""
    pr_check_status: PrCheckStatus | None = None
    pr_review_decision: PrReviewDecision | None = None
    last_verify_outcome: VerifyOutcome | None = None
    phase_at: Timestamp
    """When the present status and phase began."""
    created_at: Timestamp
    updated_at: Timestamp


class Feedback(Model):
    """One review's feedback; at most one of a task is current."""

    review_cycle: int
    text: str
    at: Timestamp
    is_current: bool
