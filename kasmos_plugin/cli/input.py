"""Texts that a person gives: a plan's file, standard input. Knows no store and no task."""

import re
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

from kasmos_plugin.errors import BadArgument
from kasmos_plugin.rules.text import clean

PLAN_LIMIT = 1024 * 1024
"""Bytes of a plan."""

_AGO = re.compile(r"([0-9]{1,9})([smhd])")
_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
_BYTE_ORDER_MARKS = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}


def read_plan(source: str) -> str:
    """Return the text of a plan: a file's, or that of standard input for `-`.

    Raises:
        BadArgument: there is no such file, it is a directory or cannot be read, it is empty, larger
            than 1 MiB, or not UTF-8.
    """
    if source == "-":
        return _text(sys.stdin.buffer.read(PLAN_LIMIT + 1), "The plan on standard input")
    path = Path(source)
    what = f"The plan '{clean(source, 500)}'"
    try:
        with path.open("rb") as file:
            content = file.read(PLAN_LIMIT + 1)
    except FileNotFoundError:
        raise BadArgument(
            f"{what} does not exist.", hint="kas task create PLAN.md, or - for standard input"
        ) from None
    except IsADirectoryError:
        raise BadArgument(f"{what} is a directory.", hint="name the file in it") from None
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise BadArgument(f"{what} cannot be read: {why}.", hint="ls -l PLAN.md") from error
    return _text(content, what)


def read_words(given: str) -> str:
    """Return `given`, or what standard input says for `-`.

    Raises:
        BadArgument: standard input is empty, too large, or not UTF-8.
    """
    if given != "-":
        return given
    return _text(sys.stdin.buffer.read(PLAN_LIMIT + 1), "The text on standard input").strip()


def read_since(given: str, now: datetime) -> datetime:
    """Return the instant that `10m`, `2h`, `3d` ago or an ISO 8601 time means.

    A time without a zone is the local one.

    Raises:
        BadArgument: it is neither.
    """
    if match := _AGO.fullmatch(given.strip()):
        try:
            return now - timedelta(seconds=int(match[1]) * _SECONDS[match[2]])
        except OverflowError:
            return datetime.min.replace(tzinfo=UTC)
    try:
        return datetime.fromisoformat(given.strip()).astimezone(UTC)
    except (ValueError, OverflowError):
        raise BadArgument(
            f"'{clean(given, 60)}' is no time.", hint="--since 10m, or --since 2026-01-31T14:00"
        ) from None


def _text(content: bytes, what: str) -> str:
    if len(content) > PLAN_LIMIT:
        raise BadArgument(
            f"{what} is larger than 1 MiB.", hint="keep the waves and tasks, and link the rest"
        )
    if encoding := _BYTE_ORDER_MARKS.get(content[:2]):
        raise BadArgument(f"{what} is {encoding}, not UTF-8.", hint="save it as UTF-8")
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise BadArgument(
            f"{what} is not UTF-8: line {line} has the byte 0x{content[error.start]:02x}.",
            hint="save it as UTF-8",
        ) from None
    if not text.strip("\ufeff \t\r\n"):
        raise BadArgument(f"{what} is empty.", hint="leave it out to make a task without a plan")
    return text
