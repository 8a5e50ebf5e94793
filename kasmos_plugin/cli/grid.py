"""Rows of text fitted into a width: columns aligned, the least needed left out. Knows no terminal.

Width counts cells, so that wide characters and emoji stay aligned.
"""

from collections.abc import Sequence

from rich.text import Text

GAP = 2
"""Cells between two columns; one after the first, which holds a mark."""
NARROWEST = 8
"""Cells that a column keeps while others can still be left out."""
WIDEST = 48


def grid(rows: Sequence[Sequence[Text]], width: int, *, keep: int, stretch: int = -1) -> list[Text]:
    """Return `rows` as lines of exactly `width` cells.

    Empty columns go first. Where it is still too wide the last columns go, but never the first
    `keep`; then the widest is cut with `…`. The column `stretch` takes what is left over; without
    it the lines end in blanks.
    """
    if not rows:
        return []
    columns = [index for index in range(len(rows[0])) if any(row[index].cell_len for row in rows)]
    widths = {
        index: min(max(row[index].cell_len for row in rows), width if index == stretch else WIDEST)
        for index in columns
    }
    while _total(widths) > width and columns[-1] >= keep and len(columns) > 1:
        over = _total(widths) - width
        widest = max(widths, key=lambda index: widths[index])
        if widths[widest] - over >= NARROWEST + (widths[widest] // 3):
            break
        del widths[columns.pop()]
    while _total(widths) > width:
        widest = max(widths, key=lambda index: widths[index])
        if widths[widest] <= 1:
            break
        widths[widest] -= 1
    if stretch in widths:
        widths[stretch] += max(width - _total(widths), 0)
    return [_line([row[index] for index in columns], list(widths.values()), width) for row in rows]


def spread(left: Text, right: Text, width: int) -> Text:
    """Return one line with `left` at its beginning and `right`, at most two fifths, at its end."""
    right = right.copy()
    right.truncate(width * 2 // 5, overflow="ellipsis")
    room = max(width - right.cell_len - GAP, 0)
    left = left.copy()
    left.truncate(room, overflow="ellipsis", pad=True)
    line = Text.assemble(left, " " * min(GAP, width - room - right.cell_len), right)
    line.truncate(width, pad=True)
    return line


def fitted(line: Text, width: int) -> Text:
    """Return `line` cut or padded to `width` cells."""
    line = line.copy()
    line.truncate(width, overflow="ellipsis", pad=True)
    return line


def _total(widths: dict[int, int]) -> int:
    return sum(widths.values()) + GAP * (len(widths) - 1) - (len(widths) > 1)


def _line(cells: list[Text], widths: list[int], width: int) -> Text:
    line = Text()
    for index, (cell, cell_width) in enumerate(zip(cells, widths, strict=True)):
        if index:
            line.append(" " * (GAP if index > 1 else 1))
        line.append_text(fitted(cell, cell_width))
    return fitted(line, width)
