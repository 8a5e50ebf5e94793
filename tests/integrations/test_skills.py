"""The skills against the code: every name in them is one that exists.

An agent does what a skill says, letter by letter; a name that is wrong there costs a person a turn.
"""

import re
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Literal, get_args, get_origin

import click
import pytest
from pydantic import BaseModel

from kasmos_plugin.cli.app import kas
from kasmos_plugin.contract import agent, event, live_status, task
from kasmos_plugin.contract.approval import Step
from kasmos_plugin.contract.live_status import LiveStatus
from kasmos_plugin.coordination.operations import OPERATIONS
from kasmos_plugin.errors import Exit, KasmosError
from kasmos_plugin.ports import MCP_PORT
from kasmos_plugin.rules.plan import parse_plan
from kasmos_plugin.serve import tools
from kasmos_plugin.serve.mcp_server import MCP_PATH
from tests.integrations.test_plugin import PLUGIN, ROOT
from tests.test_docs import commands_of, problem_of

SKILLS = sorted((PLUGIN / "skills").iterdir())
COORDINATE = PLUGIN / "skills" / "coordinate-kasmos" / "SKILL.md"
MONITOR = PLUGIN / "skills" / "monitor-kasmos-task" / "SKILL.md"
PAGES = [*(skill / "SKILL.md" for skill in SKILLS), PLUGIN / "README.md"]
PROGRAMS = {"kas", "git", "cd", "codex"}
"""What a shell block of a skill or of the README may run."""

_HEAD = re.compile(r"\A---\n(.*?)\n---\n", re.DOTALL)
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`([^`\n]+)`")
_SNAKE = re.compile(r"\b[a-z]+(?:_[a-z]+)+\b")
_PLACEHOLDER = re.compile(r"[A-Z]+")

TOOLS = {tools.LIVE_STATUS, tools.OPEN_MONITOR, tools.REFRESH_MONITOR}
ARGUMENTS = {*tools.STATUS_INPUT["properties"], *tools.MONITOR_INPUT["properties"]}

each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.parent.name)
each_skill = pytest.mark.parametrize("skill", SKILLS, ids=lambda skill: skill.name)


def fields_of(model: type[BaseModel]) -> Iterator[str]:
    """Yield every key of a model and of the models in it."""
    for name, field in model.model_fields.items():
        yield name
        pending = [field.annotation]
        while pending:
            one = pending.pop()
            if isinstance(one, type) and issubclass(one, BaseModel):
                yield from fields_of(one)
            pending.extend(get_args(one))


def words_of_the_contract() -> Iterator[str]:
    """Yield every value of the contract's enumerations: statuses, phases, events, notices…"""
    for module in (agent, event, live_status, task):
        for value in vars(module).values():
            if isinstance(value, type) and issubclass(value, StrEnum):
                yield from value
            elif get_origin(value) is Literal:
                yield from get_args(value)


LATER = {"agent_resume"}
"""Operations that a coordinator finds in the list of tools, and needs no word about."""

LITERALS = {f"http://127.0.0.1:{MCP_PORT}{MCP_PATH}"}
"""Spans that are no name of ours: the address that the plugin tells Codex."""


def words_of_operations() -> Iterator[str]:
    """Yield the operations, their arguments and values, what they answer, and how they fail."""
    for name, operation in OPERATIONS.items():
        yield name
        for argument, told in operation.arguments.schema_of_input()["properties"].items():
            yield argument
            yield from told.get("enum", ())
    yield from Step
    # Of the answer of task_show, beside what it shares with the snapshot.
    yield "approvals"
    pending: list[type[KasmosError]] = [KasmosError]
    while pending:
        family = pending.pop()
        yield family.code
        pending.extend(family.__subclasses__())


WORDS = {
    *TOOLS,
    *ARGUMENTS,
    *fields_of(LiveStatus),
    *words_of_the_contract(),
    *words_of_operations(),
}


def problem_of_command(words: list[str]) -> str:
    """Return what of a command does not exist, its events and statuses included."""
    if problem := problem_of(words):
        return problem
    for start, known in (
        (["task", "transition"], set(task.LifecycleEvent)),
        (["task", "subtask"], set(task.SubtaskStatus)),
    ):
        if words[:2] == start and len(words) > 2:
            last = [
                word for word in words[2 : _options_at(words)] if not _PLACEHOLDER.fullmatch(word)
            ]
            if [word for word in last if word not in known]:
                return f"'{last[-1]}' is none of {', '.join(sorted(known))}"
    return ""


def _options_at(words: list[str]) -> int:
    return next((at for at, word in enumerate(words) if word.startswith("-")), len(words))


def is_known(span: str) -> bool:
    """Return whether an inline code span names something that exists."""
    if span in WORDS | LITERALS or _PLACEHOLDER.fullmatch(span):
        return True
    if span == "kas" or span.startswith("kas "):
        return all(not problem_of_command(words) for words in commands_of(f"`{span}`"))
    if span.startswith("--"):
        return span.split()[0] in OPTIONS
    return "/" in span and any((root / span).exists() for root in (PLUGIN, ROOT))


def commands(
    group: click.Group = kas, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Yield every command of `kas` with the words that lead to it."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield (*path, name), command
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))


COMMANDS = dict(commands())
OPTIONS = {
    option
    for command in COMMANDS.values()
    for parameter in command.params
    for option in (*parameter.opts, *parameter.secondary_opts)
}


def body(page: Path) -> str:
    """Return the text of a page, without front matter and blocks."""
    return _FENCE.sub("", _HEAD.sub("", page.read_text("utf-8")))


@each_skill
def test_a_skill_has_front_matter_that_names_its_folder_and_says_when(skill: Path) -> None:
    assert [path.name for path in skill.iterdir()] == ["SKILL.md"]
    found = _HEAD.match((skill / "SKILL.md").read_text("utf-8"))
    assert found, "without it Codex drops the skill and says nothing"
    head = dict(line.split(": ", 1) for line in found[1].splitlines())
    assert list(head) == ["name", "description"]
    assert head["name"] == skill.name
    assert "Use when" in head["description"]
    assert len(head["description"]) <= 1024
    # A colon and a space, or a quotation mark in front, would make another value of it in YAML.
    assert not re.search(r": | #|^[\"'\[{>|&*!%@`]", head["description"])


