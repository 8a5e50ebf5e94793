"""One configuration file, changed safely and put back. Knows nothing of TOML.

A change is read, edit, compare, rename, under a lock of ours. Other programs do not take that lock,
so the file is compared with what was read just before the rename; one that writes in the
microseconds between the two still loses. A chain of links stays: the file that it ends at is
replaced. Kept are bytes, mode and owner; a hard link's other name keeps the old content.

    read ──> edit ──> same? ──> nothing is written
      ^        │
      │        └─> write beside ──> still as read? ──> back up, rename
      └──────────────── no, at most 5 times ──┘
"""

import fcntl
import glob
import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from kasmos_plugin import paths
from kasmos_plugin.codex.config_file import ConfigFile, diff, look, read
from kasmos_plugin.codex.toml_text import ConfigProblem, place
from kasmos_plugin.errors import KasmosError

BACKUP_SUFFIX = ".kasmos-backup"
"""What a backup's name adds to the name of the file that it lies beside."""

_ATTEMPTS = 5
_NEW_MODE = 0o600


@dataclass(frozen=True)
class Change:
    """A change that was written; `backup` holds the content before, None where was no file."""

    before: ConfigFile
    after: str
    backup: Path | None


def change(path: Path, edit: Callable[[str], str], *, create: bool = False) -> Change | None:
    """Replace a file's text by what `edit` makes of it; None when that is the same text.

    The content before goes to `NAME.kasmos-backup` beside the file, with the same mode and owner.
    A new file is private to this user; its directory must be there. `edit` is called again when
    another program has changed the file meanwhile, and must not call `change` or `restore`.

    Raises:
        ConfigProblem: as `read`; or there is no file and `create` is not set, it is read-only, its
            owner cannot be kept, or others change it at each of five attempts. Nothing of it was
            written then.
    """
    with _locked():
        for _ in range(_ATTEMPTS):
            before = read(path)
            after = edit(before.text)
            if after == before.text:
                return None
            hint = "make this change by hand:\n" + diff(before.text, after, path)
            if before.content is None and not create:
                raise ConfigProblem(f"{place(str(path))} does not exist.", hint=hint)
            mode = _NEW_MODE if before.mode is None else before.mode
            new = replace(before, content=after.encode(), mode=mode)
            backup = backup_of(before) if before.content is not None else None
            if _swap(before, new, hint, backup=backup):
                return Change(before, after, backup)
    raise _busy(path)


def restore(path: Path, before: ConfigFile, *, seen: ConfigFile | None = None) -> bool:
    """Give a file the content, mode and owner that it had, or remove it if there was none.

    No backup is made, and what stands there now need not be readable text. With `seen`, only while
    the content is still that one: else nothing is written and the answer is False.

    Raises:
        ConfigProblem: as `change`.
    """
    hint = f"chmod u+w {place(str(path))}"
    with _locked():
        for _ in range(_ATTEMPTS):
            now = look(path)
            if seen is not None and now.content != seen.content:
                return False
            if (now.content, now.mode) == (before.content, before.mode):
                return True
            if before.content is None:
                _remove(now, hint)
                return True
            new = replace(before, target=now.target, owner=before.owner or now.owner)
            if _swap(now, new, hint):
                return True
    raise _busy(path)


def back_up(file: ConfigFile) -> None:
    """Copy a file as it was read to `NAME.kasmos-backup` beside it, with its mode and owner.

    Raises:
        ConfigProblem: it cannot be written.
    """
    if file.content is None:
        return
    hint = f"ls -ld {place(str(file.target.parent))}"
    try:
        with _beside(file, hint) as copy:
            copy.replace(backup_of(file))
    except OSError as error:
        raise _unwritable(file.path, error, hint) from error


def backup_of(file: ConfigFile) -> Path:
    """Return where the backup of a file lies."""
    return file.target.with_name(file.target.name + BACKUP_SUFFIX)


def sweep(path: Path) -> None:
    """Remove the copies that a killed change left beside the file; private text may be in them.

    Raises:
        ConfigProblem: as `read`.
    """
    with _locked():
        target = look(path).target
        for stray in target.parent.glob(f"{glob.escape(_beside_of(target))}*"):
            stray.unlink(missing_ok=True)


