"""How commands speak: data on standard output, everything else on standard error."""

import sys
from collections.abc import Iterable, Sequence

from pydantic import BaseModel

from kasmos_plugin.errors import KasmosError
from kasmos_plugin.rules.text import clean, clean_block


def echo_json(value: object) -> None:
    """Print a model, or plain data, as one line of JSON."""
    if isinstance(value, BaseModel):
        print(value.model_dump_json())
        return
    import json  # Most commands print models.

    print(json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False))


def echo_models(models: Iterable[BaseModel]) -> None:
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


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, empty: str) -> None:
    """Print rows under quiet column heads, or `empty` when there are none.

    Every cell is cleaned; a narrow terminal folds the last column, a pipe gets everything.
    """
    from rich.console import Console  # 60 ms at start.
    from rich.table import Table
    from rich.text import Text

    shown = [[Text(clean(cell, 500)) for cell in row] for row in rows]
    if not shown:
        print(empty)
        return
    console = Console(highlight=False, soft_wrap=not sys.stdout.isatty())
    grid = Table(box=None, pad_edge=False, header_style="dim")
    for column in columns:
        grid.add_column(column, overflow="fold", no_wrap=not sys.stdout.isatty())
    for row in shown:
        grid.add_row(*row)
    console.print(grid)
