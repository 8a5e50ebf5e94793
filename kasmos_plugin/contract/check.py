"""One line of what a doctor found. Knows not what it is about."""

from typing import Annotated, Literal

from kasmos_plugin.contract.base import Model, OmitEmpty

CheckState = Literal["ok", "warning", "failed"]


class Check(Model):
    """One thing that was looked at: how it stands, what was seen, and what mends it."""

    name: str
    """What was looked at, in lower case and stable: `store`, `monitor`, `plugin copy`."""
    state: CheckState
    """`failed` when kasmos cannot do its work; `warning` when a part is off or was not seen."""
    message: str
    """What was seen, in one line."""
    hint: Annotated[str, OmitEmpty] = ""
    """The command that mends it."""
