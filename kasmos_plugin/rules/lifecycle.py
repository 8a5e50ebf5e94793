"""Which event moves a task where. One pure table; knows nothing of the store.

        plan_start          planner_finished       implement_start
 ready ───────────> planning ──────────> ready ──────────────> implementing / wave_running
                                      (planned)                    │  ^ wave_finished,
                                                                   v  │ advance_wave
                            request_review                      wave_waiting
        done <────────── verifying <────────── reviewing <──── implement_finished
             verify_approved       review_approved   │ review_changes_requested
                                                     └──────> implementing / fixing

`cancel` leaves every active status; `reopen` leads from cancelled back to planning.
"""

import shlex
from collections.abc import Iterable
from dataclasses import dataclass, replace

from kasmos_plugin.contract.event import Level
from kasmos_plugin.contract.task import (
    ACTIVE_STATUSES,
    LifecycleEvent,
    Phase,
    Subtask,
    SubtaskStatus,
    Task,
    TaskStatus,
    VerifyOutcome,
)
from kasmos_plugin.errors import IllegalEvent

S, P, E = TaskStatus, Phase, LifecycleEvent

PHASES: dict[TaskStatus, frozenset[Phase | None]] = {
    S.PLANNING: frozenset({None}),
    S.READY: frozenset({None, P.PLANNED}),
    S.IMPLEMENTING: frozenset({P.WAVE_RUNNING, P.WAVE_WAITING, P.FIXING}),
    S.REVIEWING: frozenset({P.REVIEWING}),
    S.VERIFYING: frozenset({None}),
    S.DONE: frozenset({None}),
    S.CANCELLED: frozenset({None}),
}
"""The phases that each status may have."""


@dataclass(frozen=True, kw_only=True)
class Position:
    """Where a task stands: everything that the table reads and writes."""

    status: TaskStatus
    phase: Phase | None = None
    active_wave: int = 0
    total_waves: int = 0
    review_cycle: int = 0
    has_feedback: bool = False
    last_verify_outcome: VerifyOutcome | None = None


@dataclass(frozen=True)
class _Move:
    statuses: tuple[TaskStatus, ...]
    to: TaskStatus
    phase: Phase | None = None
    phases: tuple[Phase | None, ...] | None = None
    """Phases that the event needs; None when any will do."""


MOVES: dict[LifecycleEvent, _Move] = {
    E.PLAN_START: _Move((S.READY, S.PLANNING), S.PLANNING),
    E.PLANNER_FINISHED: _Move((S.PLANNING,), S.READY, P.PLANNED),
    E.IMPLEMENT_START: _Move((S.READY,), S.IMPLEMENTING, P.WAVE_RUNNING, (P.PLANNED,)),
    E.WAVE_FINISHED: _Move((S.IMPLEMENTING,), S.IMPLEMENTING, P.WAVE_WAITING, (P.WAVE_RUNNING,)),
    E.ADVANCE_WAVE: _Move((S.IMPLEMENTING,), S.IMPLEMENTING, P.WAVE_RUNNING, (P.WAVE_WAITING,)),
    E.IMPLEMENT_FINISHED: _Move((S.IMPLEMENTING,), S.REVIEWING, P.REVIEWING),
    E.REVIEW_APPROVED: _Move((S.REVIEWING,), S.VERIFYING),
    E.REVIEW_CHANGES_REQUESTED: _Move((S.REVIEWING,), S.IMPLEMENTING, P.FIXING),
    E.VERIFY_APPROVED: _Move((S.VERIFYING,), S.DONE),
    E.VERIFY_FAILED: _Move((S.VERIFYING,), S.IMPLEMENTING, P.FIXING),
    E.REQUEST_REVIEW: _Move((S.DONE,), S.REVIEWING, P.REVIEWING),
    E.REIMPLEMENT: _Move((S.DONE,), S.IMPLEMENTING, P.FIXING),
    E.START_OVER: _Move((S.DONE,), S.PLANNING),
    E.CANCEL: _Move(ACTIVE_STATUSES, S.CANCELLED),
    E.REOPEN: _Move((S.CANCELLED,), S.PLANNING),
}
"""Every event: the statuses (and phases) it starts from, and where it leads."""

UNBLOCKING = frozenset({E.VERIFY_APPROVED, E.CANCEL, E.START_OVER})
"""Events that decide what a block reason asked, and so clear it."""

RESETTING = frozenset({E.START_OVER, E.REOPEN})
"""Events after which the work begins again: subtasks are pending, no wave is active."""


def position_of(task: Task) -> Position:
    """Return where a stored task stands."""
    return Position(
        status=task.status,
        phase=task.phase,
        active_wave=task.active_wave,
        total_waves=task.total_waves,
        review_cycle=task.review_cycle,
        has_feedback=bool(task.feedback),
        last_verify_outcome=task.last_verify_outcome,
    )


def needs_decision(task: Task) -> bool:
    """Return whether an active task waits for a decision: between waves, blocked, or asking."""
    is_asking = task.pending_step is not None
    return bool(task.block_reason) or is_asking or task.phase is P.WAVE_WAITING


def needs_fixer(task: Task) -> bool:
    """Return whether current review feedback has to be addressed; in no other status it has."""
    return task.status is S.IMPLEMENTING and bool(task.feedback.strip())


