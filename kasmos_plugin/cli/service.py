"""`kas service`: serve and the daemon as services of this user, started with the session."""

import shlex
import signal
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from kasmos_plugin import paths
from kasmos_plugin.cli.options import InOrder, json_option
from kasmos_plugin.cli.output import echo_json, note, table
from kasmos_plugin.cli.signals import handled
from kasmos_plugin.errors import Exit
from kasmos_plugin.ports import MCP_PORT, MONITOR_PORT

if TYPE_CHECKING:
    # Help and completion do without: they bring subprocess and pydantic.
    from kasmos_plugin.services.installer import Plan
    from kasmos_plugin.services.manager import Manager
    from kasmos_plugin.services.state import ServiceState

_Command = TypeVar("_Command", bound=Callable[..., object])


def _fixed_port_options(command: _Command) -> _Command:
    """Add `--port` and `--mcp-port`; a service on any free port could not be found."""
    for name, default, what in (
        ("--mcp-port", MCP_PORT, "MCP"),
        ("--port", MONITOR_PORT, "the monitor page and its bridge"),
    ):
        command = click.option(
            name,
            type=click.IntRange(1, 65_535),
            default=default,
            show_default=True,
            help=f"Port of {what}.",
        )(command)
    return command


@click.group(cls=InOrder)
def service() -> None:
    """Run serve and the daemon as services of this user.

    \b
    Examples:
      kas service install      as `kasmosdb` and `kasmos`, by systemd or launchd
      kas service status
      kas service uninstall
    """


@service.command()
@_fixed_port_options
@click.option(
    "--db",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="The task store of both.  [default: as for every command here]",
)
@click.option("--dry-run", is_flag=True, help="Print the units and the commands, change nothing.")
@json_option
def install(port: int, mcp_port: int, db: Path | None, dry_run: bool, as_json: bool) -> None:
    """Install and start both services; done once they answer. What fails is taken back.

    \b
    Examples:
      kas service install
      kas service install --port 8433 --mcp-port 8434
      kas service install --dry-run
    """
    from kasmos_plugin.services import installer, rivals
    from kasmos_plugin.services.manager import manager_here
    from kasmos_plugin.services.units import daemon_service, serve_service

    if port == mcp_port:
        raise click.UsageError("--port and --mcp-port must differ.")
    store = db.expanduser().absolute() if db is not None else None
    services = (serve_service(port=port, mcp_port=mcp_port, db=store), daemon_service(db=store))
    manager = manager_here()
    plans = installer.plan(manager, services)
    _warn_of_passing_interpreter(Path(sys.executable))
    if dry_run:
        _show(manager, plans, as_json=as_json)
        return
    rivals.refuse_rivals(
        [(plan.service, plan.running) for plan in plans], database=store or paths.database()
    )
    # A closed terminal takes back what was begun, as Ctrl-C does.
    with handled(signal.default_int_handler, signal.SIGTERM, signal.SIGHUP):
        installer.install(manager, plans, tell=note, is_answering=rivals.is_answering)
    _hint_at_lingering(manager)
    if as_json:
        _echo(_states(manager))


@service.command()
@json_option
def status(as_json: bool) -> int:
    """Say whether both services are installed and run; exit 1 when an installed one does not.

    \b
    Examples:
      kas service status
      kas service status --json
    """
    states = _states()
    if as_json:
        _echo(states)
    else:
        table(
            ("service", "state", "pid", "starts", "unit"),
            (
                (
                    state.name,
                    state.detail,
                    str(state.pid or ""),
                    "with the session" if state.is_enabled else "",
                    state.unit if state.is_installed else "",
                )
                for state in states
            ),
            empty="",
        )
        for state in states:
            if state.is_installed and not state.is_active:
                note(f"{state.name}: {state.log_command}")
            if state.is_installed and not state.is_current:
                note(f"{state.name}: the unit is not what would be written now")
    is_well = all(state.is_active for state in states if state.is_installed)
    return Exit.OK if is_well else Exit.FAILED


@service.command()
@json_option
def uninstall(as_json: bool) -> None:
    """Stop both services and remove them; the store and running agents stay.

    \b
    Example:
      kas service uninstall
    """
    from kasmos_plugin.services import installer
    from kasmos_plugin.services.manager import manager_here
    from kasmos_plugin.services.state import NAMES

    manager = manager_here()
    if installer.uninstall(manager, NAMES, tell=note):
        note(f"left: the store and its backups beside '{paths.database()}', and agents that run")
    else:
        note("no service is installed")
    if as_json:
        _echo(_states(manager))


def _states(manager: "Manager | None" = None) -> "tuple[ServiceState, ...]":
    from kasmos_plugin.services.state import status as states

    return states(manager)


def _echo(states: "tuple[ServiceState, ...]") -> None:
    echo_json({"services": [asdict(state) for state in states]})


def _show(manager: "Manager", plans: "tuple[Plan, ...]", *, as_json: bool) -> None:
    """Print what an installation would write and run."""
    commands = [
        shlex.join(command)
        for plan in plans
        if not plan.is_done
        for command in manager.activation(plan.service.name, is_restart=plan.running.is_active)
    ]
    units = [(str(plan.path), plan.content.decode()) for plan in plans]
    if as_json:
        shown = [{"path": path, "text": text} for path, text in units]
        echo_json({"units": shown, "commands": commands})
        return
    for path, text in units:
        print(f"# {path}\n{text}")
    print("\n".join(f"$ {command}" for command in commands))


def _warn_of_passing_interpreter(interpreter: Path) -> None:
    """Warn when the environment that holds kasmos is one that is cleaned away."""
    import platformdirs  # 15 ms at start, for an installation alone.

    for passing in (Path(tempfile.gettempdir()), Path("/var/tmp"), platformdirs.user_cache_path()):
        if interpreter.is_relative_to(passing):
            note(
                f"warning: the services will run '{interpreter}', which is in the temporary"
                f" directory '{passing}'; they fail when it is cleaned"
            )
            return


def _hint_at_lingering(manager: "Manager") -> None:
    from kasmos_plugin.services.systemd import Systemd

    if isinstance(manager, Systemd) and not manager.lingers():
        note("hint: the services end at logout; loginctl enable-linger keeps them")
