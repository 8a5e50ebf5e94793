"""Whether working trees are there. Looks at directories in a thread: a dead disk answers late."""

import os
from collections.abc import Mapping


def present(worktrees: Mapping[str, str]) -> dict[str, bool | None]:
    """Return for each key whether its directory exists; None when it cannot be told."""
    return {key: _is_there(path) for key, path in worktrees.items()}


def _is_there(path: str) -> bool | None:
    try:
        os.stat(path)  # noqa: PTH116 - Path.exists() takes some errors for absence.
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError):
        return None
    return True
