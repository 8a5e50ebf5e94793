"""Secrets of this user, kept in the state directory. Imports nothing heavy.

One is shown to the bridge by a page that `kas monitor widget` made: it tells that page, whose
origin is `null` as that of any sandboxed frame, from all others. The other is the token of scripts
that change something over REST.
"""

import contextlib
import os
import secrets
import stat
from pathlib import Path

from kasmos_plugin import paths
from kasmos_plugin.errors import KasmosError

_LENGTH = 43
"""Characters of 32 random bytes in URL-safe base64."""


def preview_secret(directory: Path | None = None) -> str:
    """Return the secret of pages in `directory` (the state directory), made when it is missing.

    One that others could have read is replaced, and pages made with it must be made anew.

    Raises:
        KasmosError: the directory cannot be written.
    """
    return _secret("preview-secret", directory)


def api_token(directory: Path | None = None) -> str:
    """Return the token of REST in `directory` (the state directory), made when it is missing.

    One that others could have read is replaced.

    Raises:
        KasmosError: the directory cannot be written.
    """
    return _secret("api-token", directory)


def _secret(name: str, directory: Path | None) -> str:
    where = directory if directory is not None else paths.state_dir()
    path = where / name
    try:
        where.mkdir(mode=0o700, parents=True, exist_ok=True)
        while (found := _read(path)) is None:
            _make(path)
    except OSError as error:
        raise KasmosError(
            f"The file '{name}' in '{where}' cannot be kept: {error.strerror}."
        ) from error
    return found


def _read(path: Path) -> str | None:
    """Return a secret that is ours alone; remove whatever else lies there."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    with os.fdopen(descriptor, encoding="ascii", errors="replace") as file:
        found = os.fstat(file.fileno())
        text = file.read(_LENGTH + 1).strip()
    is_ours = found.st_uid == os.getuid() and not stat.S_IMODE(found.st_mode) & 0o077
    if is_ours and len(text) == _LENGTH:
        return text
    path.unlink(missing_ok=True)
    return None


def _make(path: Path) -> None:
    """Write a new secret beside `path` and link it there, unless another process was faster."""
    beside = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    descriptor = os.open(beside, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(secrets.token_urlsafe(32))
        with contextlib.suppress(FileExistsError):
            os.link(beside, path)
    finally:
        beside.unlink()
