"""One edit of a text that can be taken back, pure. Knows not what the text means."""

from collections.abc import Iterator

from pydantic import BaseModel, ConfigDict


class Edit(BaseModel):
    """The lines that one change replaced, and those that it put in their place."""

    model_config = ConfigDict(frozen=True)

    before: str
    after: str


def between(before: str, after: str) -> Edit | None:
    """Return the edit that made `after` of `before`, in whole lines; None when they are equal."""
    if before == after:
        return None
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    shortest = min(len(old), len(new))
    head = next((i for i in range(shortest) if old[i] != new[i]), shortest)
    tail = next((i for i in range(shortest - head) if old[-1 - i] != new[-1 - i]), shortest - head)
    return Edit(
        before="".join(old[head : len(old) - tail]), after="".join(new[head : len(new) - tail])
    )


def takings_back(text: str, edit: Edit | None) -> Iterator[str]:
    """Yield `text` without the edit, for each place where its lines are, the last one first.

    Which of them means what it should, the caller has to know: the same lines may be in a string.
    """
    if edit is None or not edit.after:
        return
    place = text.rfind(edit.after)
    while place >= 0:
        yield text[:place] + edit.before + text[place + len(edit.after) :]
        # They may overlap: the next one ends at least one character earlier.
        place = text.rfind(edit.after, 0, place + len(edit.after) - 1)
