"""codex.toml_text: what a text means, and on which line it says so."""

import pytest

from kasmos_plugin.codex.toml_text import (
    BOM,
    ConfigProblem,
    is_same,
    line_of,
    parse,
    split_bom,
    value_at,
)

NAME = "config.toml"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a = 1\nb =\n", 2),
        ("a = 1\r\n\r\nb = no\r\n", 3),
        (BOM + "a = 1\na = 2\n", 2),
        ("a = 1\na = 2", 2),
        ("[a]\n[b]\n[a]\n", 3),
        ('a = """\n\n', 2),
        ("a = 1\rb = 2\n", 1),
        ("a = [\n  1,\n", 2),
    ],
)
def test_what_is_not_toml_is_refused_with_its_line(text: str, line: int) -> None:
    """A5: a key or table given twice is as broken as an open string."""
    with pytest.raises(ConfigProblem) as refused:
        parse(text, name=NAME)
    assert refused.value.line == line
    assert refused.value.message.startswith(f"'config.toml' line {line} is not TOML: ")
    assert refused.value.hint == f"correct line {line} of 'config.toml' by hand"


def test_a_leading_byte_order_mark_is_no_fault() -> None:
    """A9: Notepad and PowerShell put one there."""
    assert parse(BOM + "a = 1", name=NAME) == {"a": 1}
    assert split_bom(BOM + "a") == (BOM, "a")
    assert split_bom("a" + BOM) == ("", "a" + BOM)


@pytest.mark.parametrize("text", ["a = 1\n" + BOM + "b = 2\n", BOM + "a = 1\n  " + BOM + "b = 2\n"])
def test_a_later_byte_order_mark_is_named(text: str) -> None:
    """A9: it is invisible, so that a parser's complaint about its column helps nobody."""
    with pytest.raises(ConfigProblem, match="line 2 has a byte-order mark") as refused:
        parse(text, name=NAME)
    assert refused.value.hint == "remove the invisible character U+FEFF from line 2"


def test_a_byte_order_mark_in_a_string_is_text() -> None:
    assert parse(f"a = '{BOM}' # {BOM}", name=NAME) == {"a": BOM}


@pytest.mark.parametrize("text", ["a = " + "[" * 100_000, "a = " + "9" * 10_000])
def test_what_the_parser_cannot_hold_is_refused(text: str) -> None:
    with pytest.raises(ConfigProblem):
        parse(text, name=NAME)


def test_no_escape_sequence_leaves_in_a_message() -> None:
    with pytest.raises(ConfigProblem) as refused:
        parse("\x1b[31mred = 1\n", name="\x1b]0;title\x07config.toml")
    assert "\x1b" not in refused.value.message + refused.value.hint


def test_a_long_key_is_clipped_in_a_message() -> None:
    table = f"[{'x' * 10_000}]\n"
    with pytest.raises(ConfigProblem) as refused:
        parse(table * 2, name=NAME)
    assert len(refused.value.message) < 300


TEXT = """\
# features.apps = false

top = [
  "features",
  { apps = false },
]
words = '''
[features]
apps = false
'''
dotted . "key" = 1
inline = { a = { b = 1 } }

[ 'table' . "sub table" ] # a comment
value = \"\"\"
  apps = false\"\"\"
[[list]]
one = 1
[[list]]
[list.below]
two = 2
[[list.below.more]]
three = 3
"""


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("bom", ["", BOM])
@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("top",), 3),
        (("words",), 7),
        (("dotted",), 11),
        (("dotted", "key"), 11),
        (("inline", "a", "b"), 12),
        (("table",), 14),
        (("table", "sub table"), 14),
        (("table", "sub table", "value"), 15),
        (("list",), 17),
        (("list", "below", "two"), 21),
        (("list", "below", "more"), 22),
        (("list", "below", "more", "three"), 23),
        (("features", "apps"), None),
        (("dotted", "key", "further"), None),
        (("table", "value"), None),
    ],
)
def test_a_key_is_found_on_the_first_line_of_its_statement(
    path: tuple[str, ...], line: int | None, bom: str, end: str
) -> None:
    assert line_of(bom + TEXT.replace("\n", end), path) == line


def test_a_value_is_what_its_path_names() -> None:
    tree = {"a": {"b": 1}, "c": [1]}
    assert value_at(tree, ("a", "b")) == 1
    assert value_at(tree, ()) == tree
    assert value_at(tree, ("a", "b", "c")) is None
    assert value_at(tree, ("c", "0")) is None
    assert value_at(tree, ("d",)) is None


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("a = nan\nb = 07:32:00", "a = nan\nb = 07:32:00", True),
        ("a = 0x10", "a = 16 # the same", True),
        ("a = 1", "a = true", False),
        ("a = 1", "a = 1.0", False),
        ("a = 0.0", "a = -0.0", False),
        ("a = [1]", "a = [true]", False),
        ("a = 1\nb = 2", "b = 2\na = 1", False),
        ("a = 1979-05-27T00:00:00Z", "a = 1979-05-27T01:00:00+01:00", False),
        ("a = 1979-05-27", "a = '1979-05-27'", False),
    ],
)
def test_trees_are_compared_with_their_types(one: str, other: str, same: bool) -> None:
    """A1: an integer that became a float is a change."""
    assert is_same(parse(one, name=NAME), parse(other, name=NAME)) is same


def test_trees_too_deep_to_compare_are_not_called_the_same() -> None:
    deep: dict[str, object] = {}
    for _ in range(200_000):
        deep = {"a": deep}
    assert not is_same(deep, deep)
