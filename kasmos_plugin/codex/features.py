"""Codex's switch for MCP Apps, as text: whether it is on, and the text with it on. Opens nothing.

Codex shows an MCP App unless `features.apps` is false; the older name `features.connectors` decides
alone wherever it is present. Off is the user's choice: whoever turns it on asks first.

The edit changes the four letters of a value and nothing else. A TOML library that writes the whole
text anew is no help there (tomlkit gathers the scattered tables of an array in one place), so the
value's letters are found by marking: every `false` that follows an equals sign is replaced by a
number of its own, and one parse tells which of them is the value, and which stand in a comment, a
string or another table.
"""

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from kasmos_plugin.codex.toml_text import ConfigProblem, is_same, line_of, parse, place, value_at
from kasmos_plugin.rules.text import clean

APPS_ON = "[features]\napps = true"
"""The lines that turn apps on where nothing is said of them."""

_FALSE_VALUE = re.compile(r"(=[ \t]*)false")
_DIGITS = re.compile(r"\d+")
_Key = Literal["apps", "connectors"]
_KEYS: tuple[_Key, ...] = ("connectors", "apps")  # In the order in which they decide.
_Span = tuple[int, int]


@dataclass(frozen=True)
class AppsFeature:
    """What a configuration says of MCP Apps.

    `line` is the line of the deciding key, from 1, None for the default. `has_plugins_on` is False
    when `features.plugins` turns all plugins off, ours with them.
    """

    is_on: bool
    decided_by: Literal["default", "apps", "connectors"]
    line: int | None
    has_plugins_on: bool


def read_apps(text: str, *, name: str = "config.toml") -> AppsFeature:
    """Return whether Codex shows MCP Apps under a configuration, and what decides it.

    Raises:
        ConfigProblem: it is not TOML, or a feature of these is no boolean: Codex refuses such a
            file with every command.
    """
    features = _features(parse(text, name=name), text, name)
    has_plugins_on = features.get("plugins") is not False
    for key in _KEYS:
        if key in features:
            line = line_of(text, ("features", key))
            return AppsFeature(features[key] is True, key, line, has_plugins_on)
    return AppsFeature(is_on=True, decided_by="default", line=None, has_plugins_on=has_plugins_on)


def turn_apps_on(text: str, *, name: str = "config.toml") -> str:
    """Return the configuration with each of `apps` and `connectors` that is false made true.

    Every other character stays as it is; a text in which neither is false is returned as it is.

    Raises:
        ConfigProblem: as `read_apps`, or the changed text would not mean exactly that.
    """
    tree = parse(text, name=name)
    features = _features(tree, text, name)
    off = [key for key in _KEYS if features.get(key) is False]
    if not off:
        return text
    spans = _false_values(text, off, name)
    changed = _with_true(text, spans)
    features |= dict.fromkeys(off, True)
    is_exact = _outside(changed, _moved(spans)) == _outside(text, spans)
    if not is_exact or not is_same(parse(changed, name=name), tree):
        raise ConfigProblem(
            f"{place(name)} cannot be changed without changing more than apps.",
            hint=f"set {' and '.join(off)} to true below [features] by hand",
        )
    return changed


def _features(tree: dict[str, object], text: str, name: str) -> dict[str, object]:
    """Return the table of features; empty when there is none."""
    features = tree.get("features", {})
    if not isinstance(features, dict):
        line = line_of(text, ("features",))
        raise ConfigProblem(
            f"{place(name, line)}: 'features' is no table.",
            hint=f"write it as a table:\n{APPS_ON}",
            line=line,
        )
    for key in (*_KEYS, "plugins"):
        if key in features and not isinstance(features[key], bool):
            line = line_of(text, ("features", key))
            raise ConfigProblem(
                f"{place(name, line)}: 'features.{key}' is '{clean(str(features[key]), 60)}', "
                "neither true nor false.",
                hint=f"write {key} = true or {key} = false, without quotes",
                line=line,
            )
    return features


def _false_values(text: str, keys: list[_Key], name: str) -> list[_Span]:
    """Return where the values of those features stand, in the text's order."""
    spans: dict[object, _Span] = {}
    # More digits than any number in the text has: no mark makes two keys one.
    first = 10 ** max([9, *map(len, _DIGITS.findall(text))])

    def mark(match: re.Match[str]) -> str:
        number = first + len(spans)
        spans[number] = (match.end() - len("false"), match.end())
        return f"{match[1]}{number}"

    marked = parse(_FALSE_VALUE.sub(mark, text), name=name)
    values = [value_at(marked, ("features", key)) for key in keys]
    return sorted(spans[value] for value in values if value in spans)


def _with_true(text: str, spans: list[_Span]) -> str:
    return "true".join(_outside(text, spans))


def _outside(text: str, spans: list[_Span]) -> list[str]:
    """Return the pieces of text before, between and after the spans."""
    edges = [(0, 0), *spans, (len(text), len(text))]
    return [text[end:begin] for (_, end), (begin, _) in pairwise(edges)]


def _moved(spans: list[_Span]) -> list[_Span]:
    """Return where the spans of `false` lie once each is `true`, one letter shorter."""
    return [(begin - index, end - index - 1) for index, (begin, end) in enumerate(spans)]
