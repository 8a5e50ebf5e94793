"""A detached agent's log on standard output: cleaned, followed over rotation. Knows no agent."""

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from kasmos_plugin.errors import NotFound
from kasmos_plugin.rules.text import clean_block

POLL_S = 0.2
CHUNK = 65536


def print_log(
    path: Path,
    *,
    is_raw: bool,
    is_over: Callable[[], bool] = lambda: True,
    pause: Callable[[], None] = lambda: time.sleep(POLL_S),
) -> None:
    """Print the log and the part before it; go on with what is added until `is_over`.

    Raises:
        NotFound: there is no log.
    """
    out = _Output(is_raw=is_raw)
    older = path.with_name(path.name + ".1")
    if older.exists():
        with older.open("rb") as file:
            out.copy(file)
    if not path.exists():
        raise NotFound(f"The log '{path}' is gone.")
    file = path.open("rb")
    try:
        while True:
            # Asked before reading: what was written until the end is printed.
            is_last = is_over()
            out.copy(file)
            if _is_replaced(file, path):
                out.copy(file)
                file.close()
                file = path.open("rb")
                continue
            if is_last:
                break
            pause()
    finally:
        file.close()
        out.finish()


class _Output:
    """Bytes of a log to text, by whole lines: an escape sequence may come in two pieces."""

    def __init__(self, *, is_raw: bool) -> None:
        self._is_raw = is_raw
        self._rest = b""

    def copy(self, file: BinaryIO) -> None:
        while data := file.read(CHUNK):
            if self._is_raw:
                sys.stdout.buffer.write(data)
                continue
            whole, newline, self._rest = (self._rest + data).rpartition(b"\n")
            self._show(whole + newline)
        sys.stdout.flush()

    def finish(self) -> None:
        if self._rest:
            self._show(self._rest + b"\n")
        sys.stdout.flush()

    def _show(self, data: bytes) -> None:
        # A terminal adds a return to the one that a program wrote itself.
        text = data.replace(b"\r\r\n", b"\n").decode("utf-8", "replace")
        sys.stdout.write(clean_block(text))


def _is_replaced(file: BinaryIO, path: Path) -> bool:
    try:
        return os.fstat(file.fileno()).st_ino != path.stat().st_ino
    except FileNotFoundError:
        return False
