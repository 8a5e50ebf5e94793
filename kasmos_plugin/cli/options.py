"""Options and arguments that commands share, what they mean, and how a shell completes them."""

import os
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from typing import Any, TypeVar

import click

from kasmos_plugin import paths
from kasmos_plugin.errors import KasmosError, NoProject
from kasmos_plugin.rules.text import is_clean_name
from kasmos_plugin.store import Store, open_store

_Command = TypeVar("_Command", bound=Callable[..., Any])

_SENTENCE = 500
"""Letters of a first sentence, more than any has."""


def db_option(command: _Command) -> _Command:
    """Add `--db PATH`, given to the command as `db: Path | None`."""
    return click.option(
        "--db",
        type=click.Path(path_type=Path),
        envvar="KASMOS_DB",
        show_envvar=True,
        metavar="PATH",
        help="The task store.  [default: kasmos.db in the data directory]",
    )(command)


def project_option(command: _Command) -> _Command:
    """Add `--project NAME`, given to the command as `project: str`."""
    return click.option(
        "--project",
        default="",
        envvar="KASMOS_PROJECT",
        show_envvar=True,
        metavar="NAME",
        shell_complete=complete_projects,
        help="The project.  [default: the repository around here, or the only project]",
    )(command)


def json_option(command: _Command) -> _Command:
    """Add `--json`, given to the command as `as_json: bool`."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(command)


def task_argument(command: _Command) -> _Command:
    """Add the argument `TASK`, given to the command as `task: str`."""
    return click.argument("task", metavar="TASK", shell_complete=complete_tasks)(command)


class InOrder(click.Group):
    """A group that lists its commands in the order of the source, as a person meets them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List every command with its whole first sentence; click would cut it."""
        with formatter.section("Commands"):
            formatter.write_dl(
                [
                    (name, command.get_short_help_str(limit=_SENTENCE))
                    for name, command in self.commands.items()
                ]
            )


def database_path(db: Path | None) -> Path:
    """Return the store's absolute path for an optional `--db`."""
    return db.expanduser().absolute() if db is not None else paths.database()


def open_cli_store(db: Path | None, *, create: bool = True) -> Store:
    """Open the store that a command works on.

    Raises:
        StoreError: it cannot be opened.
    """
    return open_store(database_path(db), create=create)


def open_for_reading(db: Path | None) -> Store:
    """Open the store of a command that only looks: nothing is made where none is.

    A store that was named must be there: a wrong path is no empty store.

    Raises:
        NoProject: there is no store yet at the place where it lies by default.
        StoreError: it cannot be opened.
    """
    if db is None and not os.environ.get("KASMOS_DB") and not paths.database().exists():
        raise NoProject
    return open_store(database_path(db), create=False)


def choose_project(store: Store, wanted: str) -> str:
    """Return the project meant: the option, the repository around here, or the only one.

    Raises:
        KasmosError: none is meant, or it is unknown.
    """
    return store.projects.resolve(wanted, cwd=Path.cwd())


def complete_projects(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[str]:
    """Return the known projects that begin like `incomplete`."""
    return completed(context, incomplete, lambda store, _: store.projects.names())


def complete_tasks(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[str]:
    """Return the names of the project's tasks that begin like `incomplete`."""
    return completed(
        context,
        incomplete,
        lambda store, wanted: [
            task.filename for task in store.tasks.list(choose_project(store, wanted))
        ],
    )


def complete_agents(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[str]:
    """Return the ids of the listed agents that begin like `incomplete`."""
    return completed(
        context, incomplete, lambda store, _: [agent.id for agent in store.agents.listed()]
    )


def completed(
    context: click.Context, incomplete: str, names: Callable[[Store, str], Iterable[str]]
) -> list[str]:
    """Return those of `names(store, project option)` that begin like `incomplete`.

    A shell that completes shows no errors, and nothing is created.
    """
    try:
        with closing(open_cli_store(context.params.get("db"), create=False)) as store:
            found = names(store, context.params.get("project") or "")
            return [name for name in found if name.startswith(incomplete) and is_clean_name(name)]
    except KasmosError:
        return []