def require_writable(file: ConfigFile, hint: str) -> None:
    """Refuse what its owner has made read-only, which neither root nor a rename would notice.

    Raises:
        ConfigProblem: the file or its directory is read-only.
    """
    directory = file.target.parent
    try:
        directory_mode = directory.stat().st_mode
    except OSError as error:
        raise _unwritable(file.path, error, hint) from error
    if file.mode is not None and not _can_write(file.target, file.mode):
        raise ConfigProblem(f"{place(str(file.path))} is read-only.", hint=hint)
    if not _can_write(directory, directory_mode):
        raise ConfigProblem(
            f"{place(str(file.path))} lies in a directory that is read-only.", hint=hint
        )


def _swap(now: ConfigFile, new: ConfigFile, hint: str, *, backup: Path | None = None) -> bool:
    """Put `new` in the place of `now`; return False when `now` is not what stands there."""
    require_writable(now, hint)
    try:
        with ExitStack() as staged:
            fresh = staged.enter_context(_beside(new, hint))
            old = staged.enter_context(_beside(now, hint)) if backup is not None else None
            if look(now.path) != now:
                return False
            if old is not None and backup is not None:
                old.replace(backup)
            fresh.replace(now.target)
    except OSError as error:
        raise _unwritable(now.path, error, hint) from error
    _sync(now.target.parent)
    return True


def _beside_of(target: Path) -> str:
    """Return what the name of an unfinished copy begins with."""
    return f".{target.name}.kasmos-"


@contextmanager
def _beside(file: ConfigFile, hint: str) -> Iterator[Path]:
    """Write a finished copy beside the file, under a name of its own; gone after, unless moved."""
    descriptor, name = tempfile.mkstemp(prefix=_beside_of(file.target), dir=file.target.parent)
    copy = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(file.content or b"")
            stream.flush()
            _give(descriptor, file, hint)
            os.fsync(descriptor)
        yield copy
    finally:
        copy.unlink(missing_ok=True)


def _give(descriptor: int, file: ConfigFile, hint: str) -> None:
    """Give a copy the file's owner and mode; the owner first, because that clears mode bits."""
    found = os.fstat(descriptor)
    if file.owner is not None and file.owner != (found.st_uid, found.st_gid):
        try:
            os.fchown(descriptor, *file.owner)
        except PermissionError as error:
            # A copy of ours in its place would take the file away from its owner.
            user, group = file.owner
            raise ConfigProblem(
                f"{place(str(file.path))} belongs to user {user}, group {group}, "
                "which this user cannot give to its copy.",
                hint=hint,
            ) from error
    if file.mode is not None:
        os.fchmod(descriptor, file.mode)


def _can_write(path: Path, mode: int) -> bool:
    # What has gone meanwhile is not read-only: the comparison will see it.
    is_open = os.access(path, os.W_OK) or not os.access(path, os.F_OK)
    return is_open and bool(mode & stat.S_IWUSR)


def _remove(file: ConfigFile, hint: str) -> None:
    require_writable(file, hint)
    try:
        file.target.unlink()
    except OSError as error:
        raise _unwritable(file.path, error, hint) from error
    _sync(file.target.parent)


def _sync(directory: Path) -> None:
    """Make a rename last; where the file system cannot, it is done all the same."""
    with suppress(OSError):
        descriptor = os.open(directory, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextmanager
def _locked() -> Iterator[None]:
    """Wait for every other change by a program of ours, in whatever process; source: flock(2)."""
    path = paths.state_dir() / "codex-config.lock"
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(path, flags, 0o600)
    except OSError as error:
        raise KasmosError(f"The lock '{path}' cannot be opened: {error.strerror}.") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _unwritable(path: Path, error: OSError, hint: str) -> ConfigProblem:
    return ConfigProblem(f"{place(str(path))} cannot be written: {error.strerror}.", hint=hint)


def _busy(path: Path) -> ConfigProblem:
    return ConfigProblem(
        f"{place(str(path))} was changed by another program at each of {_ATTEMPTS} attempts.",
        hint="close the program that changes it, and try again",
    )
