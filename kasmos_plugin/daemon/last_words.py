"""What shims leave behind when they end while no daemon listens. One small file for each agent.

Without it an agent that ended well during a restart would be told as lost.
"""

import contextlib
import os
import time
from pathlib import Path

from pydantic import ValidationError

from kasmos_plugin.contract.control import ShimBeat

_MAX_BYTES = 4096
_KEPT_S = 7 * 86_400.0


def take(directory: Path, agent_id: str) -> ShimBeat | None:
    """Return what the agent's shim left, once; None when it left nothing that can be read."""
    if not agent_id or "/" in agent_id or agent_id.startswith("."):
        return None
    path = directory / agent_id
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        data = os.read(fd, _MAX_BYTES)
    finally:
        os.close(fd)
    try:
        path.unlink(missing_ok=True)
        return ShimBeat.model_validate_json(data)
    except (OSError, ValidationError):
        return None


def sweep(directory: Path) -> None:
    """Remove words a week old: of agents that no daemon ever asked for."""
    with contextlib.suppress(OSError):
        for path in directory.iterdir():
            if time.time() - path.lstat().st_mtime > _KEPT_S:
                path.unlink(missing_ok=True)
