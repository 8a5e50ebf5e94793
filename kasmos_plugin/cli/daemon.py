"""`kas daemon`: start, stop and ask the daemon; register the repositories that it watches.

Repositories are rows of the store, which the daemon reads: these commands need no daemon.
"""

import os
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import click

from kasmos_plugin import paths
from kasmos_plugin.cli.options import InOrder, database_path, db_option, json_option, open_cli_store
from kasmos_plugin.cli.output import echo_json, note, table
from kasmos_plugin.contract.control import DaemonStatus, Ping, Repositories
from kasmos_plugin.errors import (
    Conflict,
    DaemonUnreachable,
    KasmosError,
    UnknownProject,
    Unreachable,
)
from kasmos_plugin.snapshot import uptime

START_WITHIN_S = 10.0
STOP_WITHIN_S = 10.0
LOG_BYTES = 1024 * 1024


@click.group(cls=InOrder)
def daemon() -> None:
    """Start, stop and ask the daemon; register repositories.

    \b
    Examples:
      kas daemon start                 in the background
      kas daemon add ~/src/shop        watch a repository
      kas daemon status --json
    """


@daemon.command()
@click.option("--foreground", is_flag=True, help="Stay in this terminal; Ctrl-C stops.")
@db_option
@json_option
def start(foreground: bool, db: Path | None, as_json: bool) -> None:
    """Start the daemon; ready once it answers.

    \b
    Examples:
      kas daemon start
      kas daemon start --foreground --db /tmp/try.db
    """
    database = database_path(db)
    if foreground:
        _serve(database, as_json)
        return
    ping = _start_in_background(database)
    if as_json:
        echo_json(ping)
    else:
        note(f"daemon started: pid {ping.pid}, socket {paths.socket()}, store {database}")


@daemon.command()
def stop() -> None:
    """Stop the daemon and wait until it has gone. Agents go on, and find the next one.

    \b
    Example:
      kas daemon stop
    """
    from kasmos_plugin.daemon.lock import holder, is_held

    lock = _lock_path()
    found = holder(lock)
    if found is None:
        if is_held(lock):
            raise Conflict(f"The holder of '{lock}' has not said who it is.", hint="try again")
        raise Unreachable(f"No daemon runs at '{paths.socket()}': there is nothing to stop.")
    from kasmos_plugin.daemon.processes import look
    from kasmos_plugin.daemon.stopping import terminate
    from kasmos_plugin.rules.health import Presence

    terminate(found.process)
    deadline = time.monotonic() + STOP_WITHIN_S
    while is_held(lock) or look(found.process) is Presence.PRESENT:
        if time.monotonic() > deadline:
            raise KasmosError(
                f"The daemon (pid {found.process.pid}) has not stopped within {STOP_WITHIN_S:g} s.",
                hint=f"kill -9 {found.process.pid}",
            )
        time.sleep(0.02)
    note(f"daemon stopped: pid {found.process.pid}")


@daemon.command()
@json_option
def status(as_json: bool) -> None:
    """Say what the daemon watches, and since when.

    \b
    Examples:
      kas daemon status
      kas daemon status --json
    """
    from kasmos_plugin.daemon.client import call

    found = DaemonStatus.model_validate_json(call(paths.socket(), "GET", "/v1/status"))
    if as_json:
        echo_json(found)
        return
    print(f"pid       {found.pid}")
    print(f"uptime    {uptime(found.uptime_s) or '0s'}")
    print(f"agents    {found.agent_count}")
    print(f"repos     {found.repo_count}")
    print(f"store     {found.database}")
    print(f"socket    {found.socket}")
    print(f"version   {found.version}")


@daemon.command()
@click.argument("path", type=click.Path(path_type=Path, file_okay=False), default=Path())
@click.option("--project", default="", metavar="NAME", help="Its name.  [default: the directory's]")
@db_option
@json_option
def add(path: Path, project: str, db: Path | None, as_json: bool) -> None:
    """Register the repository around PATH.

    \b
    Examples:
      kas daemon add .
      kas daemon add ~/src/shop --project shop
    """
    with closing(open_cli_store(db)) as store:
        repository = store.projects.add(path, project)
    if as_json:
        echo_json(repository)
    else:
        note(f"project '{repository.project}': {repository.path}")


