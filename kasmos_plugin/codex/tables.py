"""Our two tables in Codex's configuration, pure: text and text to text.

Codex's own commands write them, and on their way turn CRLF into LF, drop a byte order mark and
rewrite inline tables. What they changed by meaning is put onto the text that the user had.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError

from kasmos_plugin.codex.client import MARKETPLACE, PLUGIN_ID
from kasmos_plugin.codex.edits import Edit, between, takings_back
from kasmos_plugin.codex.toml_text import ConfigProblem, is_same, parse, split_bom, value_at

Tree = dict[str, Any]
TablePath = tuple[str, str]

MARKETPLACE_TABLE: TablePath = ("marketplaces", MARKETPLACE)
PLUGIN_TABLE: TablePath = ("plugins", PLUGIN_ID)
OURS = (MARKETPLACE_TABLE, PLUGIN_TABLE)

_NAME = "config.toml"


def table(text: str, path: TablePath) -> Tree | None:
    """Return one of our tables, or None when it is not there.

    Raises:
        ConfigProblem: the text is not TOML.
    """
    found = value_at(parse(text, name=_NAME), path)
    return found if isinstance(found, dict) else None


def carry(before: str, after: str, *, undo: Mapping[TablePath, Edit]) -> str | None:
    """Return `before` with our tables as `after` has them; every other character stays.

    `undo` holds the edits that once put a table in, so that it comes out without a trace.
    None when something else differs too, or when no such text was found.
    """
    text: str | None = before
    for path in OURS:
        want = table(after, path)
        if text is not None and want != table(text, path):
            text = put(text, path, want, undo=undo.get(path))
    return text if text is not None and means_same(text, after) else None


def put(text: str, path: TablePath, values: Tree | None, *, undo: Edit | None = None) -> str | None:
    """Return `text` with one of our tables as wanted, None for none.

    None when it cannot be done without touching more than that.
    """
    if table(text, path) is not None:
        bare = _first(_without(text, path, undo), lambda it: _means(it, text, path, None))
        return bare if bare is None or values is None else put(bare, path, values)
    if values is None:
        return text
    return _first(_with(text, path, values), lambda it: _means(it, text, path, values))


def means_same(text: str, other: str) -> bool:
    """Return whether two configurations have the same values; without ours, empty is absent."""
    try:
        ours = all(table(text, path) == table(other, path) for path in OURS)
        # Codex moves what it rewrites: the order of keys means nothing here.
        return ours and is_same(_in_order(_rest(text)), _in_order(_rest(other)))
    except ConfigProblem:
        return False


def _with(text: str, path: TablePath, values: Tree) -> Iterator[str | None]:
    yield text + _appendix(text, path, values)
    # An inline table cannot be continued by a header: the entry goes into it.
    yield _edited(text, lambda document: document[path[0]].update({path[1]: values}))


def _without(text: str, path: TablePath, undo: Edit | None) -> Iterator[str | None]:
    yield from takings_back(text, undo)
    yield _edited(text, lambda document: document[path[0]].pop(path[1]))


def _first(ways: Iterator[str | None], is_right: Callable[[str], bool]) -> str | None:
    return next((way for way in ways if way is not None and is_right(way)), None)


def _appendix(text: str, path: TablePath, values: Tree) -> str:
    """Return what has to be added at the end of `text` for one table more, in its line ends."""
    _, body = split_bom(text)
    first = body.find("\n")
    end = "\r\n" if first > 0 and body[first - 1] == "\r" else "\n"
    lines = [f"[{path[0]}.{tomlkit.key(path[1]).as_string()}]"]
    lines += [f"{key} = {tomlkit.item(value).as_string()}" for key, value in values.items()]
    gap = end * (bool(body) + (bool(body) and not body.endswith("\n")))
    return gap + "".join(f"{line}{end}" for line in lines)


def _edited(text: str, edit: Callable[[Any], object]) -> str | None:
    """Return the text after one change, None when that touched more than one line that stays.

    tomlkit gathers the scattered tables of an array in one place, for one.
    """
    bom, body = split_bom(text)
    try:
        document = tomlkit.parse(body)
        edit(document)
        edited = document.as_string()
    except (TOMLKitError, LookupError, TypeError, AttributeError, ValueError):
        return None
    piece = between(body, edited)
    is_one_place = (
        piece is None or min(len(piece.before.split("\n")), len(piece.after.split("\n"))) <= 2
    )
    return bom + edited if is_one_place else None


def _means(text: str, before: str, path: TablePath, values: Tree | None) -> bool:
    """Return whether `text` has the table as wanted, and else the values of `before`."""
    try:
        others = [other for other in OURS if other != path]
        kept = all(table(text, other) == table(before, other) for other in others)
        return kept and table(text, path) == values and is_same(_rest(text), _rest(before))
    except ConfigProblem:
        return False


def _in_order(tree: dict[str, object]) -> dict[str, object]:
    """Return the tree with the keys of every table sorted."""
    return {key: _sorted(tree[key]) for key in sorted(tree)}


def _sorted(value: object) -> object:
    if isinstance(value, dict):
        return _in_order(value)
    return [_sorted(one) for one in value] if isinstance(value, list) else value


def _rest(text: str) -> dict[str, object]:
    """Return what is not ours; a table that is empty without ours counts as absent."""
    rest = parse(text, name=_NAME)
    for parent, name in OURS:
        found = rest.get(parent)
        if isinstance(found, dict):
            rest[parent] = {key: value for key, value in found.items() if key != name}
            if not rest[parent]:
                del rest[parent]
    return rest
