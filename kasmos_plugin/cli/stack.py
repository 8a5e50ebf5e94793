"""Sections stacked into a height: the first keep most, and what has no room is named. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.text import Text

from kasmos_plugin.cli.grid import fitted


@dataclass(frozen=True)
class Section:
    """A title and its rows, each of the same width; `hidden` more exist elsewhere."""

    title: Text
    rows: Sequence[Text]
    hidden: int = 0
    """Rows that the snapshot itself left out."""
    least: int = 3
    """Rows that it has before any other section gets more."""
    floor: int = 2
    """Rows that it keeps while one below it can still give some."""


def stack(sections: Sequence[Section], room: int, width: int, unseen: list[str]) -> list[Text]:
    """Return the sections one below the other in at most `room` lines; name those left out."""
    shown = [section for section in sections if section.rows]
    counts = _fit(shown, room)
    lines: list[Text] = []
    for section, count in zip(shown, counts, strict=True):
        if count < 0:
            unseen.append(section.title.plain)
            continue
        lines.append(Text(" " * width))
        left_out = len(section.rows) - count + section.hidden
        title = section.title
        if left_out and not count:
            title = Text.assemble(title, (" · not shown here", "dim"))
        lines.append(fitted(title, width))
        lines += section.rows[:count]
        if left_out and count:
            lines.append(fitted(Text(f"and {left_out} more", "dim"), width))
    return lines[:room]


def beside(left: list[Text], right: list[Text], left_width: int, right_width: int) -> list[Text]:
    """Return two blocks of lines side by side, as high as the higher one."""
    blank_left, blank_right = Text(" " * left_width), Text(" " * right_width)
    height = max(len(left), len(right))
    left = left + [blank_left] * (height - len(left))
    right = right + [blank_right] * (height - len(right))
    return [Text.assemble(one, "    ", other) for one, other in zip(left, right, strict=True)]


def _fit(sections: Sequence[Section], room: int) -> list[int]:
    """Return how many rows of each section are shown; -1 where not even its title is.

    Each begins with its least; then the first that can still grow does, so that order is priority.
    """
    counts = [min(len(section.rows), section.least) for section in sections]

    def total() -> int:
        return sum(
            2 + count + (1 if 0 < count < len(s.rows) or (count and s.hidden) else 0)
            for s, count in zip(sections, counts, strict=True)
            if count >= 0
        )

    from_below = list(reversed(range(len(sections))))
    steps = [(sections[index].floor, index) for index in from_below]
    for floor, index in [*steps, *((0, index) for index in from_below)]:
        while total() > room and counts[index] > floor:
            counts[index] -= 1
        if total() > room and counts[index] == 0 and index:
            counts[index] = -1
    for index, section in enumerate(sections):
        while 0 <= counts[index] < len(section.rows):
            counts[index] += 1
            if total() > room:
                counts[index] -= 1
                break
    return counts
