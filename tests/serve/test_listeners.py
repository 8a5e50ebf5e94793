"""serve.listeners: two ports, or an error that names who has them."""

import os
import socket
import sys
from collections.abc import Iterator

import pytest

from kasmos_plugin.errors import Exit, KasmosError
from kasmos_plugin.ports import HOST
from kasmos_plugin.serve.listeners import PortTaken, listening


@pytest.fixture
def taken() -> Iterator[int]:
    """A port on which this process listens."""
    with socket.socket() as held:
        held.bind((HOST, 0))
        held.listen()
        yield held.getsockname()[1]


def test_port_zero_is_any_free_one_and_both_accept_at_once() -> None:
    with listening(0, 0) as listeners:
        assert listeners.monitor_port != listeners.mcp_port
        for port in (listeners.monitor_port, listeners.mcp_port):
            socket.create_connection((HOST, port), timeout=5).close()


@pytest.mark.parametrize("which", ["--port", "--mcp-port"])
def test_a_taken_port_is_an_error_that_names_the_holder(taken: int, which: str) -> None:
    """D6: never another port without a word."""
    ports = (taken, 0) if which == "--port" else (0, taken)
    with pytest.raises(PortTaken) as caught, listening(*ports):
        pass
    error = caught.value
    assert error.message.startswith(f"Port {taken} on 127.0.0.1 is taken by pid {os.getpid()}: ")
    assert sys.executable.rsplit("/", 1)[-1] in error.message
    assert error.hint.startswith(f"{which} PORT")
    assert error.exit_code == Exit.FAILED


def test_the_first_port_is_free_again_when_the_second_is_taken(taken: int) -> None:
    with listening(0, 0) as listeners:
        free = listeners.monitor_port
    with pytest.raises(PortTaken), listening(free, taken):
        pass
    with listening(free, 0) as listeners:
        assert listeners.monitor_port == free


def test_a_port_that_is_used_twice_is_taken_by_us() -> None:
    with listening(0, 0) as listeners:
        free = listeners.monitor_port
    with pytest.raises(KasmosError, match="is taken by"), listening(free, free):
        pass
