"""The monitor's side of the contract: what it asks for, and what it tells a host."""

from typing import Annotated, Literal

from kasmos_plugin.contract.base import Model, OmitEmpty

DisplayMode = Literal["pip", "inline", "fullscreen", "sidebar"]
Theme = Literal["light", "dark"]

DEFAULT_SERVE_URL = "http://127.0.0.1:7433"
"""Where `kas serve` answers unless it is told another port."""
SNAPSHOT_PATH = "/v1/monitor/snapshot"
"""Where it answers what a host asks for its monitor."""

HOST_CONTRACT_VERSION = 1
HOST_GLOBAL = "kasmosMonitorHost"
"""The property of `window` that holds a host's object."""
REQUIRED_CAPABILITIES = (
    "contractVersion",
    "displayMode",
    "visibility",
    "theme",
    "refresh",
    "subscribe",
)
"""What a host's object must have; a monitor shows an object of another version as incompatible."""
OPTIONAL_CAPABILITIES = (
    "snapshot",
    "input",
    "state",
    "maxHeight",
    "saveState",
    "setBadge",
    "requestDisplayMode",
    "sendPrompt",
)
"""What it may have; the monitor leaves out what needs one that is missing."""


class MonitorScope(Model):
    """The only state that a widget owns and the only input of a refresh."""

    project: Annotated[str, OmitEmpty] = ""
    task: Annotated[str, OmitEmpty] = ""


class Badge(Model):
    """What a host may show of a closed pane; counts include what was truncated."""

    level: Literal["idle", "running", "attention", "offline"]
    running_agents: int
    blocked: int
    implementing: int
    reviewing: int
    project: Annotated[str, OmitEmpty] = ""
    task: Annotated[str, OmitEmpty] = ""


class SnapshotEndpoint(Model):
    """Where a host asks for the snapshot that its `refresh` returns."""

    method: Literal["POST"]
    path: str
    default_origin: str


class BundleFile(Model):
    """One file of the bundle."""

    path: str
    """Relative to the manifest."""
    sha256: str
    """64 hex digits."""
    bytes: int


class BundleManifest(Model):
    """What the monitor's bundle holds, and what it needs of a host.

    Reads that of another version too, so that its files can be told from those of others.
    """

    name: Literal["kasmos-monitor"]
    contract_version: int
    live_status_schema_version: int
    root_element_id: str
    host_global: str
    snapshot_endpoint: SnapshotEndpoint
    required_capabilities: tuple[str, ...]
    optional_capabilities: tuple[str, ...]
    files: tuple[BundleFile, ...]
    """All of them but the manifest."""
