"""Where things of ours lie. Knows the environment and the platform, opens nothing.

`KASMOS_HOME` moves every path; `KASMOS_DB` and `KASMOS_SOCKET` move one. `platformdirs` and
`pathlib` are imported inside the functions that need them: the socket's path is wanted by commands
that must start fast.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

SOCKET_PATH_LIMIT = 103
"""Bytes of a Unix socket's path, without the closing NUL (macOS 103, Linux 107)."""


def home() -> Path | None:
    """Return the directory that `KASMOS_HOME` names, absolute, or None when it is not set."""
    value = os.environ.get("KASMOS_HOME")
    return _path(_absolute(value)) if value else None


def data_dir() -> Path:
    """Return the directory of what must last: the store and its backups."""
    return _below("data", "user_data_path")


def state_dir() -> Path:
    """Return the directory of private state: secrets, logs of detached agents and of the daemon."""
    return _below("state", "user_state_path")


def database() -> Path:
    """Return the store's path: `KASMOS_DB`, else `kasmos.db` in the data directory."""
    value = os.environ.get("KASMOS_DB")
    return _path(_absolute(value)) if value else data_dir() / "kasmos.db"


def logs_dir() -> Path:
    """Return the directory of logs."""
    return state_dir() / "logs"


def socket() -> Path:
    """Return the path of the daemon's socket; see `socket_text`."""
    return _path(socket_text())


def socket_text() -> str:
    """Return the path of the daemon's socket as text.

    `KASMOS_SOCKET`, else `daemon.sock` in a directory that is private to this user. A path over the
    platform's limit is replaced by one in a short directory that every program computes alike.
    """
    value = os.environ.get("KASMOS_SOCKET")
    path = _absolute(value) if value else os.path.join(_run_dir(), "daemon.sock")
    if len(os.fsencode(path)) <= SOCKET_PATH_LIMIT:
        return path
    import hashlib  # Only a path that does not fit needs it.

    digest = hashlib.sha256(os.fsencode(path)).hexdigest()[:12]
    return f"/tmp/kasmos-{os.getuid()}-{digest}/daemon.sock"


def _run_dir() -> str:
    if base := os.environ.get("KASMOS_HOME"):
        return os.path.join(_absolute(base), "run")
    if sys.platform == "linux" and (runtime := os.environ.get("XDG_RUNTIME_DIR")):
        return os.path.join(runtime, "kasmos")
    return f"/tmp/kasmos-{os.getuid()}"


def _absolute(path: str) -> str:
    return os.path.abspath(os.path.expanduser(path))


def _path(text: str) -> Path:
    from pathlib import Path  # 11 ms at start: a third of a hook's command.

    return Path(text)


def _below(name: str, platform_function: str) -> Path:
    if (base := home()) is not None:
        return base / name
    import platformdirs  # 15 ms at start; commands that know their paths do without.

    path: Path = getattr(platformdirs, platform_function)("kasmos", appauthor=False)
    return path
