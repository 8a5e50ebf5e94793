"""What is known before anything is decided: the input of the snapshot. Plain values, never sent."""

from dataclasses import dataclass

from kasmos_plugin.contract.agent import AgentView
from kasmos_plugin.contract.event import EventRecord
from kasmos_plugin.contract.live_status import Notice
from kasmos_plugin.contract.task import Subtask, Task, TaskStatus, Wave


@dataclass(frozen=True, kw_only=True)
class DaemonView:
    """What the daemon said, or that it said nothing."""

    is_running: bool
    uptime_s: int = 0
    repo_count: int = 0
    projects: tuple[str, ...] = ()
    agents: tuple[AgentView, ...] = ()
    notices: tuple[Notice, ...] = ()


@dataclass(frozen=True, kw_only=True)
class FocusFacts:
    """One task in full."""

    task: Task
    waves: tuple[Wave, ...]
    subtasks: tuple[Subtask, ...]


@dataclass(frozen=True, kw_only=True)
class Facts:
    """Everything that a snapshot of one project may show."""

    project: str
    projects: tuple[str, ...]
    counts: dict[TaskStatus, int]
    tasks: tuple[Task, ...]
    """The first `MAX_CAP` active tasks by name."""
    waiting: tuple[Task, ...]
    """Every active task with a stored reason for attention."""
    events: tuple[EventRecord, ...]
    """The newest `MAX_CAP` events, newest first."""
    event_count: int
    """How many events the project has in all."""
    daemon: DaemonView
    focus: FocusFacts | None = None
    notices: tuple[Notice, ...] = ()
