"""Live status v2: the snapshot that every surface shows, field by field.

Keys stand in wire order. A field marked `OmitEmpty` or `OmitNone` is left out of the JSON when it
has nothing to say, so that a small project has a small snapshot.
"""

from typing import Annotated, Literal

from kasmos_plugin.contract.agent import Evidence, Health, Stage
from kasmos_plugin.contract.base import Model, OmitEmpty, OmitNone, Timestamp
from kasmos_plugin.contract.event import Level
from kasmos_plugin.contract.task import (
    Phase,
    PrCheckStatus,
    PrReviewDecision,
    SubtaskStatus,
    TaskStatus,
    VerifyOutcome,
)

SCHEMA_VERSION = 2
DEFAULT_CAP = 20
MAX_CAP = 100

Section = Literal["projects", "tasks", "events"]
AttentionKind = Literal["needs_decision", "review_feedback", "stale_instance"]
NoticeCode = Literal[
    "daemon_unreachable",
    "daemon_incompatible",
    "daemon_slow",
    "daemon_other_store",
    "events_unavailable",
    "focus_not_found",
    "no_projects",
    "plan_unreadable",
    "store_read_only",
]


class LifecycleCounts(Model):
    """How many tasks stand in each active status; `total` is the sum of the five."""

    planning: int
    ready: int
    implementing: int
    reviewing: int
    verifying: int
    total: int


class ActiveAgent(Model):
    """One agent that runs, waits, is paused or needs a look, in order of task, role and wave."""

    task: str
    """The task it works on; empty for an agent without one."""
    role: str
    wave: Annotated[int, OmitEmpty] = 0
    stage: Annotated[Stage | None, OmitNone] = None
    """Omitted when neither a report nor recent output supports one."""
    ready: Annotated[bool, OmitEmpty] = False
    """It reported that it waits for a person."""
    active: Annotated[bool, OmitEmpty] = False
    """Its process lives and is not paused."""
    worktree: Annotated[str, OmitEmpty] = ""
    """Basename of its working tree, never a path."""
    branch: Annotated[str, OmitEmpty] = ""
    task_number: Annotated[int, OmitEmpty] = 0
    last_activity: Annotated[Timestamp | None, OmitNone] = None
    paused: Annotated[bool, OmitEmpty] = False
    id: Annotated[str, OmitEmpty] = ""
    """Stable key of the agent."""
    program: Annotated[str, OmitEmpty] = ""
    """Basename of its command, such as `codex`."""
    stage_since: Annotated[Timestamp | None, OmitNone] = None
    health: Annotated[Health | None, OmitNone] = None
    """`unknown` or `stale`; omitted when good."""
    evidence: Annotated[Evidence | None, OmitNone] = None
    """What the stage rests on."""


class AttentionItem(Model):
    """One durable condition that may need a person, most urgent kind first, oldest first."""

    task: str
    kind: AttentionKind
    detail: Annotated[str, OmitEmpty] = ""
    since: Annotated[Timestamp | None, OmitNone] = None
    agent: Annotated[str, OmitEmpty] = ""
    """The agent's id, for `stale_instance`."""


class Truncation(Model):
    """How many items were left out of each capped array."""

    active_agents: Annotated[int, OmitEmpty] = 0
    attention: Annotated[int, OmitEmpty] = 0
    tasks: Annotated[int, OmitEmpty] = 0
    events: Annotated[int, OmitEmpty] = 0


class TaskSummary(Model):
    """One task in an active status. Sorted by filename."""

    filename: str
    status: TaskStatus
    phase: Annotated[Phase | None, OmitNone] = None
    topic: Annotated[str, OmitEmpty] = ""
    branch: Annotated[str, OmitEmpty] = ""
    active_wave: Annotated[int, OmitEmpty] = 0
    total_waves: Annotated[int, OmitEmpty] = 0
    subtasks_done: int
    subtasks_total: int
    review_cycle: Annotated[int, OmitEmpty] = 0
    pr_url: Annotated[str, OmitEmpty] = ""
    pr_check_status: Annotated[PrCheckStatus | None, OmitNone] = None
    pr_review_decision: Annotated[PrReviewDecision | None, OmitNone] = None
    blocked: Annotated[bool, OmitEmpty] = False
    """It has an attention item, counted before the cut."""


class EventItem(Model):
    """One event, newest first in its array; `message` has at most 240 graphemes."""

    at: Timestamp
    kind: str
    message: str
    task: Annotated[str, OmitEmpty] = ""
    agent: Annotated[str, OmitEmpty] = ""
    wave: Annotated[int, OmitEmpty] = 0
    task_number: Annotated[int, OmitEmpty] = 0
    level: Annotated[Level | None, OmitNone] = None


class FocusSubtask(Model):
    """One subtask of the focused task; `number` is unique in the task."""

    number: int
    title: str
    status: SubtaskStatus


class FocusWave(Model):
    """One wave of the focused task with all its subtasks."""

    wave: int
    title: Annotated[str, OmitEmpty] = ""
    active: Annotated[bool, OmitEmpty] = False
    tasks: tuple[FocusSubtask, ...]


class Readiness(Model):
    """How near the focused task is to being done."""

    status: TaskStatus
    review_cycle: Annotated[int, OmitEmpty] = 0
    has_review_feedback: Annotated[bool, OmitEmpty] = False
    pr_check_status: Annotated[PrCheckStatus | None, OmitNone] = None
    pr_review_decision: Annotated[PrReviewDecision | None, OmitNone] = None
    last_verify_outcome: Annotated[VerifyOutcome | None, OmitNone] = None


class TaskFocus(Model):
    """One task in full: its goal, its waves and its readiness."""

    filename: str
    goal: Annotated[str, OmitEmpty] = ""
    waves: tuple[FocusWave, ...]
    """Empty when the plan has no waves, which is not the same as complete."""
    readiness: Readiness


class Notice(Model):
    """Something that could not be seen, so that nobody takes its absence for an all-clear."""

    code: NoticeCode
    message: str


class LiveStatus(Model):
    """The snapshot: what a group of coding agents is doing right now."""

    schema_version: Literal[2] = 2
    generated_at: Timestamp
    project: str
    daemon_running: bool
    uptime: Annotated[str, OmitEmpty] = ""
    """Whole seconds as `45s`, `3m0s`, `1h0m5s`."""
    repo_count: Annotated[int, OmitEmpty] = 0
    lifecycle: LifecycleCounts
    active_agents: tuple[ActiveAgent, ...]
    attention: tuple[AttentionItem, ...]
    truncated: Truncation
    projects: Annotated[tuple[str, ...] | None, OmitNone] = None
    tasks: Annotated[tuple[TaskSummary, ...] | None, OmitNone] = None
    events: Annotated[tuple[EventItem, ...] | None, OmitNone] = None
    focus: Annotated[TaskFocus | None, OmitNone] = None
    notices: Annotated[tuple[Notice, ...], OmitEmpty] = ()
