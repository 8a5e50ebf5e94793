"""A command at a terminal: a real pty, and somebody who answers what it asks."""

import os
import pty
import select
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path


def at_terminal(
    command: Sequence[str],
    *,
    answers: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> tuple[int, str]:
    """Run a command on a pty, give one answer a question, and return its exit code and words."""
    person, terminal = pty.openpty()
    process = subprocess.Popen(
        command, env=env, cwd=cwd, stdin=terminal, stdout=terminal, stderr=terminal
    )
    os.close(terminal)
    said, left = "", list(answers)
    try:
        while select.select([person], [], [], 30)[0]:
            try:
                piece = os.read(person, 65_536)
            except OSError:  # Linux's way to say that nobody has it open.
                piece = b""
            if not piece:
                break
            said += piece.decode("utf-8", "replace")
            if left and said.rstrip().endswith("]:"):
                os.write(person, f"{left.pop(0)}\n".encode())
                said += "\n"
        code = process.wait(10)
    finally:
        os.close(person)
        if process.poll() is None:
            process.kill()
            process.wait()
    assert not left, said
    return code, said
