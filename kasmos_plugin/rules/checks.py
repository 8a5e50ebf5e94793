"""Makes the lines of a doctor's list: what was seen, cleaned. Looks at nothing itself."""

from kasmos_plugin.contract.check import Check, CheckState
from kasmos_plugin.errors import KasmosError
from kasmos_plugin.rules.text import clean

_LIMIT = 600


def check(name: str, state: CheckState, message: str, hint: str = "") -> Check:
    """Return one line; message and hint may hold what another program or the disk said."""
    return Check(name=name, state=state, message=clean(message, _LIMIT), hint=clean(hint, _LIMIT))


def failed(name: str, error: KasmosError) -> Check:
    """Return the line of a look that ended with an expected failure."""
    return check(name, "failed", error.message, error.hint)
