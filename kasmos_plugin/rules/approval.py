"""When a step needs a person's yes, and how long a yes holds. Pure; knows nothing of the store.

       request            approve               the step is taken
(none) ───────> pending ───────────> approved ───────────────────> used
                   │ decline             │ the plan changed, or 24 h passed
                   v                     v
                declined              lapsed
"""

import hashlib
from datetime import datetime, timedelta

from kasmos_plugin.contract.approval import ApprovalState, Step
from kasmos_plugin.contract.task import LifecycleEvent
from kasmos_plugin.rules.lifecycle import Position

HOLDS = timedelta(hours=24)
"""How long an approval that was not used holds."""

_GATED = {
    LifecycleEvent.IMPLEMENT_START: Step.IMPLEMENT_START,
    LifecycleEvent.ADVANCE_WAVE: Step.ADVANCE_WAVE,
}
_WORDS = {
    Step.IMPLEMENT_START: "start wave {wave}",
    Step.ADVANCE_WAVE: "start wave {wave}",
    Step.AGENT_START: "start one more coder",
    Step.AGENT_SEND: "send text to an agent",
    Step.TASK_DELETE: "delete the task",
    Step.MERGE: "merge",
    Step.PUSH: "push",
}


def gate(event: LifecycleEvent) -> Step | None:
    """Return the step that a lifecycle event is, None for one that needs no approval."""
    return _GATED.get(event)


def wave_of(step: Step, at: Position) -> int:
    """Return the wave that a step would start now; 0 for a step that starts none."""
    if step is Step.IMPLEMENT_START:
        return 1
    return at.active_wave + 1 if step is Step.ADVANCE_WAVE else 0


def plan_hash(text: str) -> str:
    """Return what names a plan's text: its SHA-256."""
    return hashlib.sha256(text.encode()).hexdigest()


def state(
    *,
    decision: ApprovalState | None,
    decided_at: datetime | None,
    used_at: datetime | None,
    approved_plan: str,
    plan: str,
    now: datetime,
) -> ApprovalState:
    """Return how an approval stands at `now`, where the task's plan has the hash `plan`.

    A decision from the future is one of now: clocks go back, and no yes may hold longer for it.
    """
    if decision is None or decided_at is None:
        return "pending"
    if decision == "declined":
        return "declined"
    if used_at is not None:
        return "used"
    return "approved" if approved_plan == plan and now - decided_at < HOLDS else "lapsed"


def step_words(step: Step, wave: int = 0) -> str:
    """Return what a step does, in words: `start wave 2`."""
    return _WORDS[step].format(wave=wave)
