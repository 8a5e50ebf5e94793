"""`kas agent report`: an agent, or its hook, says what it is doing. Must start fast.

Knows no click and no pydantic. Says nothing unless it is used wrongly or asked to: what a hook
prints lands in an agent's conversation.
"""

import os
import sys
import time

from kasmos_plugin import paths
from kasmos_plugin.errors import Exit, KasmosError

TYPE_CHECKING = False  # `collections.abc` would cost a hook's command a tenth.
if TYPE_CHECKING:
    from collections.abc import Sequence

STAGES = ("loading", "ready", "running")
USAGE = """Usage: kas agent report --stage loading|ready|running [--agent ID] [--project NAME]
                        [--verbose]
"""
WITHIN_S = 0.9


def report(argv: "Sequence[str]") -> int:
    """Report a stage to the daemon and return the exit code.

    0 the daemon took it, 1 it refused, or no agent is named, 2 wrong usage, 3 no daemon answered.
    """
    options = _options(argv)
    if options is None or options.get("--stage") not in STAGES:
        sys.stderr.write(f"{USAGE}\nTry 'kas agent report --help' for help.\n")
        return Exit.USAGE
    is_verbose = "--verbose" in options
    agent_id = options.get("--agent") or os.environ.get("KASMOS_AGENT_ID", "")
    if not agent_id:
        if is_verbose:
            sys.stderr.write("error: no agent: KASMOS_AGENT_ID is not set\nhint: --agent ID\n")
        return Exit.FAILED
    from kasmos_plugin.daemon.client import call, segment

    body = f'{{"stage":"{options["--stage"]}","at":"{_now()}"}}'.encode("ascii")
    target = f"/v1/agents/{segment(agent_id)}/report"
    if project := options.get("--project"):
        target += f"?project={segment(project)}"
    try:
        call(paths.socket_text(), "POST", target, body=body, timeout_s=WITHIN_S)
    except KasmosError as error:
        if is_verbose:
            sys.stderr.write(f"error: {error.message}\nhint: {error.hint}\n")
        return error.exit_code
    return Exit.OK


def _now() -> str:
    """Return the present instant as RFC 3339; `datetime` would cost a third of the start."""
    seconds, ns = divmod(time.time_ns(), 1_000_000_000)
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(seconds))}.{ns // 1000:06d}Z"


def _options(argv: "Sequence[str]") -> dict[str, str] | None:
    """Return the options given, or None when one is unknown or has no value."""
    found: dict[str, str] = {}
    rest = iter(argv)
    for argument in rest:
        name, equals, value = argument.partition("=")
        if argument in ("--verbose", "-v"):
            found["--verbose"] = ""
        elif name in ("--stage", "--agent", "--project"):
            taken = value if equals else next(rest, None)
            if taken is None:
                return None
            found[name] = taken
        else:
            return None
    return found
