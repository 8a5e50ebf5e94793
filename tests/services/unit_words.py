"""Reads a unit as systemd does: the other half of the quoting, written from its manual alone.

Sources: systemd.syntax(7) on quoting, systemd.service(5) on command lines, systemd.unit(5) on `%`.
"""

import os
import re
import sys
from collections.abc import Mapping

_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "s": " "}


def settings(text: str, section: str) -> dict[str, list[str]]:
    """Return every value of every key in a section, in order."""
    found: dict[str, list[str]] = {}
    here = ""
    for line in text.split("\n"):
        if line.startswith(("#", ";")) or not line:
            continue
        if line.startswith("["):
            here = line[1:-1]
        elif here == section:
            key, _, value = line.partition("=")
            found.setdefault(key, []).append(value)
    return found


def words(value: str) -> list[str]:
    """Split a value into words: quotes and C escapes undone, `%%` made one."""
    found: list[str] = []
    word, quote, began, at = "", "", False, 0
    while at < len(value):
        letter = value[at]
        at += 1
        if letter == "\\":
            word, began = word + _unescaped(value[at:]), True
            at += 3 if value[at] == "x" else 1
        elif quote:
            word, quote = (word, "") if letter == quote else (word + letter, quote)
        elif letter in "\"'":
            quote, began = letter, True
        elif letter in " \t\n\r":
            if began:
                found.append(word)
            word, began = "", False
        else:
            word, began = word + letter, True
    assert not quote, "a quote is open"
    if began:
        found.append(word)
    return [_specified(one) for one in found]


def command(text: str) -> list[str]:
    """Return the argument vector of a unit's only `ExecStart=`, which must have the prefix `:`."""
    (line,) = settings(text, "Service")["ExecStart"]
    first, *rest = words(line)
    assert first.startswith(":/"), "without the colon `$` is a variable"
    program = first[1:]
    # `string_is_safe` of systemd refuses these in the path of a program.
    assert not re.search(r"""["'\\\x00-\x1f\x7f]""", program)
    return [program, *rest]


def environment(text: str) -> dict[str, str]:
    """Return what the unit's `Environment=` lines set."""
    lines = settings(text, "Service").get("Environment", [])
    pairs = (word.partition("=") for line in lines for word in words(line))
    return {name: value for name, _, value in pairs}


def execute(text: str, base: Mapping[str, str]) -> None:
    """Become the unit's process, as its manager starts it: no shell, its environment alone."""
    argv = command(text)
    os.execve(argv[0], argv, {**base, **environment(text)})


def _unescaped(rest: str) -> str:
    if rest[0] == "x":
        return chr(int(rest[1:3], 16))
    return _ESCAPES.get(rest[0], rest[0])


def _specified(word: str) -> str:
    assert not re.search(r"%(?!%)", word.replace("%%", "")), "a specifier that nobody meant"
    return word.replace("%%", "%")


if __name__ == "__main__":
    from pathlib import Path

    execute(Path(sys.argv[1]).read_text("utf-8"), os.environ)
