"""What is wrong with this user's kasmos, line by line. Looks, and changes nothing."""

import os
from collections.abc import Iterator
from pathlib import Path

from kasmos_plugin import __version__, paths, ports
from kasmos_plugin.codex import status as codex_status
from kasmos_plugin.codex.client import Codex
from kasmos_plugin.codex.home import CodexHome
from kasmos_plugin.contract.check import Check
from kasmos_plugin.contract.control import DaemonStatus
from kasmos_plugin.daemon.client import call
from kasmos_plugin.errors import DaemonUnreachable, KasmosError, StoreTooNew
from kasmos_plugin.rules.checks import check, failed
from kasmos_plugin.services.state import ServiceState
from kasmos_plugin.services.state import status as services_status
from kasmos_plugin.store.inspection import inspect

WAL_LIMIT = 64 * 1024 * 1024
"""Bytes of a write-ahead log that only a reader who never lets go explains."""

PROXIES = ("http_proxy", "https_proxy", "all_proxy")
_EXCEPTIONS = ("127.0.0.1", "localhost")


def examine(
    *, home: CodexHome, codex: Codex | None, database: Path, monitor_port: int, cwd: Path
) -> list[Check]:
    """Check the store, both processes, their ports and services, the surroundings, and Codex."""
    return [
        _store(database),
        _daemon(database),
        ports.check_serve("monitor", monitor_port, "--port"),
        *_services(),
        _proxies(),
        *codex_status.look(home, codex, cwd=cwd),
    ]


def _store(database: Path) -> Check:
    if not database.exists():
        message = f"there is none yet at '{database}'"
        return check("store", "warning", message, "kas daemon add PATH")
    try:
        found = inspect(database)
        if found.schema > found.known_schema:
            raise StoreTooNew(str(database), found=found.schema, known=found.known_schema)
    except KasmosError as error:
        return failed("store", error)
    told = (
        f"'{database}': schema {found.schema}, {_bytes(found.size)}, log {_bytes(found.wal_size)}"
    )
    if found.damage:
        hint = "stop kas, set the file aside, and put a backup from beside it in its place"
        return check("store", "failed", f"{told}, damaged: {'; '.join(found.damage)}", hint)
    if not found.is_writable:
        return check("store", "warning", f"{told}, read-only", f"chmod u+w '{database}'")
    if found.schema < found.known_schema:
        message = f"{told}; the next start brings it to schema {found.known_schema}"
        return check("store", "warning", message, "kas daemon start")
    if found.wal_size > WAL_LIMIT:
        message = f"{told}: a reader holds the log"
        return check("store", "warning", message, "restart kas serve and the daemon")
    return check("store", "ok", f"{told}, intact")


def _daemon(database: Path) -> Check:
    socket = paths.socket()
    try:
        found = DaemonStatus.model_validate_json(call(socket, "GET", "/v1/status"))
    except DaemonUnreachable as error:
        message = f"{error.message.rstrip('.')}; agents show as unknown"
        return check("daemon", "warning", message, "kas daemon start, or kas service install")
    except KasmosError as error:
        return failed("daemon", error)
    except ValueError:
        return check("daemon", "failed", f"what answers at '{socket}' is no daemon of ours")
    told = f"{found.version}, pid {found.pid}, {_watched(found.repo_count)}"
    if Path(found.database).resolve() != database.resolve():
        message = f"{told}, on another store: '{found.database}'"
        return check("daemon", "failed", message, f"kas daemon stop, or --db '{found.database}'")
    if found.version != __version__:
        message = f"{told}; this kasmos is {__version__}"
        return check("daemon", "warning", message, "kas daemon stop && kas daemon start")
    return check("daemon", "ok", told)


def _services() -> Iterator[Check]:
    for service in services_status():
        yield _service(service)


def _service(found: ServiceState) -> Check:
    name = f"service {found.name}"
    if not found.manager:
        return check(name, "ok", f"{found.detail}; not needed: kas up runs both")
    if not found.is_installed:
        return check(name, "ok", f"{found.detail}; not needed: kas up, or kas service install")
    told = f"{found.manager}, {found.detail}"
    if not found.is_active:
        return check(name, "failed", f"{told}: it does not run", found.log_command)
    if not found.is_current:
        message = f"{told}; its unit is of another kasmos"
        return check(name, "warning", message, "kas service install")
    return check(name, "ok", told)


def _proxies() -> Check:
    """Check that no proxy stands between a client and loopback."""
    found = [name for name in os.environ if name.lower() in PROXIES and os.environ[name]]
    if not found:
        return check("proxy", "ok", "no proxy is set")
    excepted = [
        one.strip()
        for name in os.environ
        if name.lower() == "no_proxy"
        for one in os.environ[name].split(",")
    ]
    # The addresses are not shown: they may carry a password.
    told = f"{', '.join(sorted(found))} set"
    if "*" in excepted or all(one in excepted for one in _EXCEPTIONS):
        return check("proxy", "ok", f"{told}, loopback excepted")
    message = f"{told}: a client may ask it for 127.0.0.1"
    return check("proxy", "warning", message, "export NO_PROXY=127.0.0.1,localhost")


def _watched(count: int) -> str:
    return f"watches {count} repositor{'y' if count == 1 else 'ies'}"


def _bytes(count: int) -> str:
    return f"{count / 1024:.0f} kB" if count < 1024 * 1024 else f"{count / 1024**2:.0f} MB"
