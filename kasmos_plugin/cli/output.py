"""How commands speak: data on standard output, everything else on standard error."""

import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from kasmos_plugin.errors import KasmosError
from kasmos_plugin.rules.text import clean, clean_block

if TYPE_CHECKING:
    from pydantic import BaseModel  # 100 ms at start, which help and completion do without.
    from rich.console import Console
    from rich.text import Text

UNBOUND = 100_000
"""Columns of an output that is no terminal: nothing is cut or folded for a program."""


def echo_json(value: "BaseModel | dict[str, Any]") -> None:
    """Print a model, or plain data, as one line of JSON."""
    if isinstance(value, dict):
        import json  # Most commands print models.

        print(json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False))
    else:
        print(value.model_dump_json())


def echo_models(models: "Iterable[BaseModel]") -> None:
    """Print models as one JSON array on one line."""
    print(f"[{','.join(model.model_dump_json() for model in models)}]")


def note(message: str) -> None:
    """Print a line for a person, on standard error."""
    print(message, file=sys.stderr, flush=True)


def complain(error: KasmosError) -> None:
    """Print what went wrong and the command that mends it."""
    note(f"error: {clean_block(error.message)}")
    if error.hint:
        note(f"hint: {clean(error.hint, 500)}")


def console() -> "Console":
    """Return a console on standard output: colours for a terminal, whole lines for a program."""
    from rich.console import Console  # 60 ms at start.

    width = None if sys.stdout.isatty() else UNBOUND
    return Console(highlight=False, markup=False, emoji=False, width=width)


def table(columns: Sequence[str], rows: Iterable[Sequence["str | Text"]], *, empty: str) -> None:
    """Print rows under quiet column heads, or `empty` when there are none.

    Every text cell is cleaned. A terminal too narrow folds what is longest; a program gets it all.
    """
    from rich.table import Table
    from rich.text import Text

    shown = [
        [Text(clean(cell, 500)) if isinstance(cell, str) else cell for cell in row] for row in rows
    ]
    if not shown:
        print(empty)
        return
    grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for column in columns:
        grid.add_column(column, overflow="fold")
    for row in shown:
        grid.add_row(*row)
    out = console()
    with out.capture() as captured:
        out.print(grid)
    for line in captured.get().splitlines():
        print(line.rstrip())
