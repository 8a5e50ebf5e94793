"""rules.text: what may leave."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kasmos_plugin.rules.text import ELLIPSIS, basename, clean, clean_block, is_clean_name, quoted

HOSTILE = st.text(
    st.sampled_from(
        'a \x1b[]0;m31Pq\\\x07\x9b\x9d\n\t\r\u202e\u2066é\u0301👨\u200d👩\ud800\ufeff…"<'
    )
)


@pytest.mark.parametrize(
    ("given_text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07name", "name"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x9b31mred", "red"),
        ("\x1bPq#0\x1b\\after", "after"),
        ("\x1b[31", ""),
        ("a\x00b\x7fc", "abc"),
        ("two\r\nlines\tand tab", "two lines and tab"),
        ("abc\u202edef", "abcdef"),
        ("lone \ud800", "lone \ufffd"),
        ("  trimmed  ", "trimmed"),
        ("</script><b>&", "</script><b>&"),
    ],
)
def test_whole_sequences_go_before_controls(given_text: str, shown: str) -> None:
    """D9: no escape's tail is left behind, and none is left in."""
    assert clean(given_text) == shown


@given(HOSTILE, st.integers(1, 30))
def test_cleaned_text_is_one_safe_line_and_stays_as_it_is(text: str, limit: int) -> None:
    cleaned = clean(text, limit)
    assert not re.search(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", cleaned)
    assert clean(cleaned, limit) == cleaned


@given(HOSTILE)
def test_a_block_keeps_its_lines_and_nothing_else(text: str) -> None:
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e\ud800-\udfff]", clean_block(text))


def test_a_clipped_text_ends_between_graphemes() -> None:
    family = "👨‍👩‍👧"
    assert clean(family * 10, 3) == family * 2 + ELLIPSIS
    assert clean("e\u0301" * 10, 3) == "e\u0301" * 2 + ELLIPSIS
    assert clean("x" * 10_000, 240) == "x" * 239 + ELLIPSIS


def test_one_endless_grapheme_is_clipped_too() -> None:
    assert len(clean("e" + "\u0301" * 10_000, 240)) < 2_000


@given(st.text())
def test_a_quotation_cannot_be_ended_from_inside(text: str) -> None:
    inside = quoted(text)[1:-1]
    assert re.sub(r"\\.", "", inside).count('"') == 0


@pytest.mark.parametrize(
    ("path", "name"),
    [("/home/me/tree", "tree"), ("C:\\work\\tree", "tree"), ("/a/b/", "b"), ("", ""), ("x", "x")],
)
def test_a_path_leaves_as_its_last_part(path: str, name: str) -> None:
    assert basename(path) == name


@pytest.mark.parametrize("name", ["", " x", "a\nb", "\x1b[0m", "x" * 201, "\u202e"])
def test_what_would_have_to_be_cleaned_is_no_name(name: str) -> None:
    assert not is_clean_name(name)
