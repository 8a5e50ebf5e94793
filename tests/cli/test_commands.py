"""Every command, found by walking: none may lack help, an example, or JSON where it prints data."""

from collections.abc import Iterator

import click
import pytest

from kasmos_plugin.cli.app import kas

WITHOUT_DATA = {
    "kas agent logs": "prints what the agent printed",
    "kas agent report": "says something, prints nothing",
    "kas agent run": "becomes the agent's terminal",
    "kas completion": "prints a script",
    "kas daemon remove": "changes, prints nothing",
    "kas daemon stop": "changes, prints nothing",
    "kas demo": "shows a story",
    "kas monitor open": "opens a browser",
    "kas monitor widget": "writes a file",
    "kas task delete": "changes, prints nothing",
    "kas up": "shows two servers",
}
"""Commands without `--json`, and why."""
WITHOUT_PROJECT = {"kas monitor bundle": "writes the same for every project"}
"""Commands of a project's groups that need none, and why."""


def _commands(
    command: click.Command, name: str, parent: click.Context | None = None
) -> Iterator[tuple[str, click.Command, click.Context]]:
    context = click.Context(command, info_name=name, parent=parent, **command.context_settings)
    yield context.command_path, command, context
    if isinstance(command, click.Group):
        for child in command.list_commands(context):
            found = command.get_command(context, child)
            assert found is not None, child
            yield from _commands(found, child, context)


COMMANDS = list(_commands(kas, "kas"))
IDS = [path for path, _, _ in COMMANDS]


@pytest.mark.parametrize(("path", "command", "context"), COMMANDS, ids=IDS)
def test_every_command_explains_itself_with_an_example(
    path: str, command: click.Command, context: click.Context
) -> None:
    text = command.get_help(context)
    summary = text.split("\n\n")[1].strip()
    assert summary.endswith("."), path
    _, found, examples = text.partition("  Example")
    assert found, f"{path} has no example"
    assert f"    {path}" in examples or f"| {path}" in examples or f"({path}" in examples, path


@pytest.mark.parametrize(("path", "command", "context"), COMMANDS, ids=IDS)
def test_every_option_is_explained(
    path: str, command: click.Command, context: click.Context
) -> None:
    for parameter in command.get_params(context):
        if isinstance(parameter, click.Option):
            assert parameter.help, f"{path} {parameter.opts[0]}"


@pytest.mark.parametrize(("path", "command", "context"), COMMANDS, ids=IDS)
def test_commands_that_print_data_print_json(
    path: str, command: click.Command, context: click.Context
) -> None:
    if isinstance(command, click.Group):
        pytest.skip("a group prints nothing itself")
    options = {name for parameter in command.params for name in parameter.opts}
    assert ("--json" in options) or path in WITHOUT_DATA, path


def test_nobody_is_excused_who_is_not_there() -> None:
    assert {*WITHOUT_DATA, *WITHOUT_PROJECT} - set(IDS) == set()


@pytest.mark.parametrize(("path", "command", "context"), COMMANDS, ids=IDS)
def test_commands_on_a_project_take_its_name_and_its_store(
    path: str, command: click.Command, context: click.Context
) -> None:
    options = {name for parameter in command.params for name in parameter.opts}
    if isinstance(command, click.Group) and not command.invoke_without_command:
        return
    if path.startswith(("kas task ", "kas agent ", "kas monitor")) and path not in WITHOUT_PROJECT:
        assert "--project" in options
    if path.startswith("kas task ") or path in ("kas monitor status", "kas monitor events"):
        assert "--db" in options
