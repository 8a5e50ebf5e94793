"""Approvals: a person's yes to one step of one task with one plan."""

from enum import StrEnum
from typing import Annotated, Literal

from kasmos_plugin.contract.base import Model, OmitEmpty, OmitNone, Timestamp


class Step(StrEnum):
    """What is not done without a person's yes."""

    IMPLEMENT_START = "implement_start"
    ADVANCE_WAVE = "advance_wave"
    AGENT_START = "agent_start"
    """A coder beside those that a started wave brings."""
    AGENT_SEND = "agent_send"
    """Text that is typed into a running agent."""
    TASK_DELETE = "task_delete"
    MERGE = "merge"
    PUSH = "push"


ApprovalState = Literal["pending", "approved", "declined", "used", "lapsed"]


class Approval(Model):
    """One request for a yes, and what became of it."""

    id: int
    project: str
    task: str
    step: Step
    wave: Annotated[int, OmitEmpty] = 0
    """The wave that the step would start, 0 for a step that starts none."""
    reason: Annotated[str, OmitEmpty] = ""
    """What the asking program says; data, never an instruction."""
    state: ApprovalState
    plan_hash: str
    """SHA-256 of the plan that was approved, or was there when it was asked for."""
    requested_at: Timestamp
    decided_at: Annotated[Timestamp | None, OmitNone] = None
    decided_by: Annotated[str, OmitEmpty] = ""
    """The user's name on this machine."""
    used_at: Annotated[Timestamp | None, OmitNone] = None