@each_page
def test_every_code_span_names_something_that_exists(page: Path) -> None:
    assert [span for span in _CODE.findall(body(page)) if not is_known(span)] == []


@each_page
def test_every_name_in_prose_exists(page: Path) -> None:
    """A name that somebody forgot to mark as code is judged all the same."""
    text = _CODE.sub("", page.read_text("utf-8"))
    assert [word for word in _SNAKE.findall(_FENCE.sub("", text)) if word not in WORDS] == []


@each_page
def test_every_command_exists(page: Path) -> None:
    commands = list(commands_of(page.read_text("utf-8")))
    assert commands
    problems = [(words, problem) for words in commands if (problem := problem_of_command(words))]
    assert problems == []


@each_page
def test_blocks_run_only_what_is_expected(page: Path) -> None:
    blocks = _FENCE.findall(page.read_text("utf-8"))
    assert {language for language, _ in blocks} <= {"sh", "md"}
    lines = [line for kind, text in blocks if kind == "sh" for line in text.splitlines()]
    assert {line.split()[0] for line in lines if line} <= PROGRAMS


@each_page
def test_exit_codes_are_those_of_the_code(page: Path) -> None:
    codes = {value for name, value in vars(Exit).items() if name.isupper()}
    assert {int(code) for code in re.findall(r"exit code (\d+)", page.read_text("utf-8"))} <= codes
    for code in re.findall(r"[Ee]xit code (\d+) means", page.read_text("utf-8")):
        assert int(code) == Exit.UNREACHABLE


@pytest.mark.parametrize(
    "span",
    [
        "live_statuses",
        "advance_waves",
        "daemon_down",
        "wave_runs",
        "kas task launch TASK",
        "kas task transition TASK advance_waves",
        "kas task subtask TASK N finished",
        "kas agent run --quietly -- COMMAND",
        "--projekt",
        "./assets/none.png",
        "focus.readyness",
    ],
)
def test_a_made_up_name_is_not_known(span: str) -> None:
    assert not is_known(span)


@pytest.mark.parametrize(
    "span",
    [
        "live_status",
        "include",
        "has_review_feedback",
        "wave_waiting",
        "store_read_only",
        "TASK",
        "kas task transition TASK advance_wave --project PROJECT",
        "--detach",
        "./assets/logo.png",
    ],
)
def test_a_real_name_is_known(span: str) -> None:
    assert is_known(span)


