"""What text may leave: cleaned once, here, for every surface. Knows no surface.

Names, messages and paths come from tasks, agents and branches: they are data. Whole terminal escape
sequences go first (removing only the control bytes would leave `[31m` behind), then the remaining
controls and the bidirectional overrides that reorder the text around them; lone surrogates become
U+FFFD. What remains is clipped by grapheme, so that no emoji or accent is cut in half.
"""

import re

NAME_LIMIT = 200
"""Graphemes of a task's, branch's, worktree's or topic's name."""
MESSAGE_LIMIT = 240
"""Graphemes of a message, a reason or a detail."""
GOAL_LIMIT = 500
"""Graphemes of a goal."""

ELLIPSIS = "…"

# ECMA-48: CSI; then the string sequences OSC, DCS, SOS, PM and APC up to their terminator, or up to
# the end of the line where it is missing; then every other escape sequence. C1 forms included.
_ESCAPE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c\r\n]*(?:\x07|\x1b\\|\x9c)?"
    r"|\x1b[ -/]*[0-~]?"
)
_SPACE = re.compile(r"[\t\n\v\f\r\x85\u2028\u2029]+")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufeff]")
_CONTROL_BUT_NEWLINE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufeff]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_CODE_POINTS_PER_GRAPHEME = 8


def clean(text: str, limit: int = MESSAGE_LIMIT) -> str:
    """Return `text` as one line that is safe to show, of at most `limit` graphemes.

    A longer text ends in `…`. Line breaks and tabs become one space. Idempotent.
    """
    if text.isascii() and text.isprintable() and len(text) <= limit:
        return text.strip()
    text = _ESCAPE.sub("", text)
    text = _CONTROL.sub("", _SPACE.sub(" ", text))
    return _clip(_SURROGATE.sub("\ufffd", text).strip(), limit)


def clean_block(text: str) -> str:
    """Return `text` with its lines and tabs kept, and everything else cleaned as in `clean`."""
    text = _ESCAPE.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    return _SURROGATE.sub("\ufffd", _CONTROL_BUT_NEWLINE.sub("", text))


def is_clean_name(text: str) -> bool:
    """Return whether `text` can be a name as it is: not empty, nothing to clean or to clip."""
    return bool(text) and clean(text, NAME_LIMIT) == text


def basename(path: str) -> str:
    """Return the last part of a path of either kind of slash, cleaned."""
    return clean(re.split(r"[/\\]", path.rstrip("/\\"))[-1], NAME_LIMIT)


def quoted(text: str) -> str:
    """Return `text` cleaned and in double quotes that it cannot end."""
    return '"' + clean(text).replace("\\", "\\\\").replace('"', '\\"') + '"'


def _clip(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    import wcwidth  # Only a text that may be too long is worth its tables.

    kept: list[str] = []
    size = 0
    for grapheme in wcwidth.iter_graphemes(text):
        size += len(grapheme)
        if size > limit * _CODE_POINTS_PER_GRAPHEME:
            kept = kept[: limit - 1]
            break
        kept.append(grapheme)
        if len(kept) > limit:
            kept = kept[: limit - 1]
            break
    else:
        return text
    return "".join(kept).rstrip() + ELLIPSIS
