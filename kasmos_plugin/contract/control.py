"""Bodies of the daemon's control API on its Unix socket."""

from typing import Annotated

from kasmos_plugin.contract.agent import AgentEnd, AgentView, ProcessIdentity, Stage
from kasmos_plugin.contract.base import Model, Number, OmitEmpty, OmitNone, Timestamp

CONTROL_VERSION = 1
"""Version of these bodies; a daemon with another one is `daemon_incompatible`."""


class Ping(Model):
    """`GET /v1/ping`: who answers."""

    kasmos: str = "daemon"
    control_version: int = CONTROL_VERSION
    version: str
    instance: str
    """Random for each start of the daemon."""
    pid: int


class DaemonStatus(Ping):
    """`GET /v1/status`: what the daemon watches, since when, on which store."""

    uptime_s: int
    repo_count: int
    agent_count: int
    store_id: str
    database: str
    socket: str


class Repository(Model):
    """One registered repository."""

    project: str
    path: str
    is_missing: Annotated[bool, OmitEmpty] = False


class Repositories(Model):
    """`GET /v1/repos`."""

    repos: tuple[Repository, ...]


class NewRepository(Model):
    """`POST /v1/repos`; without `project`, the name of the repository's directory."""

    path: str
    project: str = ""


class AgentsReply(Model):
    """`GET /v1/repos/{project}/agents`: every listed agent, and the daemon's heartbeat."""

    control_version: int = CONTROL_VERSION
    instance: str
    uptime_s: int
    repo_count: int
    store_id: str
    projects: tuple[str, ...]
    agents: tuple[AgentView, ...]


class ShimHello(Model):
    """First line of a shim's link: who it is and what it runs. Sent again after every reconnect."""

    id: str
    project: str
    task: str = ""
    role: str = "coder"
    wave: Number = 0
    task_number: Number = 0
    program: str = ""
    branch: str = ""
    worktree: str = ""
    log: str = ""
    shim: ProcessIdentity
    process: ProcessIdentity
    started_at: Timestamp


class ShimBeat(Model):
    """A later line of the link. Ages are in ms, measured by the shim's monotonic clock.

    `end` is sent once, when the child is gone; the daemon answers `bye` and the shim leaves.
    """

    output_age_ms: Annotated[int | None, OmitNone] = None
    is_paused: bool = False
    end: Annotated[AgentEnd | None, OmitNone] = None
    exit_code: Annotated[Number | None, OmitNone] = None
    signal: Annotated[Number | None, OmitNone] = None


class StageReport(Model):
    """`POST /v1/agents/{id}/report`: what the agent says of itself."""

    stage: Stage
    at: Annotated[Timestamp | None, OmitNone] = None
    """When it happened; the daemon's clock where it is missing or lies in the future."""


class ErrorBody(Model):
    """What went wrong, in a form that programs can read."""

    code: str
    message: str
    hint: Annotated[str, OmitEmpty] = ""


class ErrorReply(Model):
    """Body of every failed answer of the daemon and of the HTTP routes."""

    error: ErrorBody