@daemon.command()
@click.argument("project")
@db_option
def remove(project: str, db: Path | None) -> None:
    """Forget a repository; its tasks stay.

    \b
    Example:
      kas daemon remove shop
    """
    with closing(open_cli_store(db, create=False)) as store:
        try:
            store.projects.remove(project)
        except UnknownProject as error:
            error.hint = "kas daemon repos"
            raise
    note(f"project '{project}' removed")


@daemon.command()
@db_option
@json_option
def repos(db: Path | None, as_json: bool) -> None:
    """List the registered repositories.

    \b
    Examples:
      kas daemon repos
      kas daemon repos --json
    """
    with closing(open_cli_store(db)) as store:
        found = store.projects.list()
    if as_json:
        echo_json(Repositories(repos=found))
        return
    table(
        ("project", "path"),
        ((one.project, f"{one.path} (missing)" if one.is_missing else one.path) for one in found),
        empty="no repository is registered: kas daemon add PATH",
    )


def _serve(database: Path, as_json: bool) -> None:
    import logging

    from kasmos_plugin.daemon import service
    from kasmos_plugin.daemon.settings import Settings

    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(message)s")
    settings = Settings(socket_path=paths.socket(), database=database)

    def ready() -> None:
        if not as_json:
            note(f"daemon ready: pid {os.getpid()}, socket {settings.socket_path}")

    service.run(settings, on_ready=ready)


def _start_in_background(database: Path) -> Ping:
    """Start a daemon in a session of its own; return what it answers once it is ready.

    Ready is a connection that was accepted and answered by the process that was started: not a
    file, and not another daemon.
    """
    from kasmos_plugin.daemon.lock import AlreadyRunning, holder, is_held

    if is_held(_lock_path()):
        raise AlreadyRunning("this socket", holder(_lock_path()))
    log = _open_log()
    began_at = os.fstat(log).st_size
    command = [sys.executable, "-P", "-m", "kasmos_plugin", "daemon", "start", "--foreground"]
    process = subprocess.Popen(
        [*command, "--json", "--db", str(database)],
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        cwd="/",
        env=_absolute_environment(),
        start_new_session=True,
    )
    os.close(log)
    deadline = time.monotonic() + START_WITHIN_S
    while time.monotonic() < deadline:
        if (code := process.poll()) is not None:
            raise _failure(code, began_at)
        if (ping := _ping()) is not None and ping.pid == process.pid:
            # It is the daemon's own now; this process must not wait for it.
            process.returncode = 0
            return ping
        time.sleep(0.02)
    process.terminate()
    process.wait(STOP_WITHIN_S)
    raise DaemonUnreachable(str(paths.socket()), f"no answer within {START_WITHIN_S:g} s")


def _absolute_environment() -> dict[str, str]:
    """Return the environment with our paths absolute: the daemon lives in another directory."""
    environment = dict(os.environ)
    if (home := paths.home()) is not None:
        environment["KASMOS_HOME"] = str(home)
    if "KASMOS_SOCKET" in environment:
        environment["KASMOS_SOCKET"] = str(paths.socket())
    return environment


def _ping() -> Ping | None:
    from kasmos_plugin.daemon.client import request

    try:
        reply = request(paths.socket(), "GET", "/v1/ping", timeout_s=2.0)
    except Unreachable:
        return None
    return Ping.model_validate_json(reply.body) if reply.status == 200 else None


def _failure(code: int, began_at: int) -> KasmosError:
    """Return what the daemon wrote before it gave up."""
    with _log_path().open("rb") as log:
        log.seek(began_at)
        lines = log.read(16_384).decode("utf-8", "replace").splitlines()
    said = [line.removeprefix("error: ") for line in lines if line.startswith("error: ")]
    hints = [line.removeprefix("hint: ") for line in lines if line.startswith("hint: ")]
    message = said[-1] if said else f"The daemon ended with code {code} before it was ready."
    return KasmosError(message, hint=hints[-1] if hints else f"see '{_log_path()}'")


def _open_log() -> int:
    path = _log_path()
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if path.exists() and path.stat().st_size > LOG_BYTES:
            path.replace(path.with_name("daemon.log.1"))
        return os.open(path, flags, 0o600)
    except OSError as error:
        raise KasmosError(
            f"The log '{path}' cannot be opened: {error.strerror}.",
            hint="set KASMOS_HOME to a directory of yours, or kas daemon start --foreground",
        ) from error


def _log_path() -> Path:
    return paths.logs_dir() / "daemon.log"


def _lock_path() -> Path:
    from kasmos_plugin.daemon.settings import Settings

    return Settings(socket_path=paths.socket(), database=paths.database()).lock_path
