"""`kas serve`: the monitor page, its bridge and MCP on loopback, until it is told to stop."""

import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

import click

from kasmos_plugin import paths
from kasmos_plugin.cli.options import database_path, db_option
from kasmos_plugin.ports import MCP_PORT, MONITOR_PORT

_Command = TypeVar("_Command", bound=Callable[..., Any])


def port_options(command: _Command) -> _Command:
    """Add `--port` and `--mcp-port`, given to the command as `port: int` and `mcp_port: int`."""
    for name, default, what in (
        ("--mcp-port", MCP_PORT, "MCP"),
        ("--port", MONITOR_PORT, "the monitor page and its bridge"),
    ):
        command = click.option(
            name,
            type=click.IntRange(0, 65_535),
            default=default,
            show_default=True,
            help=f"Port of {what}; 0 for a free one.",
        )(command)
    return command


@click.command()
@db_option
@port_options
@click.option("--json", "as_json", is_flag=True, help="Print one line of JSON when ready.")
def serve(db: Path | None, port: int, mcp_port: int, as_json: bool) -> None:
    """Serve the monitor over HTTP and MCP, on this machine only, until Ctrl-C.

    \b
    Examples:
      kas serve                          the page on 7433, MCP on 7434
      kas serve --port 0 --mcp-port 0 --json
    """
    from kasmos_plugin.serve.app import Ready, Settings, run

    def tell(ready: Ready) -> None:
        from kasmos_plugin.cli.output import echo_json

        if as_json:
            echo_json(asdict(ready))
        else:
            print(f"monitor  {ready.monitor}\nmcp      {ready.mcp}\nstore    {ready.store}")
            print("Ctrl-C ends it; agents go on.")
        # A program that waits for this line reads it from a pipe.
        sys.stdout.flush()

    run(
        Settings(
            database=database_path(db),
            socket=paths.socket(),
            monitor_port=port,
            mcp_port=mcp_port,
        ),
        ready=tell,
    )
