"""Who listens on a loopback port, and whether it is `kas serve`. Imports nothing heavy.

Asks by plain sockets: no proxy of the environment stands between.
"""

import json
import socket
import threading
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kasmos_plugin import __version__
from kasmos_plugin.rules.text import clean

if TYPE_CHECKING:
    from kasmos_plugin.contract.check import Check

HOST = "127.0.0.1"
MONITOR_PORT = 7433
MCP_PORT = 7434
DEFAULTS = {"--port": MONITOR_PORT, "--mcp-port": MCP_PORT}
"""The ports of `kas serve` unless these options tell others."""

WITHIN_S = 0.5
_ANSWER_BYTES = 65_536

PROTOCOL = "2025-06-18"
"""The protocol version that Codex speaks."""


@dataclass(frozen=True, kw_only=True)
class Serve:
    """A `kas serve` that answers on a port; its texts are cleaned."""

    version: str
    instance: str
    """Random for each start."""
    trouble: str
    """Why it cannot read its store, in its own words; empty when it can."""


def is_held(port: int) -> bool:
    """Return whether anybody accepts connections on `port`."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.settimeout(WITHIN_S)
        return probe.connect_ex((HOST, port)) == 0


def holder(port: int) -> str:
    """Return who listens on `port`, in words, as far as this user may know."""
    found = process(port)
    if (serve := identity(port)) is not None:
        who = f"kas serve {serve.version}, instance {serve.instance}"
        return f"{who} ({found})" if found else who
    return found or "a program of another user"


def process(port: int) -> str:
    """Return pid and command of the process that listens on `port`; empty when it is not told."""
    import psutil  # Only who looks for a holder needs it.

    try:
        for found in psutil.net_connections("tcp"):
            if found.status == psutil.CONN_LISTEN and found.laddr[1:] == (port,) and found.pid:
                holder = psutil.Process(found.pid)
                command = " ".join(holder.cmdline()[:3]) or holder.name()
                return f"pid {found.pid}: {clean(command, 120)}"
    except psutil.Error:
        pass
    return ""


def identity(port: int, *, within_s: float = WITHIN_S) -> Serve | None:
    """Return the kasmos that answers `GET /healthz` on `port`, or None when none does."""
    told = _ask(port, "GET", "/healthz", within_s=within_s)
    if told is None or told.get("kasmos") != "serve":
        return None
    error = told.get("error")
    trouble = str(error.get("message", "")) if isinstance(error, dict) else ""
    return Serve(
        version=clean(str(told.get("version", "")), 40),
        instance=clean(str(told.get("instance", "")), 40),
        trouble=clean(trouble, 300),
    )


def check_serve(name: str, port: int, option: str, *, speaks_mcp: bool = False) -> "Check":
    """Return how one port of serve stands: held, by kasmos, of this version, in good health.

    `option` is the one that moves the port; `speaks_mcp` opens an MCP session as well.
    """
    from kasmos_plugin.rules.checks import check  # Serve binds before it waits for pydantic.

    if not is_held(port):
        message = f"nobody listens on port {port}"
        return check(name, "warning", message, how_to_serve(port, option))
    serve = identity(port, within_s=5)
    if serve is None:
        message = f"port {port} is held by {holder(port)}, which is no kas serve"
        return check(name, "failed", message, f"stop that one, or kas serve {option} PORT")
    told = f"kas serve {serve.version} on port {port}"
    if serve.trouble:
        return check(name, "failed", f"{told}: {serve.trouble}", "kas doctor")
    if speaks_mcp and mcp_server(port, within_s=5) != "kasmos":
        return check(name, "failed", f"{told} does not speak MCP here", f"kas serve {option} PORT")
    if serve.version != __version__:
        return check(name, "warning", f"{told}; this kasmos is {__version__}", "restart kas serve")
    return check(name, "ok", told)


def how_to_serve(port: int, option: str) -> str:
    """Return the commands that start a server; `option` is the one that sets this port."""
    told = "" if port == DEFAULTS[option] else f" {option} {port}"
    return f"kas serve{told}, or kas service install{told}"


def mcp_server(port: int, *, within_s: float = WITHIN_S) -> str | None:
    """Initialize an MCP session at `/mcp` as Codex does; return the server's name, or None.

    Source: the Model Context Protocol 2025-06-18, lifecycle.
    """
    question = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": PROTOCOL,
            "capabilities": {},
            "clientInfo": {"name": "kas", "version": "1"},
        },
    }
    told = _ask(port, "POST", "/mcp", json.dumps(question).encode(), within_s=within_s)
    try:
        return clean(str((told or {})["result"]["serverInfo"]["name"]), 80)
    except (KeyError, TypeError):
        return None


def _ask(
    port: int, method: str, path: str, body: bytes | None = None, *, within_s: float
) -> dict[str, Any] | None:
    import http.client  # Only who looks for a holder needs it.

    connection = http.client.HTTPConnection(HOST, port, timeout=within_s)
    headers = {"Accept": "application/json, text/event-stream"}
    if body is not None:
        headers["Content-Type"] = "application/json"
    try:
        connection.connect()
        # The timeout of a socket is for each read: one byte now and then would go on for ever.
        end = threading.Timer(within_s, _hang_up, (connection.sock,))
        end.daemon = True
        end.start()
        try:
            connection.request(method, path, body, headers)
            told = json.loads(connection.getresponse().read(_ANSWER_BYTES))
        finally:
            end.cancel()
    except (OSError, http.client.HTTPException, ValueError, RecursionError):
        return None
    finally:
        connection.close()
    return told if isinstance(told, dict) else None


def _hang_up(connection: socket.socket) -> None:
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
