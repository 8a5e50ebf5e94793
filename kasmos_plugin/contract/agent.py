"""Agents: what is stored of one, what is seen of it, and what the monitor may say of it."""

from enum import StrEnum
from typing import Annotated, Literal

from kasmos_plugin.contract.base import Model, OmitEmpty, OmitNone, Timestamp

Stage = Literal["loading", "ready", "running"]
Health = Literal["unknown", "stale"]
Evidence = Literal["report", "output", "process"]


class AgentEnd(StrEnum):
    """How an agent's process ended."""

    EXITED = "exited"
    """It ended by itself; `exit_code` says how."""
    KILLED = "killed"
    """A signal ended it; `signal` says which."""
    LOST = "lost"
    """Shim and process went away without an exit report."""


class ProcessIdentity(Model):
    """What proves that a process is the same one: its pid, its start and the boot it started in.

    `start` is the platform's raw start stamp (Linux: start ticks of `/proc/PID/stat`), never a wall
    clock time. Source: proc(5).
    """

    pid: int
    start: str
    boot_id: str


class AgentRecord(Model):
    """One agent as stored: written at changes of state only."""

    id: str
    project: str
    task: str = ""
    role: str = "coder"
    wave: int = 0
    task_number: int = 0
    program: str = ""
    branch: str = ""
    worktree: str = ""
    """Absolute path of its working tree. Never leaves the machine's private files."""
    shim: ProcessIdentity | None = None
    process: ProcessIdentity | None = None
    log: str = ""
    """Absolute path of its log when it runs detached."""
    started_at: Timestamp
    stage: Stage | None = None
    """The last reported stage; kept so that a waiting `ready` survives a restart."""
    stage_at: Timestamp | None = None
    is_paused: bool = False
    end: AgentEnd | None = None
    exit_code: int | None = None
    signal: int | None = None
    ended_at: Timestamp | None = None
    is_dismissed: bool = False


class AgentView(Model):
    """What the daemon says of one agent that is listed: already judged by `rules.health`."""

    id: str
    project: str
    task: str = ""
    role: str
    wave: Annotated[int, OmitEmpty] = 0
    task_number: Annotated[int, OmitEmpty] = 0
    program: Annotated[str, OmitEmpty] = ""
    branch: Annotated[str, OmitEmpty] = ""
    worktree: Annotated[str, OmitEmpty] = ""
    """Basename only."""
    stage: Annotated[Stage | None, OmitNone] = None
    stage_since: Annotated[Timestamp | None, OmitNone] = None
    is_ready: Annotated[bool, OmitEmpty] = False
    is_active: Annotated[bool, OmitEmpty] = False
    is_paused: Annotated[bool, OmitEmpty] = False
    last_activity: Annotated[Timestamp | None, OmitNone] = None
    health: Annotated[Health | None, OmitNone] = None
    evidence: Annotated[Evidence | None, OmitNone] = None
    reason: Annotated[str, OmitEmpty] = ""
    """The health reason, such as `lost` or `exited with code 3`; empty when healthy."""
    reason_since: Annotated[Timestamp | None, OmitNone] = None
    started_at: Timestamp
    pid: Annotated[int, OmitEmpty] = 0