def new_position(*, total_waves: int) -> Position:
    """Return where a new task stands: ready, and planned when its plan has waves."""
    phase = P.PLANNED if total_waves else None
    return Position(status=S.READY, phase=phase, total_waves=total_waves)


def move(at: Position, event: LifecycleEvent, *, name: str = "the task") -> Position:
    """Return where `event` leads from `at`.

    Raises:
        IllegalEvent: the event is not legal there; the message lists the legal ones, or says what
            is missing (a next wave, a stored wave).
    """
    if (why := _why_not(at, event)) is not None:
        legal = ", ".join(legal_events(at)) or "none"
        where = f"{at.status}, {at.phase}" if at.phase else at.status
        raise IllegalEvent(
            f"Task '{name}' is {where}: {event} is not possible, {why}. Legal now: {legal}.",
            hint=_way_out(at, event, name),
        )
    to = MOVES[event]
    moved = replace(at, status=to.to, phase=to.phase)
    if event in RESETTING:
        return replace(
            moved, active_wave=0, review_cycle=0, has_feedback=False, last_verify_outcome=None
        )
    if event is E.IMPLEMENT_START:
        return replace(moved, active_wave=1)
    if event is E.ADVANCE_WAVE:
        return replace(moved, active_wave=at.active_wave + 1)
    if event is E.IMPLEMENT_FINISHED:
        return replace(moved, active_wave=0, has_feedback=False)
    if event is E.REVIEW_CHANGES_REQUESTED:
        return replace(moved, review_cycle=at.review_cycle + 1, has_feedback=True)
    if event is E.VERIFY_APPROVED:
        return replace(moved, last_verify_outcome="approved")
    if event is E.VERIFY_FAILED:
        return replace(moved, last_verify_outcome="failed")
    if event is E.CANCEL:
        return replace(moved, active_wave=0, has_feedback=False)
    return moved


def legal_events(at: Position) -> tuple[LifecycleEvent, ...]:
    """Return the events that are legal at `at`, in the table's order."""
    return tuple(event for event in LifecycleEvent if _why_not(at, event) is None)


def follow_up(at: Position, subtasks: Iterable[Subtask]) -> LifecycleEvent | None:
    """Return the event that the state of the active wave's subtasks makes due, if any.

    When every subtask of the running wave is done: `wave_finished`, or `implement_finished` after
    the last wave.
    """
    if at.phase is not P.WAVE_RUNNING:
        return None
    active = [subtask for subtask in subtasks if subtask.wave == at.active_wave]
    if not active or any(subtask.status is not SubtaskStatus.DONE for subtask in active):
        return None
    return E.WAVE_FINISHED if at.active_wave < at.total_waves else E.IMPLEMENT_FINISHED


def _way_out(at: Position, event: LifecycleEvent, name: str) -> str:
    """Return the command that makes `event` legal; empty when it takes more than one."""
    if at.status not in MOVES[event].statuses:
        return ""
    task = shlex.quote(name)
    if event in (E.PLANNER_FINISHED, E.IMPLEMENT_START) and at.total_waves == 0:
        return f"kas task update {task} --plan PLAN.md"
    if event is E.ADVANCE_WAVE and at.phase is P.WAVE_RUNNING:
        return f"kas task subtask {task} N done, for each subtask N of the wave"
    return ""


def _why_not(at: Position, event: LifecycleEvent) -> str | None:
    needed = MOVES[event]
    if at.status not in needed.statuses:
        return f"it starts from {' or '.join(needed.statuses)}"
    if event in (E.PLANNER_FINISHED, E.IMPLEMENT_START) and at.total_waves == 0:
        return "the plan has no waves"
    if needed.phases is not None and at.phase not in needed.phases:
        return f"it needs the phase {' or '.join(str(phase) for phase in needed.phases)}"
    if event is E.ADVANCE_WAVE and at.active_wave >= at.total_waves:
        return f"there is no wave after wave {at.active_wave}"
    return None


def told(event: LifecycleEvent, to: Position) -> tuple[str, Level]:
    """Return how an event that led to `to` is told in the event stream, and how loud."""
    wave = f"wave {to.active_wave} of {to.total_waves}"
    told_of: dict[LifecycleEvent, tuple[str, Level]] = {
        E.PLAN_START: ("planning started", "info"),
        E.PLANNER_FINISHED: ("the plan is ready", "info"),
        E.IMPLEMENT_START: (f"implementing started, {wave}", "info"),
        E.WAVE_FINISHED: (f"{wave} is done, a decision is due", "warn"),
        E.ADVANCE_WAVE: (f"{wave} started", "info"),
        E.IMPLEMENT_FINISHED: ("implemented, review is due", "info"),
        E.REVIEW_APPROVED: ("review approved, verifying", "info"),
        E.REVIEW_CHANGES_REQUESTED: (
            f"review asked for changes, cycle {to.review_cycle}",
            "warn",
        ),
        E.VERIFY_APPROVED: ("verified, done", "info"),
        E.VERIFY_FAILED: ("verification failed", "error"),
        E.REQUEST_REVIEW: ("another review was requested", "info"),
        E.REIMPLEMENT: ("implementing again", "info"),
        E.START_OVER: ("starting over", "warn"),
        E.CANCEL: ("cancelled", "warn"),
        E.REOPEN: ("reopened", "info"),
    }
    return told_of[event]
