"""Who stands in a service's way, and when it answers: with a real socket, daemon and server."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kasmos_plugin import paths, ports
from kasmos_plugin.daemon.lock import holder
from kasmos_plugin.daemon.settings import Settings
from kasmos_plugin.services.manager import Running
from kasmos_plugin.services.rivals import Rival, is_answering, refuse_rivals
from kasmos_plugin.services.units import Service, daemon_service, serve_service

KAS = (sys.executable, "-P", "-m", "kasmos_plugin")
IDLE = Running()


def refuse(service: Service, running: Running = IDLE) -> None:
    refuse_rivals([(service, running)], database=paths.database())


@pytest.fixture
def daemon(home: Path) -> Iterator[int]:
    """A daemon in the background; its pid."""
    environment = dict(os.environ)

    def kas_daemon(verb: str) -> None:
        command = (*KAS, "daemon", verb)
        subprocess.run(command, env=environment, check=True, capture_output=True, timeout=30)

    kas_daemon("start")
    settings = Settings(socket_path=paths.socket(), database=paths.database())
    found = holder(settings.lock_path)
    assert found is not None
    yield found.process.pid
    kas_daemon("stop")


def test_a_daemon_that_runs_is_named(daemon: int, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Rival, match=f"pid {daemon}") as refused:
        refuse(daemon_service())
    assert refused.value.hint == "kas daemon stop"
    # Another socket does not help: it is the same store.
    monkeypatch.setenv("KASMOS_SOCKET", str(paths.socket().with_name("other.sock")))
    with pytest.raises(Rival, match=f"pid {daemon}"):
        refuse(daemon_service())


def test_the_service_is_no_rival_of_itself_and_answers(daemon: int) -> None:
    own = Running(is_active=True, pid=daemon)
    refuse(daemon_service(), own)
    assert is_answering(daemon_service(), own)
    assert not is_answering(daemon_service(), Running(is_active=True, pid=os.getpid()))
    assert not is_answering(daemon_service(), IDLE)


def test_nobody_stands_in_the_way(home: Path) -> None:
    with socket.socket() as free:
        free.bind((ports.HOST, 0))
        port = free.getsockname()[1]
    refuse(daemon_service())
    refuse(serve_service(port=port, mcp_port=port))
    assert not is_answering(serve_service(port=port, mcp_port=port), Running(pid=1))


def test_a_taken_port_is_named_unless_the_service_itself_holds_it() -> None:
    with socket.socket() as held, socket.socket() as free:
        for one in (held, free):
            one.bind((ports.HOST, 0))
        held.listen()
        port = held.getsockname()[1]
        for service in (
            serve_service(port=port, mcp_port=free.getsockname()[1]),
            serve_service(port=free.getsockname()[1], mcp_port=port),
        ):
            with pytest.raises(Rival, match=f"Port {port} .* pid {os.getpid()}"):
                refuse(service)
            refuse(service, Running(is_active=True, pid=os.getpid()))
            # What listens is no kasmos.
            assert not is_answering(service, Running(is_active=True, pid=os.getpid()))
