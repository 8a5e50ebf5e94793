"""Edits that can be taken back."""

from hypothesis import given
from hypothesis import strategies as st

from kasmos_plugin.codex.edits import Edit, between, takings_back

texts = st.lists(st.sampled_from(["a\n", "b\n", "\r\n", "\n", "c", "=1\n"]), max_size=8).map(
    "".join
)


def test_an_edit_holds_whole_lines_and_no_more() -> None:
    assert between("a\nb\nc\n", "a\nx\nc\n") == Edit(before="b\n", after="x\n")
    assert between("a", "a\n\nb\n") == Edit(before="a", after="a\n\nb\n")
    assert between("a\n", "a\n") is None


def test_what_is_gone_is_not_taken_back_and_each_of_two_can_be() -> None:
    edit = between("a\n", "a\nb\n")
    assert list(takings_back("a\n", edit)) == []
    assert list(takings_back("b\na\nb\n", edit)) == ["b\na\n", "a\nb\n"]
    assert list(takings_back("a\nb\n", None)) == []
    assert list(takings_back("xxx", Edit(before="", after="xx"))) == ["x", "x"], "they may overlap"


def test_what_was_written_elsewhere_meanwhile_stays() -> None:
    edit = between("a\n", "a\nb\n")
    assert list(takings_back("x\na\nb\ny\n", edit)) == ["x\na\ny\n"]


@given(texts, texts)
def test_the_text_before_is_among_what_taking_back_gives(before: str, after: str) -> None:
    edit = between(before, after)
    found = list(takings_back(after, edit))
    assert (before in found) == (edit is not None and bool(edit.after))
