"""One configuration file as it lies on disk, through all its links. Knows nothing of TOML."""

import codecs
import difflib
import os
import stat
from dataclasses import dataclass
from pathlib import Path

from kasmos_plugin.codex.toml_text import ConfigProblem, place
from kasmos_plugin.rules.text import clean_block

_LINKS = 40  # As many as Linux follows: path_resolution(7).
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


def read(path: Path) -> ConfigFile:
    """Read a file through all its links.

    Raises:
        ConfigProblem: a link dangles or loops, it is no file, no UTF-8, or cannot be read.
    """
    file = look(path)
    _decoded(file.content or b"", path)
    return file


def look(path: Path) -> ConfigFile:
    """Read the file as it is, text or not.

    Raises:
        ConfigProblem: a link dangles or loops, it is no file, or cannot be read.
    """
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


def _unreadable(path: Path, error: OSError) -> ConfigProblem:
    return ConfigProblem(
        f"{place(str(path))} cannot be read: {error.strerror}.", hint=f"ls -l {place(str(path))}"
    )
