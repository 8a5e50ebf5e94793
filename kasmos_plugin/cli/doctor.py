"""`kas doctor`: every check in one table."""

from pathlib import Path

import click

from kasmos_plugin.cli.checks import exit_code, print_checks
from kasmos_plugin.cli.integrations import home_option
from kasmos_plugin.cli.options import database_path, db_option, json_option
from kasmos_plugin.ports import MONITOR_PORT


@click.command()
@db_option
@click.option(
    "--port",
    type=click.IntRange(1, 65_535),
    default=MONITOR_PORT,
    show_default=True,
    help="Port of the monitor page.",
)
@home_option
@json_option
def doctor(db: Path | None, port: int, codex_home: Path | None, as_json: bool) -> None:
    """Look for what is wrong; exit code 1 when something failed. Changes nothing.

    \b
    Examples:
      kas doctor
      kas doctor --port 8433     for kas serve --port 8433
      kas doctor --json | jq '.checks[] | select(.state != "ok")'

    A line is ok, warning or failed; below one that is not ok stands the command that mends it.
    The port of MCP is the one that kas integrations codex install named, else 7434.
    """
    from kasmos_plugin.codex.client import find_codex
    from kasmos_plugin.codex.home import find_home
    from kasmos_plugin.doctor import examine

    home = find_home(codex_home)
    checks = examine(
        home=home,
        codex=find_codex(home),
        database=database_path(db),
        monitor_port=port,
        cwd=Path.cwd(),
    )
    print_checks(checks, as_json=as_json)
    click.get_current_context().exit(exit_code(checks))
