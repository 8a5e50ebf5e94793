"""One configuration file on disk: read whole, changed safely, put back. Knows nothing of TOML.

A change is read, edit, compare, rename, under a lock of ours. Other programs do not take that lock,
so the file is compared with what was read just before the rename; one that writes in the
microseconds between the two still loses. A chain of links stays: the file that it ends at is
replaced. Kept are bytes, mode and owner; a hard link's other name keeps the old content.

    read ──> edit ──> same? ──> nothing is written
      ^        │
      │        └─> write beside ──> still as read? ──> back up, rename
      └──────────────── no, at most 5 times ──┘
"""

import codecs
import difflib
import fcntl
import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from kasmos_plugin import paths
from kasmos_plugin.codex.toml_text import ConfigProblem, place
from kasmos_plugin.errors import KasmosError
from kasmos_plugin.rules.text import clean_block

BACKUP_SUFFIX = ".kasmos-backup"
"""What a backup's name adds to the name of the file that it lies beside."""

_ATTEMPTS = 5
_LINKS = 40  # As many as Linux follows: path_resolution(7).
_NEW_MODE = 0o600
_KINDS = {
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


@dataclass(frozen=True)
class ConfigFile:
    """A file as it was when it was read.

    `path` is as given, `target` the file itself after all links. `content`, `mode` (the permission
    bits), `inode` and `owner` (user and group id) are None when there is no file: one that is there
    and cannot be read is an error, never a None.
    """

    path: Path
    target: Path
    content: bytes | None
    mode: int | None
    inode: int | None = None
    owner: tuple[int, int] | None = None

    @property
    def text(self) -> str:
        """Return the content with its byte-order mark and line ends; "" when there is no file.

        Raises:
            ConfigProblem: it is not UTF-8.
        """
        return _decoded(self.content or b"", self.path)


@dataclass(frozen=True)
class Change:
    """A change that was written; `backup` holds the content before, None where was no file."""

    before: ConfigFile
    after: str
    backup: Path | None


def read(path: Path) -> ConfigFile:
    """Read a file through all its links.

    Raises:
        ConfigProblem: a link dangles or loops, it is no file, no UTF-8, or cannot be read.
    """
    file = _look(path)
    _decoded(file.content or b"", path)
    return file


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
            now = _look(path)
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


def diff(before: str, after: str, path: Path) -> str:
    """Return a unified diff of two texts for a person to read: line ends and controls are cleaned.

    It is "" when only line ends or the end of the last line differ.
    """
    name = str(path)
    lines = difflib.unified_diff(_lines(before), _lines(after), name, name, lineterm="")
    return "\n".join(clean_block(line).replace("\n", " ") for line in lines)


def _lines(text: str) -> list[str]:
    return text.replace("\r\n", "\n").removesuffix("\n").split("\n")


def _decoded(content: bytes, path: Path) -> str:
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise ConfigProblem(
            f"{place(str(path))} is UTF-16; Codex reads UTF-8 only.",
            hint=f"save {place(str(path))} as UTF-8",
        )
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ConfigProblem(
            f"{place(str(path), line)} is not UTF-8.",
            hint=f"save {place(str(path))} as UTF-8",
            line=line,
        ) from error


def _look(path: Path) -> ConfigFile:
    """Read the file as it is, text or not."""
    target = _target(path)
    try:
        kind = stat.S_IFMT(target.lstat().st_mode)
        if kind != stat.S_IFREG:
            what = _KINDS.get(kind, "something else")
            raise ConfigProblem(
                f"{place(str(path))} is {what}, not a file.", hint=f"ls -ld {place(str(target))}"
            )
        with target.open("rb") as file:
            found = os.fstat(file.fileno())
            content = file.read()
    except FileNotFoundError:
        return ConfigFile(path, target, None, None)
    except OSError as error:
        raise _unreadable(path, error) from error
    mode, owner = stat.S_IMODE(found.st_mode), (found.st_uid, found.st_gid)
    return ConfigFile(path, target, content, mode, found.st_ino, owner)


def _target(path: Path) -> Path:
    """Return the path that a chain of links ends at, the path itself when it is no link."""
    at = path.absolute()
    link: Path | None = None
    for _ in range(_LINKS):
        try:
            there = at.readlink()
        except FileNotFoundError:
            if link is not None:
                raise ConfigProblem(
                    f"{place(str(link))} is a link to {place(str(at))}, which does not exist.",
                    hint=f"touch {place(str(at))}, or remove the link",
                ) from None
            return at
        except OSError:  # It is no link; were it another fault, reading would meet it too.
            return Path(os.path.realpath(at.parent), at.name)
        link, at = at, at.parent / there
    raise ConfigProblem(
        f"{place(str(path))} is a link that leads back to itself.",
        hint=f"ls -l {place(str(path))}",
    )


def _swap(now: ConfigFile, new: ConfigFile, hint: str, *, backup: Path | None = None) -> bool:
    """Put `new` in the place of `now`; return False when `now` is not what stands there."""
    require_writable(now, hint)
    try:
        with ExitStack() as staged:
            fresh = staged.enter_context(_beside(new, hint))
            old = staged.enter_context(_beside(now, hint)) if backup is not None else None
            if _look(now.path) != now:
                return False
            if old is not None and backup is not None:
                old.replace(backup)
            fresh.replace(now.target)
    except OSError as error:
        raise _unwritable(now.path, error, hint) from error
    _sync(now.target.parent)
    return True


@contextmanager
def _beside(file: ConfigFile, hint: str) -> Iterator[Path]:
    """Write a finished copy beside the file, under a name of its own; gone after, unless moved."""
    descriptor, name = tempfile.mkstemp(prefix=f".{file.target.name}.", dir=file.target.parent)
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


def _unreadable(path: Path, error: OSError) -> ConfigProblem:
    return ConfigProblem(
        f"{place(str(path))} cannot be read: {error.strerror}.", hint=f"ls -l {place(str(path))}"
    )


def _unwritable(path: Path, error: OSError, hint: str) -> ConfigProblem:
    return ConfigProblem(f"{place(str(path))} cannot be written: {error.strerror}.", hint=hint)


def _busy(path: Path) -> ConfigProblem:
    return ConfigProblem(
        f"{place(str(path))} was changed by another program at each of {_ATTEMPTS} attempts.",
        hint="close the program that changes it, and try again",
    )
