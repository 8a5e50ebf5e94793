"""`kas integrations`: put the monitor into other programs, look at it there, take it out."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

import click

from kasmos_plugin.cli.checks import exit_code, print_checks
from kasmos_plugin.cli.options import InOrder, json_option
from kasmos_plugin.cli.output import echo_json, note
from kasmos_plugin.cli.signals import ended_once
from kasmos_plugin.codex import config_file, plugin
from kasmos_plugin.codex.client import Codex, CodexMissing, find_codex
from kasmos_plugin.codex.home import CodexHome, find_home
from kasmos_plugin.codex.installer import Step
from kasmos_plugin.codex.installer import install as install_plugin
from kasmos_plugin.codex.place import place_of
from kasmos_plugin.codex.plan import Plan, make_plan
from kasmos_plugin.codex.recovery import recover_alone
from kasmos_plugin.codex.status import look, port_of
from kasmos_plugin.codex.uninstaller import overrides
from kasmos_plugin.codex.uninstaller import uninstall as uninstall_plugin
from kasmos_plugin.errors import Exit
from kasmos_plugin.ports import MCP_PORT
from kasmos_plugin.rules.text import clean, clean_block

_Command = TypeVar("_Command", bound=Callable[..., Any])

_MARKS = {"done": "+", "same": "=", "warning": "!", "undone": "-"}


def home_option(command: _Command) -> _Command:
    """Add `--codex-home DIR`, given to the command as `codex_home: Path | None`."""
    return click.option(
        "--codex-home",
        type=click.Path(path_type=Path),
        metavar="DIR",
        help="The home of Codex.  [default: CODEX_HOME, else ~/.codex]",
    )(command)


@click.group(cls=InOrder)
def integrations() -> None:
    """Put the monitor into other programs.

    \b
    Examples:
      kas integrations codex install
      kas integrations codex status
    """


@integrations.group(cls=InOrder)
def codex() -> None:
    """The monitor inside Codex: install, look, uninstall.

    \b
    Examples:
      kas integrations codex install --dry-run     what would change
      kas integrations codex install
      kas integrations codex status --json
    """


@codex.command()
@click.option("--enable-apps", is_flag=True, help="Turn the apps feature on, for every app.")
@click.option("--dry-run", is_flag=True, help="Print what would change, and change nothing.")
@click.option(
    "--mcp-port",
    type=click.IntRange(1, 65_535),
    help=f"The port of kas serve's MCP.  [default: the installed one, else {MCP_PORT}]",
)
@home_option
@click.option("--yes", is_flag=True, help="Ask nothing. Apps stay off unless --enable-apps.")
@json_option
def install(
    enable_apps: bool,
    dry_run: bool,
    mcp_port: int | None,
    codex_home: Path | None,
    yes: bool,
    as_json: bool,
) -> None:
    """Put the plugin into Codex, or bring it up to date. Once more changes nothing.

    \b
    Examples:
      kas integrations codex install
      kas integrations codex install --dry-run
      kas integrations codex install --mcp-port 8434     as kas serve has it

    At a terminal it shows what would change and asks first. A step that fails undoes the others.
    """
    client = _client(codex_home, mcp_port, is_dry=dry_run)
    if not dry_run:
        recover_alone(client.home)
    plan = make_plan(client, port=mcp_port, apps_on=enable_apps)
    asks = not (yes or as_json or dry_run) and sys.stdin.isatty()
    if asks and not plan.apps.is_on and not enable_apps:
        note(_apps_question(plan))
        if click.confirm("turn apps on?", default=False, err=True):
            plan = make_plan(client, port=mcp_port, apps_on=True)
    if dry_run:
        _print_plan(plan, as_json=as_json)
        return
    if asks and plan.has_changes:
        print(_plan_text(plan))
        _go_on(default=True)
    steps: list[Step] = []
    with ended_once():
        install_plugin(client, plan, _teller(steps, is_silent=as_json))
    following = _next(plan, steps)
    if as_json:
        echo_json(
            {"changed": plan.has_changes, "steps": [asdict(one) for one in steps]} | following
        )
        return
    if not plan.has_changes:
        print("nothing to change")
    for line in following["next"]:
        print(f"next: {line}")


@codex.command()
@home_option
@json_option
def status(codex_home: Path | None, as_json: bool) -> None:
    """Tell how the plugin stands in Codex; exit code 1 when a line failed, not for warnings.

    \b
    Examples:
      kas integrations codex status
      kas integrations codex status --json

    `kas doctor` looks at serve, daemon, store and services as well.
    """
    home = find_home(codex_home)
    checks = look(home, find_codex(home), cwd=Path.cwd())
    print_checks(checks, as_json=as_json)
    click.get_current_context().exit(exit_code(checks))


@codex.command()
@home_option
@click.option("--yes", is_flag=True, help="Ask nothing.")
@json_option
def uninstall(codex_home: Path | None, yes: bool, as_json: bool) -> None:
    """Take the plugin out of Codex, and what the installation put into config.toml.

    \b
    Examples:
      kas integrations codex uninstall
      kas integrations codex uninstall --codex-home /tmp/codex --yes

    Your own settings of the plugin go with it; at a terminal it asks first.
    """
    home = find_home(codex_home)
    if lost := overrides(home):
        note(f"these settings of yours go with the plugin: {clean(', '.join(lost), 400)}")
        if not (yes or as_json) and sys.stdin.isatty():
            _go_on(default=False)
    client = find_codex(home)
    if client is None:
        note("codex was not found; its configuration is cleaned without it")
    steps: list[Step] = []
    with ended_once():
        uninstall_plugin(home, client, _teller(steps, is_silent=as_json))
    changed = any(one.state == "done" for one in steps)
    if as_json:
        echo_json({"changed": changed, "steps": [asdict(one) for one in steps]})
    elif changed:
        print("next: end threads of Codex that still show the monitor")


def _go_on(*, default: bool) -> None:
    """Ask; a no ends the command with exit code 1."""
    if not click.confirm("go on?", default=default, err=True):
        note("nothing was changed")
        click.get_current_context().exit(Exit.FAILED)


def _client(codex_home: Path | None, port: int | None, *, is_dry: bool) -> Codex:
    home = find_home(codex_home)
    client = find_codex(home)
    if client is None:
        raise CodexMissing(_by_hand(home, port or port_of(home), is_dry=is_dry))
    return client


def _by_hand(home: CodexHome, port: int, *, is_dry: bool) -> Path:
    """Return the folder to name in the two manual commands; it is written, but in a dry run."""
    root = place_of(home).marketplace
    if not is_dry and plugin.differences(plugin.marketplace(port), root):
        plugin.write(plugin.marketplace(port), root)
    return root


def _teller(steps: list[Step], *, is_silent: bool) -> Callable[[Step], None]:
    def tell(step: Step) -> None:
        steps.append(step)
        if not is_silent:
            print(f"{_MARKS[step.state]} {step.name:<12} {clean(step.message, 600)}", flush=True)
            if step.hint:
                print(f"  {'':<12} {clean(step.hint, 300)}", flush=True)

    return tell


def _print_plan(plan: Plan, *, as_json: bool) -> None:
    if not as_json:
        print(_plan_text(plan) if plan.has_changes else "nothing to change")
        return
    echo_json(
        {
            "changes": plan.has_changes,
            "folder": str(plan.place.marketplace),
            "files": plan.copies,
            "commands": plan.commands,
            "config": str(plan.config.path),
            "diff": _diff(plan),
        }
    )


def _plan_text(plan: Plan) -> str:
    lines = []
    if plan.copies:
        lines.append(f"copy to '{plan.place.marketplace}':")
        lines += [f"  {name}" for name in plan.copies]
        lines.append(f"the address in it: {plugin.url(plan.port)}")
    if plan.commands:
        lines += ["run:", *(f"  {command}" for command in plan.commands)]
    if plan.predicted is None:
        lines.append(f"change '{plan.config.path}' as Codex does it: its form allows no other way")
    elif diff := _diff(plan):
        lines += [f"change '{plan.config.path}':", *(f"  {line}" for line in diff.splitlines())]
    if plan.keeps_off:
        lines.append("the plugin is switched off, and stays so")
    return clean_block("\n".join(lines))


def _diff(plan: Plan) -> str:
    if plan.predicted is None:
        return ""
    return config_file.diff(plan.config.text, plan.predicted, plan.config.path)


def _apps_question(plan: Plan) -> str:
    where = f"'{plan.apps.decided_by}' in line {plan.apps.line} of '{plan.config.path}'"
    return clean_block(
        f"apps are off in Codex: {where}.\n"
        "without them a host may leave the widget out; tools and text answers work.\n"
        "turning them on lets every app in, not only kasmos."
    )


def _next(plan: Plan, steps: Sequence[Step]) -> dict[str, list[str]]:
    lines = [one.hint for one in steps if one.name == "server" and one.hint]
    # What a check warned of stands in the way of the tools.
    lines += [f"{one.message}: {one.hint}" for one in steps if one.name == "check" and one.hint]
    lines.append('start a new thread in Codex and say "open the kasmos monitor"')
    if not plan.apps.is_on and not plan.turns_apps_on:
        lines.append("apps are off: kas integrations codex install --enable-apps")
    return {"next": lines}
