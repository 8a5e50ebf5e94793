"""TOML as text: parsed, compared, and found again by line. Knows neither files nor Codex's keys.

`tomllib` is the judge of what a text means. It tells no positions, so a line is found by parsing
the text statement by statement: a part of a statement is never valid TOML, a whole one always is.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping

from kasmos_plugin.errors import KasmosError
from kasmos_plugin.rules.text import clean

BOM = "\ufeff"
"""What some editors put before the first character; kept where it stands."""

_PLACE = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")
_NAME_LIMIT = 500


class ConfigProblem(KasmosError):
    """A configuration file that cannot be read or changed as asked; nothing was written.

    `line` is the line at fault, from 1, or None where no line is.
    """

    code = "config_problem"

    def __init__(self, message: str, *, hint: str = "", line: int | None = None) -> None:
        super().__init__(message, hint=hint)
        self.line = line


def split_bom(text: str) -> tuple[str, str]:
    """Return the leading byte-order mark, or "", and the text after it."""
    return (BOM, text[1:]) if text.startswith(BOM) else ("", text)


def place(name: str, line: int | None = None) -> str:
    """Return how a message names a line of a file: `'config.toml' line 3`."""
    return f"'{clean(name, _NAME_LIMIT)}'" + (f" line {line}" if line is not None else "")


def parse(text: str, *, name: str) -> dict[str, object]:
    """Return the value tree of a TOML text, which may begin with a byte-order mark.

    Raises:
        ConfigProblem: it is not TOML, or it is nested too deep to be read.
    """
    _, body = split_bom(text)
    try:
        return tomllib.loads(body)
    except RecursionError:
        raise ConfigProblem(f"{place(name)} is nested too deep to be read.") from None
    except ValueError as error:  # Not only TOMLDecodeError: a number of 5,000 digits is none.
        raise _not_toml(body, str(error), name) from error


def line_of(text: str, path: tuple[str, ...]) -> int | None:
    """Return the line, from 1, of the statement that first gives `path` in a valid TOML text.

    `path` is the keys from the root; a table's header gives its own path and all above it.
    """
    header: tuple[str, ...] = ()
    for line, is_header, tree in _statements(text):
        if is_header:
            header = _only_path(tree)
            if header[: len(path)] == path:
                return line
        elif path[: len(header)] == header and value_at(tree, path[len(header) :]) is not None:
            return line
    return None


def is_same(one: Mapping[str, object], other: Mapping[str, object]) -> bool:
    """Return whether two value trees are the same in values, their types and the keys' order.

    `1`, `1.0` and `true` are three values; `nan` is itself; a time of day is not its equal in
    another zone.
    """
    try:
        return repr(one) == repr(other)
    except RecursionError:  # Dotted keys nest deeper than the parser had to go.
        return False


def value_at(tree: Mapping[str, object], path: tuple[str, ...]) -> object:
    """Return what `path` names, or None where it names nothing: TOML has no null."""
    at: object = tree
    for key in path:
        if not isinstance(at, Mapping):
            return None
        at = at.get(key)
    return at


def _not_toml(body: str, why: str, name: str) -> ConfigProblem:
    line: int | None = None
    lines = body.removesuffix("\n").split("\n")
    if found := _PLACE.search(why):
        why = why[: found.start()]
        line = int(found[1]) if found[1] else len(lines)
        if found[2] and lines[line - 1][int(found[2]) - 1 :].startswith(BOM):
            return ConfigProblem(
                f"{place(name, line)} has a byte-order mark, which only may begin a file.",
                hint=f"remove the invisible character U+FEFF from line {line}",
                line=line,
            )
    where = f"line {line} of " if line is not None else ""
    return ConfigProblem(
        f"{place(name, line)} is not TOML: {clean(why).rstrip('.')}.",
        hint=f"correct {where}{place(name)} by hand",
        line=line,
    )


def _statements(text: str) -> Iterator[tuple[int, bool, dict[str, object]]]:
    """Yield each statement's first line, whether it is a header, and its tree if it stood alone."""
    _, body = split_bom(text)
    statement = ""
    begin = 1
    for number, line in enumerate(body.split("\n"), start=1):
        statement += line + "\n"
        try:
            tree: dict[str, object] = tomllib.loads(statement)
        except (ValueError, RecursionError):
            continue
        if tree:
            yield begin, statement.lstrip().startswith("["), tree
        statement, begin = "", number + 1


def _only_path(tree: dict[str, object]) -> tuple[str, ...]:
    """Return the path that a header alone opens; an array of tables ends it."""
    path: list[str] = []
    at: object = tree
    while isinstance(at, dict) and at:
        key, at = next(iter(at.items()))
        path.append(key)
    return tuple(path)
