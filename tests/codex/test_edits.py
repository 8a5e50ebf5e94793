"""Edits that can be taken back."""

from hypothesis import given
from hypothesis import strategies as st

from kasmos_plugin.codex.edits import Edit, between, taken_back

texts = st.lists(st.sampled_from(["a\n", "b\n", "\r\n", "\n", "c", "=1\n"]), max_size=8).map(
    "".join
)


def test_an_edit_holds_whole_lines_and_no_more() -> None:
    assert between("a\nb\nc\n", "a\nx\nc\n") == Edit(before="b\n", after="x\n")
    assert between("a", "a\n\nb\n") == Edit(before="a", after="a\n\nb\n")
    assert between("a\n", "a\n") is None


def test_what_is_gone_or_there_twice_is_not_taken_back() -> None:
    edit = between("a\n", "a\nb\n")
    assert taken_back("a\n", edit) is None
    assert taken_back("b\na\nb\n", edit) is None
    assert taken_back("a\nb\n", None) is None


def test_what_was_written_elsewhere_meanwhile_stays() -> None:
    edit = between("a\n", "a\nb\n")
    assert taken_back("x\na\nb\ny\n", edit) == "x\na\ny\n"


@given(texts, texts)
def test_taking_back_gives_the_text_before_or_says_that_it_cannot(before: str, after: str) -> None:
    edit = between(before, after)
    found = taken_back(after, edit)
    if edit is not None and edit.after and after.find(edit.after) == after.rfind(edit.after):
        assert found == before
    else:
        assert found is None
