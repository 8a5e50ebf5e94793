"""The two ports: bound before anything heavy is imported, or an error that names the holder."""

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from kasmos_plugin.errors import KasmosError
from kasmos_plugin.rules.text import clean

HOST = "127.0.0.1"
BACKLOG = 256


class PortTaken(KasmosError):
    """Another program listens on a port that was asked for."""

    code = "port_taken"

    def __init__(self, port: int, holder: str, option: str) -> None:
        super().__init__(
            f"Port {port} on {HOST} is taken by {holder}.", hint=f"{option} PORT, or stop that one"
        )


@dataclass(frozen=True, kw_only=True)
class Listeners:
    """Both sockets, bound and listening: a client that comes early waits instead of failing."""

    monitor: socket.socket
    mcp: socket.socket

    @property
    def monitor_port(self) -> int:
        """The real port of the monitor page and its bridge."""
        return _port(self.monitor)

    @property
    def mcp_port(self) -> int:
        """The real port of MCP."""
        return _port(self.mcp)


@contextmanager
def listening(monitor_port: int, mcp_port: int) -> Iterator[Listeners]:
    """Hold both ports; 0 means any free one.

    Raises:
        PortTaken: somebody else listens there, and who it is as far as can be told.
        KasmosError: the port cannot be bound for another reason.
    """
    with (
        _bound(monitor_port, "--port") as monitor,
        _bound(mcp_port, "--mcp-port") as mcp,
    ):
        yield Listeners(monitor=monitor, mcp=mcp)


def _bound(port: int, option: str) -> socket.socket:
    bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        # A port whose last connections still wind down is free; one with a listener is not.
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((HOST, port))
        bound.listen(BACKLOG)
    except OSError as error:
        bound.close()
        if _is_held(port):
            raise PortTaken(port, holder(port), option) from error
        raise KasmosError(
            f"Port {port} on {HOST} cannot be used: {error.strerror}.", hint=f"{option} PORT"
        ) from error
    bound.setblocking(False)
    return bound


def holder(port: int) -> str:
    """Return who listens on `port`, in words, as far as this user may know."""
    process = _process(port)
    if (serve := _identity(port)) is not None:
        return f"kas serve {serve}{process and f' ({process})'}"
    return process or "a program of another user"


def _is_held(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.settimeout(0.5)
        return probe.connect_ex((HOST, port)) == 0


def _process(port: int) -> str:
    import psutil  # Only a start that fails needs it.

    try:
        for found in psutil.net_connections("tcp"):
            if found.status == psutil.CONN_LISTEN and found.laddr[1:] == (port,) and found.pid:
                process = psutil.Process(found.pid)
                command = " ".join(process.cmdline()[:3]) or process.name()
                return f"pid {found.pid}: {clean(command, 120)}"
    except psutil.Error:
        pass
    return ""


def _identity(port: int) -> str | None:
    """Return version and instance of the kasmos that answers on `port`, if one does."""
    import http.client  # Only a start that fails needs it.

    connection = http.client.HTTPConnection(HOST, port, timeout=0.5)
    try:
        connection.request("GET", "/healthz")
        told = json.loads(connection.getresponse().read(4096))
        if told["kasmos"] == "serve":
            return clean(f"{told['version']}, instance {told['instance']}", 80)
    except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError):
        pass
    finally:
        connection.close()
    return None


def _port(bound: socket.socket) -> int:
    port: int = bound.getsockname()[1]
    return port
