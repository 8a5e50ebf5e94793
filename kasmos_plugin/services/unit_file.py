"""A unit's file on disk: read whole, written at once, a link to it kept. Knows not what it says."""

import os
import secrets
from pathlib import Path

from kasmos_plugin.errors import KasmosError


def read(path: Path) -> bytes | None:
    """Return what the file holds, None when nothing lies there; a link to nothing holds nothing.

    Raises:
        KasmosError: it cannot be read.
    """
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b"" if path.is_symlink() else None
    except OSError as error:
        raise KasmosError(f"The file '{path}' cannot be read: {error.strerror}.") from error


def write(path: Path, content: bytes) -> None:
    """Write the file, or the one that a link at `path` names; never half of it.

    Raises:
        KasmosError: it cannot be written.
    """
    target = path.resolve()
    beside = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            descriptor = os.open(beside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644)
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(descriptor)
            beside.replace(target)
        finally:
            beside.unlink(missing_ok=True)
    except OSError as error:
        raise KasmosError(f"The file '{path}' cannot be written: {error.strerror}.") from error


def remove(path: Path) -> None:
    """Remove the file; of a link, the link.

    Raises:
        KasmosError: it cannot be removed.
    """
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise KasmosError(f"The file '{path}' cannot be removed: {error.strerror}.") from error
