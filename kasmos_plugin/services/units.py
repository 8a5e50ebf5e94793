"""The two services as text: a systemd unit, a launchd agent. Pure: knows no manager and no disk.

Sources: systemd.unit(5), systemd.exec(5), systemd.service(5), systemd.syntax(7), of systemd 245 and
newer; launchd.plist(5).
"""

import json
import plistlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from kasmos_plugin.errors import BadArgument

SERVE = "kasmosdb"
DAEMON = "kasmos"
MARK = "X-Kasmos"
"""The key of a unit of ours; its value is the service's arguments as JSON. systemd ignores `X-`."""

RESTART_S = 5
STOP_WITHIN_S = 15
"""Serve ends within 5 s of the signal, the daemon within its 2 s of open requests."""

_RUNS_US = ("-P", "-m", "kasmos_plugin")
_BARE = re.compile(r"[A-Za-z0-9_./:=@,+-]+")
_NOT_IN_A_PROGRAM = re.compile(r"""["'\\\x00-\x1f\x7f]""")
_EXEC_BY_SHELL = ("/bin/sh", "-c", 'exec "$0" "$@"')

_CONFINED = """\
# What serve never needs. Each of these is a filter of system calls: they hold in a user's manager
# without user namespaces, which some distributions forbid; what hides files would need them.
NoNewPrivileges=yes
RestrictAddressFamilies=AF_UNIX AF_INET
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
MemoryDenyWriteExecute=yes
SystemCallArchitectures=native
SystemCallFilter=~@clock @cpu-emulation @debug @module @mount @obsolete @raw-io @reboot @swap
SystemCallErrorNumber=EPERM
"""

_OPEN = """\
# Agents that the daemon starts outlive it, and inherit every limit that is set here: they build,
# run sudo, and make sandboxes of their own. So there is none, and only the daemon is stopped.
KillMode=process
OOMPolicy=continue
"""


@dataclass(frozen=True, kw_only=True)
class Service:
    """One command of ours that a service manager runs; `arguments` are those of `kas`."""

    name: str
    description: str
    arguments: tuple[str, ...]
    ports: tuple[int, ...] = ()
    """The loopback ports on which it answers; none for the daemon."""
    may_start_agents: bool = False
    """Whether its children must outlive it, and must not be confined."""


def serve_service(*, port: int, mcp_port: int, db: Path | None = None) -> Service:
    """Return `kas serve` as a service; `db` is absolute, None for the store of the environment."""
    return Service(
        name=SERVE,
        description="kasmos monitor page and MCP server",
        arguments=("serve", "--port", str(port), "--mcp-port", str(mcp_port), *_store(db)),
        ports=(port, mcp_port),
    )


def daemon_service(*, db: Path | None = None) -> Service:
    """Return the daemon as a service; `db` is absolute, None for the store of the environment."""
    return Service(
        name=DAEMON,
        description="kasmos daemon, which watches agents",
        arguments=("daemon", "start", "--foreground", *_store(db)),
        may_start_agents=True,
    )


def with_arguments(name: str, arguments: tuple[str, ...]) -> Service:
    """Return the service `name` as an installed unit runs it."""
    service = daemon_service() if name == DAEMON else serve_service(port=0, mcp_port=0)
    return replace(service, arguments=arguments)


def systemd_unit(service: Service, *, interpreter: Path, environment: Mapping[str, str]) -> str:
    """Return the unit that runs `service` by `interpreter`, an absolute path.

    Raises:
        BadArgument: a path is not UTF-8, which no unit may hold.
    """
    command = (str(interpreter), *_RUNS_US, *service.arguments)
    if _NOT_IN_A_PROGRAM.search(command[0]):
        # systemd takes no such path for a program; it does as an argument.
        command = (*_EXEC_BY_SHELL, *command)
    assignments = "".join(
        f"Environment={_quoted(f'{name}={value}')}\n" for name, value in sorted(environment.items())
    )
    # The colon: no `$` of a path is taken for a variable.
    text = f"""\
[Unit]
Description={service.description}
{MARK}={json.dumps(service.arguments)}
# It is tried again for ever: what holds a port or the store today may be gone tomorrow.
StartLimitIntervalSec=0

[Service]
Type=exec
ExecStart=:{" ".join(map(_quoted, command))}
{assignments}Restart=on-failure
RestartSec={RESTART_S}
# Wrong usage, which no restart mends.
RestartPreventExitStatus=2
TimeoutStopSec={STOP_WITHIN_S}
SyslogIdentifier={service.name}
{_OPEN if service.may_start_agents else _CONFINED}
[Install]
WantedBy=default.target
"""
    return _utf8(text)


def launchd_plist(
    service: Service, *, interpreter: Path, environment: Mapping[str, str], log: Path
) -> bytes:
    """Return the agent that runs `service` by `interpreter` and writes what it says to `log`.

    Raises:
        BadArgument: a path is not UTF-8, or holds what XML cannot.
    """
    agent: dict[str, Any] = {
        "Label": service.name,
        "ProgramArguments": [str(interpreter), *_RUNS_US, *service.arguments],
        "EnvironmentVariables": dict(environment),
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
        "ThrottleInterval": RESTART_S,
        "ExitTimeOut": STOP_WITHIN_S,
        "StandardOutPath": str(log),
        "StandardErrorPath": str(log),
    }
    if service.may_start_agents:
        agent["AbandonProcessGroup"] = True
    try:
        return plistlib.dumps(agent, sort_keys=False)
    except ValueError as error:
        raise BadArgument(f"A path cannot be written into a launchd agent: {error}.") from error


def arguments_of_unit(content: bytes) -> tuple[str, ...] | None:
    """Return the arguments of the service that a unit of ours runs, None when it is not ours."""
    section = ""
    for line in content.decode("utf-8", "replace").split("\n"):
        if line.startswith("["):
            section = line.strip()
        key, found, value = line.partition("=")
        if found and section == "[Unit]" and key.strip() == MARK:
            return _texts(_json(value))
    return None


def arguments_of_plist(content: bytes) -> tuple[str, ...] | None:
    """Return the arguments of the service that an agent of ours runs, None when it is not ours."""
    try:
        agent = plistlib.loads(content)
    # Damaged XML, dates and numbers all fail in their own ways.
    except Exception:  # noqa: BLE001 - a file that cannot be read is not ours.
        return None
    command = _texts(agent.get("ProgramArguments") if isinstance(agent, dict) else None) or ()
    return command[4:] if command[1:4] == _RUNS_US else None


def _store(db: Path | None) -> tuple[str, ...]:
    return ("--db", str(db)) if db is not None else ()


def _quoted(word: str) -> str:
    """Return `word` as one word of a unit in which `$` means nothing."""
    if _BARE.fullmatch(word):
        return word
    text = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return '"' + re.sub(r"[\x00-\x1f\x7f]", lambda found: f"\\x{ord(found[0]):02x}", text) + '"'


def _utf8(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise BadArgument(
            "A path that is not UTF-8 cannot be written into a unit.",
            hint="move the store, or the environment that holds kasmos",
        ) from error
    return text


def _json(text: str) -> object:
    try:
        found: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found


def _texts(value: object) -> tuple[str, ...] | None:
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        return None
    return tuple(value)