def test_the_plan_of_the_skill_is_one_that_kasmos_stores() -> None:
    (text,) = [text for kind, text in _FENCE.findall(COORDINATE.read_text("utf-8")) if kind == "md"]
    plan = parse_plan(text)
    assert plan.goal == "parse the new format"
    assert [(one.wave, one.number, one.title) for one in plan.subtasks] == [
        (1, 1, "tokens"),
        (1, 2, "tree"),
        (2, 3, "print the tree"),
    ]


def test_coordination_names_project_and_task_in_every_command_that_takes_them() -> None:
    """Two projects with a task of the same name are the usual case, not the rare one."""
    given = [words for words in commands_of(COORDINATE.read_text("utf-8")) if len(words) > 2]
    takes_project = [
        words
        for words in given
        if any("--project" in one.opts for one in COMMANDS[words[0], words[1]].params)
    ]
    assert takes_project
    assert [words for words in takes_project if "--project" not in words] == []


def test_the_gate_covers_what_starts_and_what_cannot_be_undone() -> None:
    """The monitor's messages name this gate; they must lead to it."""
    prompts = (ROOT / "web" / "src" / "state" / "prompts.ts").read_text("utf-8")
    assert "coordinate-kasmos approval gate" in prompts
    section = COORDINATE.read_text("utf-8").partition("## The approval gate\n")[2]
    section = section.partition("\n## ")[0]
    asked = section.partition("Say what would happen")[0]
    assert {"implement_start", "advance_wave", "cancel", "start_over"} <= set(_CODE.findall(asked))
    assert {"a merge", "a push"} <= set(re.findall(r"a \w+", asked))
    assert {*Step} <= set(_CODE.findall(section))


def test_coordination_uses_every_operation_for_an_agent_to_call() -> None:
    """What has a tool is done with it; each tool is named, so that none is forgotten."""
    text = COORDINATE.read_text("utf-8")
    assert set(OPERATIONS) - set(_CODE.findall(text)) == set(LATER)
    changed = {" ".join(words[:2]) for words in commands_of(text) if words}
    assert changed <= {
        *("task approve", "task transition"),  # For the person.
        *("agent run", "agent dismiss", "daemon start", "daemon stop", "serve"),  # Without a tool.
    }


def test_watching_uses_the_reading_tools_and_no_command() -> None:
    text = MONITOR.read_text("utf-8")
    assert {word for word in _CODE.findall(text) if word in TOOLS} == {
        tools.LIVE_STATUS,
        tools.OPEN_MONITOR,
    }
    # The one that it names is for the person.
    assert [words for words in commands_of(text) if words] == [["daemon", "start"]]
    taken = re.search(r"^It takes (.+)\.$", text, re.MULTILINE)
    assert taken
    assert set(_CODE.findall(taken[1])) == set(tools.STATUS_INPUT["properties"])


def test_watching_is_bounded_and_its_sums_are_right() -> None:
    text = MONITOR.read_text("utf-8")
    rows = re.findall(r"^\| (\d+) to (\d+) \| (\d+) s \|$", text, re.MULTILINE)
    steps = [(int(first), int(last), int(wait)) for first, last, wait in rows]
    assert [first for first, _, _ in steps] == [1, *(last + 1 for _, last, _ in steps[:-1])]
    waits = [wait for _, _, wait in steps]
    assert waits == sorted(set(waits)), "the spacing grows"
    bounds = {int(bound) for bound in re.findall(r"(\d+) polls", text)}
    assert bounds == {steps[-1][1]}
    total = sum((last - first + 1) * wait for first, last, wait in steps)
    minutes, seconds = divmod(total, 60)
    assert f"{minutes} minutes and {seconds} seconds" in text


def test_what_changes_by_itself_is_kept_out_of_the_digest() -> None:
    text = MONITOR.read_text("utf-8")
    kept, _, left_out = text.partition("Keep a digest")[2].partition("Leave out")
    out = set(_CODE.findall(left_out.partition("\n")[0]))
    assert out == {"generated_at", "uptime", "last_activity", "stage_since", "since"}
    assert out & set(_CODE.findall(kept)) == set()


def test_the_version_of_the_snapshot_is_the_one_that_is_sent() -> None:
    found = re.search(r"`schema_version` is not (\d+)", MONITOR.read_text("utf-8"))
    assert found
    assert int(found[1]) == live_status.SCHEMA_VERSION
