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
    """A plan is being made."""
    ready: int
    """Waits to be started."""
    implementing: int
    """Is being worked on, or fixed."""
    reviewing: int
    """Is under review."""
    verifying: int
    """Is being verified."""
    total: int
    """Sum of the five."""


class ActiveAgent(Model):
    """One agent that runs, waits, is paused or needs a look, in order of task, role and wave."""

    task: str
    """The task it works on; empty for an agent without one."""
    role: str
    """What it does, such as `coder`."""
    wave: Annotated[int, OmitEmpty] = 0
    """The wave it works in."""
    stage: Annotated[Stage | None, OmitNone] = None
    """Omitted when neither a report nor recent output supports one."""
    ready: Annotated[bool, OmitEmpty] = False
    """It reported that it waits for a person."""
    active: Annotated[bool, OmitEmpty] = False
    """Its process lives and is not paused."""
    worktree: Annotated[str, OmitEmpty] = ""
    """Basename of its working tree, never a path."""
    branch: Annotated[str, OmitEmpty] = ""
    """Its git branch."""
    task_number: Annotated[int, OmitEmpty] = 0
    """The subtask it works on."""
    last_activity: Annotated[Timestamp | None, OmitNone] = None
    """Its last output or report."""
    paused: Annotated[bool, OmitEmpty] = False
    """It was stopped on purpose."""
    id: Annotated[str, OmitEmpty] = ""
    """Stable key of the agent."""
    program: Annotated[str, OmitEmpty] = ""
    """Basename of its command, such as `codex`."""
    stage_since: Annotated[Timestamp | None, OmitNone] = None
    """When the stage began."""
    health: Annotated[Health | None, OmitNone] = None
    """`unknown` or `stale`; omitted when good."""
    evidence: Annotated[Evidence | None, OmitNone] = None
    """What the stage rests on."""


class AttentionItem(Model):
    """One durable condition that may need a person, most urgent kind first, oldest first."""

    task: str
    """The task concerned; empty for an agent without one."""
    kind: AttentionKind
    """`needs_decision`: a wave is done or the task is blocked. `review_feedback`: a fixer must
    address it. `stale_instance`: an agent needs a look.
    """
    detail: Annotated[str, OmitEmpty] = ""
    """The reason, where there is one."""
    since: Annotated[Timestamp | None, OmitNone] = None
    """Since when it waits."""
    agent: Annotated[str, OmitEmpty] = ""
    """The agent's id, for `stale_instance`."""


class Truncation(Model):
    """How many items were left out of each capped array."""

    active_agents: Annotated[int, OmitEmpty] = 0
    """Agents left out."""
    attention: Annotated[int, OmitEmpty] = 0
    """Attention items left out."""
    tasks: Annotated[int, OmitEmpty] = 0
    """Tasks left out."""
    events: Annotated[int, OmitEmpty] = 0
    """Events left out."""


class TaskSummary(Model):
    """One task in an active status. Sorted by filename."""

    filename: str
    """The task's name."""
    status: TaskStatus
    """Where it is in its life."""
    phase: Annotated[Phase | None, OmitNone] = None
    """What happens inside the status."""
    topic: Annotated[str, OmitEmpty] = ""
    """What it belongs to."""
    branch: Annotated[str, OmitEmpty] = ""
    """Its git branch."""
    active_wave: Annotated[int, OmitEmpty] = 0
    """The wave being worked on."""
    total_waves: Annotated[int, OmitEmpty] = 0
    """Waves of its plan; none is `no waves`, not complete."""
    subtasks_done: int
    """Subtasks that are done."""
    subtasks_total: int
    """Subtasks of its plan."""
    review_cycle: Annotated[int, OmitEmpty] = 0
    """How often a review asked for changes."""
    pr_url: Annotated[str, OmitEmpty] = ""
    """Address of its pull request."""
    pr_check_status: Annotated[PrCheckStatus | None, OmitNone] = None
    """The pull request's checks."""
    pr_review_decision: Annotated[PrReviewDecision | None, OmitNone] = None
    """The pull request's review."""
    blocked: Annotated[bool, OmitEmpty] = False
    """It has an attention item, counted before the cut."""


