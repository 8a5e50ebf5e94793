"""The docs against the code: commands, options, links, exit codes, words."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from kasmos_plugin.cli.app import kas
from kasmos_plugin.errors import Exit

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
FORBIDDEN = ("simply", "easily", "robust", "seamless", "comprehensive")
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`([^`\n]+)`")
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)

page_of_each = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


def commands_of(text: str) -> Iterator[list[str]]:
    """Yield the words after `kas` of every command in shell blocks and inline code."""
    prose = _FENCE.sub("", text)
    blocks = [block for language, block in _FENCE.findall(text) if language == "sh"]
    lines = [line for block in blocks for line in block.splitlines()] + _CODE.findall(prose)
    for line in lines:
        for piece in re.split(r"&&|;|\||,|\$\(|\)|#", line):
            words = shlex.split(piece.replace('"', " ").replace("'", " "))
            if words[:1] == ["kas"]:
                yield words[1:]


def problem_of(words: list[str]) -> str:
    """Return what of a command line does not exist; empty when all of it does."""
    command: click.Command = kas
    context = click.Context(kas, info_name="kas")
    rest = words[: words.index("--")] if "--" in words else words
    while isinstance(command, click.Group) and rest and not rest[0].startswith("-"):
        found = command.get_command(context, rest[0])
        if found is None:
            return f"there is no command '{rest[0]}'"
        command, rest = found, rest[1:]
        context = click.Context(command, info_name=command.name, parent=context)
    known = {
        option: parameter
        for parameter in command.get_params(context)
        if isinstance(parameter, click.Option)
        for option in (*parameter.opts, *parameter.secondary_opts)
    }
    arguments = 0
    words = list(rest)
    while words:
        word = words.pop(0)
        if not word.startswith("-") or word == "-":
            arguments += word != ">"
            if word == ">":
                break
            continue
        option = known.get(word.partition("=")[0])
        if option is None:
            return f"there is no option '{word}'"
        if not option.is_flag and "=" not in word and words:
            value = words.pop(0)
            if isinstance(option.type, click.Choice) and value not in option.type.choices:
                return f"'{word}' does not take '{value}'"
    taken = [one for one in command.get_params(context) if isinstance(one, click.Argument)]
    is_bounded = not isinstance(command, click.Group) and all(one.nargs == 1 for one in taken)
    if is_bounded and arguments > len(taken):
        return f"it takes {len(taken)} arguments, not {arguments}"
    return ""


def anchor(heading: str) -> str:
    """Return the anchor that GitHub gives a heading."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


@page_of_each
def test_every_command_that_a_page_names_exists(page: Path) -> None:
    problems = [
        f"kas {' '.join(words)}: {problem}"
        for words in commands_of(page.read_text("utf-8"))
        if (problem := problem_of(words))
    ]
    assert problems == []


def test_commands_are_found_and_judged() -> None:
    """The walk above sees what it shall: a page without commands would pass for nothing."""
    assert len(list(commands_of((ROOT / "README.md").read_text("utf-8")))) >= 10
    text = "```sh\nkas no\nkas serve --porto 1   # kas up\n```\nSay `kas demo --fast`."
    found = list(commands_of(text))
    assert found == [["no"], ["serve", "--porto", "1"], ["up"], ["demo", "--fast"]]
    assert [bool(problem_of(words)) for words in found] == [True, True, False, False]
    assert problem_of(["task", "transition", "plan", "advance_wave", "now"])
    assert problem_of(["monitor", "widget", "--mode", "huge"])
    assert not problem_of(["agent", "run", "--", "codex", "--full-auto"])


@page_of_each
def test_every_relative_link_resolves(page: Path) -> None:
    broken = []
    for target in _LINK.findall(page.read_text("utf-8")):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, fragment = target.partition("#")
        path = (page.parent / name) if name else page
        headings = (
            _HEADING.findall(path.read_text("utf-8"))
            if path.suffix == ".md" and path.is_file()
            else []
        )
        if not path.exists() or (fragment and fragment not in map(anchor, headings)):
            broken.append(target)
    assert broken == []


def test_the_exit_codes_are_those_of_the_code() -> None:
    text = (ROOT / "docs" / "install.md").read_text("utf-8")
    section = text.partition("## Exit codes\n")[2].partition("\n## ")[0]
    told = {
        int(code): meaning for code, meaning in re.findall(r"^\| (\d) \| (.+) \|$", section, re.M)
    }
    codes = {value for name, value in vars(Exit).items() if name.isupper()}
    assert set(told) == codes
    assert told == {
        Exit.OK: "fine",
        Exit.FAILED: "failed",
        Exit.USAGE: "wrong usage",
        Exit.UNREACHABLE: "a server or the daemon is not reachable",
    }
    help_text = " ".join((kas.help or "").split())
    assert all(f"{code} {meaning}" in help_text for code, meaning in told.items())


@page_of_each
def test_no_page_praises(page: Path) -> None:
    words = re.findall(r"\w+", page.read_text("utf-8").lower())
    assert [word for word in FORBIDDEN if word in words] == []


def test_every_page_is_in_the_index() -> None:
    index = (ROOT / "docs" / "index.md").read_text("utf-8")
    missing = [
        page.name for page in PAGES[1:] if page.name != "index.md" and f"({page.name})" not in index
    ]
    assert [name for name in missing if name != "README.md"] == []
