"""The click group: subcommands by name, each imported when it is called. Knows none of them."""

import importlib
from collections.abc import Sequence

import click
from click.exceptions import NoArgsIsHelpError
from click.shell_completion import CompletionItem

from kasmos_plugin import __version__
from kasmos_plugin.cli.output import complain
from kasmos_plugin.errors import BadArgument, Exit, KasmosError

COMMANDS = {
    "up": "Run daemon and serve in one terminal.",
    "serve": "Serve the monitor over HTTP and MCP.",
    "daemon": "Start, stop and ask the daemon; register repositories.",
    "service": "Run serve and the daemon as services of this user.",
    "task": "Create, show and move tasks.",
    "agent": "Run agents and look after them.",
    "monitor": "Watch what the agents are doing.",
    "integrations": "Put the monitor into Codex.",
    "doctor": "Look for what is wrong.",
    "demo": "Watch a small real orchestration.",
    "completion": "Print the completion script of a shell.",
}
"""Every subcommand with its line in the help; `kasmos_plugin.cli.NAME:NAME` holds it."""


class LazyGroup(click.Group):
    """A group that knows its subcommands by name and imports one when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"kasmos_plugin.cli.{cmd_name}")
        command: click.Command = getattr(module, cmd_name)
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        if incomplete.startswith("-"):
            return super().shell_complete(ctx, incomplete)
        return [
            CompletionItem(name, help=line)
            for name, line in COMMANDS.items()
            if name.startswith(incomplete)
        ]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.command(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, "-V", "--version", prog_name="kas")
def kas() -> None:
    """Show what a group of coding agents is doing, and what waits for a person.

    \b
    Examples:
      kas up --demo               daemon, monitor page and small agents at work
      kas monitor                 the live view in this terminal
      kas task create plan.md     store a plan as a task

    Exit codes: 0 fine, 1 failed, 2 wrong usage, 3 a server or the daemon is not reachable.
    """


def run_click(arguments: Sequence[str]) -> int:
    """Run a command and return its exit code; print what was expected to go wrong.

    Raises:
        KeyboardInterrupt: a person ended the command.
        Exception: a bug, or a reader of the output that left.
    """
    try:
        result = kas.main(args=list(arguments), prog_name="kas", standalone_mode=False)
    except KasmosError as error:
        complain(error)
        return error.exit_code
    except NoArgsIsHelpError as error:
        error.show()
        return Exit.USAGE
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx is not None else "kas"
        words = " ".join(error.format_message().split())
        complain(BadArgument(words, hint=f"{command} --help"))
        return Exit.USAGE
    except click.ClickException as error:
        complain(KasmosError(error.format_message()))
        return Exit.FAILED
    except click.Abort:
        return 130
    return result if isinstance(result, int) else Exit.OK