class EventItem(Model):
    """One event, newest first in its array; `message` has at most 240 graphemes."""

    at: Timestamp
    """When it was written."""
    kind: str
    """A lifecycle event, or what else happened."""
    message: str
    """What happened, in words."""
    task: Annotated[str, OmitEmpty] = ""
    """The task concerned."""
    agent: Annotated[str, OmitEmpty] = ""
    """The agent concerned."""
    wave: Annotated[int, OmitEmpty] = 0
    """The wave concerned."""
    task_number: Annotated[int, OmitEmpty] = 0
    """The subtask concerned."""
    level: Annotated[Level | None, OmitNone] = None
    """How loud it is."""


class FocusSubtask(Model):
    """One subtask of the focused task; `number` is unique in the task."""

    number: int
    """Its number, 1..N over all waves."""
    title: str
    """What it is about."""
    status: SubtaskStatus
    """How far it is."""


class FocusWave(Model):
    """One wave of the focused task with all its subtasks."""

    wave: int
    """Its number, from 1."""
    title: Annotated[str, OmitEmpty] = ""
    """What it is about."""
    active: Annotated[bool, OmitEmpty] = False
    """It is being worked on."""
    tasks: tuple[FocusSubtask, ...]
    """Its subtasks by number."""


class Readiness(Model):
    """How near the focused task is to being done."""

    status: TaskStatus
    """Where the task is in its life."""
    review_cycle: Annotated[int, OmitEmpty] = 0
    """How often a review asked for changes."""
    has_review_feedback: Annotated[bool, OmitEmpty] = False
    """Current feedback waits for a fixer."""
    pr_check_status: Annotated[PrCheckStatus | None, OmitNone] = None
    """The pull request's checks."""
    pr_review_decision: Annotated[PrReviewDecision | None, OmitNone] = None
    """The pull request's review."""
    last_verify_outcome: Annotated[VerifyOutcome | None, OmitNone] = None
    """How the last verification ended."""


class TaskFocus(Model):
    """One task in full: its goal, its waves and its readiness."""

    filename: str
    """The task's name."""
    goal: Annotated[str, OmitEmpty] = ""
    """The plan's goal."""
    waves: tuple[FocusWave, ...]
    """Empty when the plan has no waves, which is not the same as complete."""
    readiness: Readiness
    """How near it is to being done."""


class Notice(Model):
    """Something that could not be seen, so that nobody takes its absence for an all-clear."""

    code: NoticeCode
    """What could not be seen, for programs."""
    message: str
    """The same in words."""


class LiveStatus(Model):
    """The snapshot: what a group of coding agents is doing right now."""

    schema_version: Literal[2] = 2
    """Version of this shape; check it before reading on."""
    generated_at: Timestamp
    """When the snapshot was assembled; ages are relative to it."""
    project: str
    """The project shown; empty when none is known."""
    daemon_running: bool
    """Whether a daemon of this store answered; false means that agents are unknown."""
    uptime: Annotated[str, OmitEmpty] = ""
    """Whole seconds as `45s`, `3m0s`, `1h0m5s`."""
    repo_count: Annotated[int, OmitEmpty] = 0
    """Repositories that the daemon knows."""
    lifecycle: LifecycleCounts
    """Tasks in each active status."""
    active_agents: tuple[ActiveAgent, ...]
    """Agents that run, wait, are paused or need a look."""
    attention: tuple[AttentionItem, ...]
    """What may need a person, most urgent first."""
    truncated: Truncation
    """How much the cap cut off."""
    projects: Annotated[tuple[str, ...] | None, OmitNone] = None
    """Every known project, sorted."""
    tasks: Annotated[tuple[TaskSummary, ...] | None, OmitNone] = None
    """Active tasks, sorted by filename."""
    events: Annotated[tuple[EventItem, ...] | None, OmitNone] = None
    """Recent events, newest first."""
    focus: Annotated[TaskFocus | None, OmitNone] = None
    """The task asked for, in full."""
    notices: Annotated[tuple[Notice, ...], OmitEmpty] = ()
    """What could not be seen."""
