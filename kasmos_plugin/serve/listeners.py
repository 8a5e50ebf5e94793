"""The two ports: bound before anything heavy is imported, or an error that names the holder."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from kasmos_plugin.errors import KasmosError
from kasmos_plugin.ports import HOST, holder, is_held

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
        if is_held(port):
            raise PortTaken(port, holder(port), option) from error
        raise KasmosError(
            f"Port {port} on {HOST} cannot be used: {error.strerror}.", hint=f"{option} PORT"
        ) from error
    bound.setblocking(False)
    return bound


def _port(bound: socket.socket) -> int:
    port: int = bound.getsockname()[1]
    return port
