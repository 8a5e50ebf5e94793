"""One edit of a text that can be taken back, pure. Knows not what the text means."""

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


def taken_back(text: str, edit: Edit | None) -> str | None:
    """Return `text` without the edit; None when its lines are not there, or more than once."""
    if edit is None or not edit.after or edit.after not in text:
        return None
    place = text.find(edit.after)
    # `count` would take two that overlap for one.
    if place != text.rfind(edit.after):
        return None
    return text[:place] + edit.before + text[place + len(edit.after) :]
