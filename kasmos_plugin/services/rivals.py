"""Who else serves or watches: why a service could not start, and whether it answers now."""

import json
from collections.abc import Sequence
from pathlib import Path

from kasmos_plugin import paths, ports
from kasmos_plugin.daemon.client import request
from kasmos_plugin.errors import Conflict, Unreachable
from kasmos_plugin.services.manager import Running
from kasmos_plugin.services.units import Service


class Rival(Conflict):
    """A program of ours or another has what the service needs; started, it would fail."""

    code = "already_running"


def refuse_rivals(services: Sequence[tuple[Service, Running]], *, database: Path) -> None:
    """Refuse when another process than the service itself has its ports, socket or store.

    Raises:
        Rival: one has, named.
    """
    for service, running in services:
        for port in service.ports:
            _refuse_port(port, running)
        if service.may_start_agents:
            _refuse_daemon(database, running)


def is_answering(service: Service, running: Running) -> bool:
    """Return whether the service answers at its ports, or the daemon at its socket."""
    if running.pid is None:
        return False
    if service.ports:
        return all(ports.identity(port) is not None for port in service.ports)
    try:
        reply = request(paths.socket(), "GET", "/v1/ping", timeout_s=2.0)
        return bool(json.loads(reply.body)["pid"] == running.pid)
    except (Unreachable, ValueError, KeyError, TypeError):
        return False


def _refuse_port(port: int, running: Running) -> None:
    if not ports.is_held(port):
        return
    if running.pid is not None and ports.process(port).startswith(f"pid {running.pid}:"):
        return
    hint = "end it (Ctrl-C in its terminal), or kas service install --port PORT --mcp-port PORT"
    raise Rival(f"Port {port} on {ports.HOST} is taken by {ports.holder(port)}.", hint=hint)


def _refuse_daemon(database: Path, running: Running) -> None:
    from kasmos_plugin.daemon.lock import holder, is_held
    from kasmos_plugin.daemon.settings import Settings

    settings = Settings(socket_path=paths.socket(), database=database)
    for lock in (settings.lock_path, settings.store_lock_path):
        if not is_held(lock):
            continue
        found = holder(lock)
        if found is not None and found.process.pid == running.pid:
            continue
        who = f"pid {found.process.pid}" if found is not None else "another process"
        raise Rival(f"A daemon of this store runs already: {who}.", hint="kas daemon stop")
