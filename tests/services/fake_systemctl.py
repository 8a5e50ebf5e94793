"""A `systemctl --user` for tests: records what it is told, and keeps units as a dictionary.

Lies on PATH as `systemctl`. In its directory: `calls` holds a line of JSON for each call, `units`
the states. A file `silent` makes the manager absent; `refuse` holds verbs that fail; with `really`
units are started as processes.
"""

import json
import os
import select
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

HERE = Path(sys.argv[0]).parent
CALLS, UNITS = HERE / "calls", HERE / "units"
UNIT_DIR = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "systemd/user"


def main(arguments: list[str]) -> int:
    with CALLS.open("a") as calls:
        calls.write(json.dumps(arguments) + "\n")
    assert os.environ["LC_ALL"] == "C"
    if arguments[:1] != ["--user"] or (HERE / "silent").exists():
        print("Failed to connect to bus: No medium found", file=sys.stderr)
        return 1
    flags = [word for word in arguments[1:] if word.startswith("--")]
    verb, *names = [word for word in arguments[1:] if not word.startswith("--")]
    refused = (HERE / "refuse").read_text().split("\n") if (HERE / "refuse").exists() else []
    if " ".join((verb, *names)) in refused:
        print(f"Job for {names} failed.", file=sys.stderr)
        return 1
    units: dict[str, dict[str, Any]] = json.loads(UNITS.read_text()) if UNITS.exists() else {}
    code = 0
    for name in names:
        unit = units.setdefault(name, {"enabled": False, "active": "inactive", "pid": 0})
        code = max(code, act(verb, name, unit, flags))
    UNITS.write_text(json.dumps(units))
    return code


def act(verb: str, name: str, unit: dict[str, Any], flags: list[str]) -> int:
    path = UNIT_DIR / name
    if verb == "show":
        return show(path, unit, flags)
    if verb in ("enable", "start", "restart") and not path.exists():
        print(f"Unit {name} not found.", file=sys.stderr)
        return 5
    if verb in ("stop", "restart") or "--now" in flags:
        stop(unit)
    if verb in ("start", "restart") and unit["active"] != "active":
        unit["active"], unit["pid"] = "active", start(path, unit)
    if verb in ("enable", "disable"):
        unit["enabled"] = verb == "enable"
    return 0


def start(path: Path, unit: dict[str, Any]) -> int:
    if not (HERE / "really").exists():
        return int(unit.get("next_pid", 4_000_000))
    reader = Path((HERE / "really").read_text())
    with (HERE / f"{path.name}.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, str(reader), str(path)],
            env={"HOME": os.environ["HOME"], "PATH": os.environ["PATH"]},
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    process.returncode = 0  # It lives on without this one.
    return process.pid


def stop(unit: dict[str, Any]) -> None:
    if unit["pid"] and (HERE / "really").exists():
        with suppress(ProcessLookupError):
            watched = os.pidfd_open(unit["pid"])
            os.kill(unit["pid"], signal.SIGTERM)
            select.select([watched], [], [], 10)
    unit["active"], unit["pid"] = "inactive", 0


def show(path: Path, unit: dict[str, Any], flags: list[str]) -> int:
    told = {
        "LoadState": "loaded" if path.exists() else "not-found",
        "ActiveState": unit["active"],
        "SubState": unit.get("sub", "running" if unit["active"] == "active" else "dead"),
        "MainPID": str(unit["pid"]),
        "UnitFileState": "enabled" if unit["enabled"] else "disabled" if path.exists() else "",
        "ExecMainStatus": str(unit.get("status", 0)),
        "FragmentPath": unit.get("fragment", str(path) if path.exists() else ""),
    }
    for flag in flags:
        key = flag.removeprefix("--property=")
        if key in told:
            print(f"{key}={told[key]}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
