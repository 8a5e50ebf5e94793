"""The two commands that must start fast. Knows no click, no pydantic and no platformdirs.

Everything that they cannot do at once (an option that they do not know, a daemon that does not
answer with a snapshot) is left to the full command, which says why.
"""

import sys

TYPE_CHECKING = False  # `typing` and `pathlib` would double the time that a report takes.
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

_OPTIONS = ("--project", "--cap", "--include", "--focus", "--db")
DAEMON_BUDGET_S = 2.0


def run(arguments: "Sequence[str]") -> int | None:
    """Run a fast command and return its exit code, or None when it is for the full command."""
    command = tuple(arguments[:2])
    if command == ("agent", "report") and not {"-h", "--help"} & set(arguments):
        from kasmos_plugin.cli.report import report  # A fast module, wanted by this command alone.

        return report(list(arguments[2:]))
    if command == ("monitor", "status"):
        options = _options(arguments[2:])
        if options is not None and "--json" in options:
            return _status(options)
    return None


def database(given: str, environment: "Mapping[str, str]") -> "Path | None":
    """Return the store's path without platformdirs, or None when only platformdirs can tell it."""
    from pathlib import Path

    from kasmos_plugin import paths

    if given:
        return Path(given).expanduser().absolute()
    if environment.get("KASMOS_DB") or environment.get("KASMOS_HOME"):
        return paths.database()
    if environment.get("XDG_DATA_HOME") or sys.platform != "linux":
        return None
    return Path("~/.local/share/kasmos/kasmos.db").expanduser()


def _options(arguments: "Sequence[str]") -> dict[str, str] | None:
    """Return the options given, or None when one is not among those known here."""
    found: dict[str, str] = {}
    rest = iter(arguments)
    for argument in rest:
        name, equals, value = argument.partition("=")
        if name in _OPTIONS:
            taken = value if equals else next(rest, None)
            if taken is None:
                return None
            found[name] = taken
        elif argument == "--json":
            found[argument] = ""
        else:
            return None
    return found


def _status(options: "Mapping[str, str]") -> int | None:
    import os

    from kasmos_plugin import paths
    from kasmos_plugin.daemon.client import request
    from kasmos_plugin.errors import Unreachable

    store = database(options.get("--db", ""), os.environ)
    if store is None:
        return None
    target = status_target(
        project=options.get("--project") or os.environ.get("KASMOS_PROJECT", ""),
        database=store,
        cap=options.get("--cap"),
        include=options.get("--include", ""),
        focus=options.get("--focus", ""),
    )
    try:
        reply = request(paths.socket_text(), "GET", target, timeout_s=DAEMON_BUDGET_S)
    except Unreachable:
        return None
    if reply.status != 200:
        return None
    sys.stdout.buffer.write(reply.body + b"\n")
    return 0


def status_target(
    *, project: str, database: "Path", cap: str | None, include: str, focus: str
) -> str:
    """Return the request target of the daemon's snapshot that answers these options."""
    from pathlib import Path

    from kasmos_plugin.daemon.client import segment

    asked = {"database": str(database), "include": include, "focus": focus}
    if not project:
        asked["cwd"] = str(Path.cwd())
    query = [f"{name}={segment(value)}" for name, value in asked.items() if value]
    if cap is not None:
        query.append(f"cap={segment(cap)}")
    return f"/v1/repos/{segment(project) if project else '-'}/live-status?{'&'.join(query)}"
