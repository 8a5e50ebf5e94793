"""Checks as a table or as JSON, and the exit code that they mean."""

from collections.abc import Sequence

from kasmos_plugin.cli.output import echo_json, table
from kasmos_plugin.contract.check import Check
from kasmos_plugin.errors import Exit
from kasmos_plugin.summary import plural

_MARKS = {"ok": ("✓", "green"), "warning": ("▲", "yellow"), "failed": ("■", "red")}


def print_checks(checks: Sequence[Check], *, as_json: bool) -> None:
    """Print what was looked at, what was seen and the command that mends it."""
    if as_json:
        told = [check.model_dump(mode="json") for check in checks]
        echo_json({"ok": exit_code(checks) == Exit.OK, "checks": told})
        return
    from rich.text import Text  # 60 ms at start, which JSON does without.

    rows = []
    for check in checks:
        shape, style = _MARKS[check.state]
        seen = Text(check.message)
        if check.hint:
            seen.append("\n→ ", style="dim").append(check.hint, style="bold")
        rows.append((Text(f"{shape} {check.state}", style=style), check.name, seen))
    table(("state", "what", "seen"), rows, empty="nothing was looked at")
    count = {state: sum(check.state == state for check in checks) for state in _MARKS}
    print(f"\n{count['ok']} ok, {plural(count['warning'], 'warning')}, {count['failed']} failed")


def exit_code(checks: Sequence[Check]) -> int:
    """Return 1 when a check failed, else 0: a warning is no failure."""
    return Exit.FAILED if any(check.state == "failed" for check in checks) else Exit.OK
