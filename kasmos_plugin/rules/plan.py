"""A plan's markdown to its goal, waves and subtasks. Pure; knows nothing of files or the store.

CommonMark decides what a heading is: fenced examples, indented code and block quotes never count.
Only headings of the document itself are read; one inside a list item or a quotation is prose.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kasmos_plugin.contract.task import Plan, Subtask, Wave
from kasmos_plugin.errors import PlanProblems
from kasmos_plugin.rules.text import GOAL_LIMIT, NAME_LIMIT, clean, quoted

if TYPE_CHECKING:
    from markdown_it.token import Token

_WAVE = re.compile(r"wave\s+(\d{1,6})(?:\s*[:\-–—]\s*(.*))?", re.IGNORECASE)
_LIKE_A_WAVE = re.compile(r"wave\s+\d+\b.*", re.IGNORECASE)
_TASK = re.compile(r"task\s+(\d{1,6})(?:\s*[:.\-–—]\s*|\s+)(\S.*)", re.IGNORECASE)
_LIKE_A_TASK = re.compile(r"task\s+\d+\s*[:.\-–—]?", re.IGNORECASE)
_GOAL = re.compile(r"(?:\*\*|__)goal\s*(?::\s*(?:\*\*|__)|(?:\*\*|__)\s*:)\s*(.*)", re.IGNORECASE)


@dataclass(frozen=True)
class _Heading:
    level: int
    text: str
    line: int


def parse_plan(text: str) -> Plan:
    """Return what the plan says; a plan without waves is valid and has none.

    Waves are headings of level 2 or 3, `Wave 2` with an optional title after `:` or a dash; they
    count 1, 2, 3. Subtasks are headings of level 3 or 4, `Task 1: title`. Subtasks are numbered
    1..N over all waves in the order of the text, whatever numbers the text gives them.

    Raises:
        PlanProblems: naming every problem with its line: a subtask number that repeats inside one
            wave, a wave out of order, a wave without subtasks, a subtask before the first wave, a
            heading that begins like a wave or a subtask and is neither.
    """
    goal, headings = _read(text)
    waves: list[Wave] = []
    subtasks: list[Subtask] = []
    problems: list[tuple[int, str]] = []
    open_wave_line = 0
    lines_by_number: dict[int, int] = {}

    def close_wave() -> None:
        if waves and not lines_by_number:
            problems.append((open_wave_line, f"wave {len(waves)} has no tasks"))

    for heading in headings:
        wave, task = _WAVE.fullmatch(heading.text), _TASK.fullmatch(heading.text)
        if heading.level in (2, 3) and wave:
            close_wave()
            open_wave_line, lines_by_number = heading.line, {}
            waves.append(Wave(wave=len(waves) + 1, title=clean(wave[2] or "", NAME_LIMIT)))
            if int(wave[1]) != len(waves):
                problems.append(
                    (heading.line, f"wave {int(wave[1])} stands where wave {len(waves)} is due")
                )
        elif heading.level in (2, 3) and _LIKE_A_WAVE.fullmatch(heading.text):
            problems.append(
                (heading.line, f"{quoted(heading.text)} is no wave; a title goes after ':'")
            )
        elif heading.level in (3, 4) and task:
            number = int(task[1])
            if not waves:
                problems.append((heading.line, f"task {number} stands before the first wave"))
                continue
            if number in lines_by_number:
                problems.append(
                    (
                        heading.line,
                        f"task {number} repeats in wave {len(waves)};"
                        f" it first stands on line {lines_by_number[number]}",
                    )
                )
            lines_by_number.setdefault(number, heading.line)
            title = clean(task[2], NAME_LIMIT)
            subtasks.append(Subtask(wave=len(waves), number=len(subtasks) + 1, title=title))
        elif heading.level in (3, 4) and _LIKE_A_TASK.fullmatch(heading.text):
            lines_by_number.setdefault(-heading.line, heading.line)
            problems.append((heading.line, f"{quoted(heading.text)} has no title"))
    close_wave()
    if problems:
        raise PlanProblems([f"line {line}: {what}" for line, what in sorted(problems)])
    return Plan(goal=goal, waves=tuple(waves), subtasks=tuple(subtasks))


def _read(text: str) -> tuple[str, list[_Heading]]:
    from markdown_it import MarkdownIt  # 40 ms at start; only commands that take a plan need it.

    goal = ""
    headings: list[_Heading] = []
    tokens = MarkdownIt("commonmark").parse(text.removeprefix("\ufeff"))
    for index, token in enumerate(tokens):
        if token.level != 0 or token.map is None:
            continue
        if token.type == "heading_open":
            words = _plain(tokens[index + 1].children or [])
            headings.append(_Heading(int(token.tag[1]), words, token.map[0] + 1))
        elif token.type == "paragraph_open" and not goal:
            goal = _goal(tokens[index + 1].content)
    return goal, headings


def _plain(children: Iterable["Token"]) -> str:
    shown = (child.content if child.content else " " for child in children if child.tag != "img")
    return " ".join("".join(shown).split())


def _goal(paragraph: str) -> str:
    """Return the text after `**Goal:**`, up to the next line that begins with a bold word."""
    words: list[str] = []
    for line in paragraph.splitlines():
        if match := _GOAL.match(line.strip()):
            words = [match[1]]
        elif words and line.lstrip().startswith(("**", "__")):
            break
        elif words:
            words.append(line.strip())
    return clean(" ".join(words), GOAL_LIMIT)
