"""The monitor's side of the contract: what it asks for, and what it tells a host."""

from typing import Annotated, Literal

from kasmos_plugin.contract.base import Model, OmitEmpty

DisplayMode = Literal["pip", "inline", "fullscreen", "sidebar"]
Theme = Literal["light", "dark"]

DEFAULT_SERVE_URL = "http://127.0.0.1:7433"
"""Where `kas serve` answers unless it is told another port."""


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
