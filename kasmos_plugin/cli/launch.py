"""What `kas agent run` makes sure of before it starts, and how it becomes the shim.

Knows no option: the command is `cli.agent`, what runs afterwards is `agent.shim`.
"""

import json
import os
import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from kasmos_plugin import paths
from kasmos_plugin.cli.output import note
from kasmos_plugin.errors import BadArgument, KasmosError, NotFound
from kasmos_plugin.rules.text import clean
from kasmos_plugin.store import Store

NOT_FOUND = 127
NOT_EXECUTABLE = 126
"""Exit codes of a shell for a command that is missing, and for one that cannot be run."""


def unusable(program: str) -> int | None:
    """Say why a command cannot be run and return a shell's exit code for it; None when it can."""
    if shutil.which(program) is not None:
        return None
    if "/" in program and Path(program).exists():
        note(f"error: '{clean(program)}' cannot be executed.")
        note(f"hint: chmod +x {shlex.quote(clean(program))}")
        return NOT_EXECUTABLE
    note(f"error: there is no command '{clean(program)}'.")
    note("hint: kas agent run -- COMMAND, with a command on PATH or a path to it")
    return NOT_FOUND


def checked_task(store: Store, project: str, name: str, number: int, wave: int) -> tuple[str, int]:
    """Return the stored task's name, and the wave: its subtask's, or what was given without one.

    Raises:
        UnknownTask: there is no such task.
        NotFound: the task has no such subtask.
        BadArgument: the subtask is in another wave.
    """
    task = store.tasks.get(project, name)
    if not number:
        return task.filename, wave
    for subtask in store.tasks.subtasks(project, name):
        if subtask.number == number:
            if wave not in (0, subtask.wave):
                raise BadArgument(
                    f"Subtask {number} of task '{task.filename}' is in wave {subtask.wave},"
                    f" not in wave {wave}: the numbers run through the whole plan.",
                    hint=f"kas task show {task.filename}",
                )
            return task.filename, subtask.wave
    raise NotFound(
        f"Task '{task.filename}' has no subtask {number}.",
        hint=f"kas task show {task.filename}",
    )


def become_shim(hello: dict[str, object], announcement: str, command: Sequence[str]) -> NoReturn:
    """Replace this process by the shim: twenty of them must not cost twenty of us.

    Raises:
        KasmosError: the directory of logs cannot be made.
    """
    from kasmos_plugin.agent import start
    from kasmos_plugin.daemon.processes import boot_id
    from kasmos_plugin.daemon.settings import Settings

    socket_path, log = paths.socket(), str(hello["log"])
    if log:
        _make_logs_dir(Path(log).parent)
    settings = Settings(socket_path=socket_path, database=paths.database())
    environment = os.environ | {
        "KASMOS_AGENT_ID": str(hello["id"]),
        "KASMOS_SOCKET": str(socket_path),
        "KASMOS_PROJECT": str(hello["project"]),
        "KASMOS_TASK": str(hello["task"]),
        "KASMOS_WAVE": str(hello["wave"] or ""),
    }
    arguments = [
        *(sys.executable, "-I", "-S", start.__file__),
        *(str(socket_path), str(settings.ends_dir / str(hello["id"]))),
        *(json.dumps(hello)[:-1], boot_id(), log, announcement),
        *command,
    ]
    sys.stdout.flush()
    os.execve(sys.executable, arguments, environment)


def log_path(agent_id: str) -> Path:
    """Return where a detached agent's output goes."""
    return paths.logs_dir() / f"agent-{agent_id}.log"


def utf8(path: Path) -> str:
    """Return the path as text, empty when its bytes are no text that JSON could carry."""
    try:
        return os.fsencode(path).decode("utf-8")
    except UnicodeDecodeError:
        return ""


def _make_logs_dir(path: Path) -> None:
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise KasmosError(
            f"The directory of logs '{path}' cannot be made: {error.strerror}.",
            hint="set KASMOS_HOME to a directory of yours",
        ) from error
