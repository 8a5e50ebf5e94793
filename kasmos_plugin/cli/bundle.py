"""The monitor's bundle as a directory. Knows which files are ours, not what they say."""

import hashlib
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from kasmos_plugin.errors import BadArgument, Conflict
from kasmos_plugin.rules.text import clean

_HINT = "--out DIR, with a directory that is new, empty or a bundle"
_MODE = 0o644
_MOST_NAMED = 5


def write_bundle(directory: Path, files: Mapping[str, bytes], *, manifest: str) -> list[Path]:
    """Make `directory` hold `files`, each whole or not at all; return those that were written.

    `manifest` is the name of the one that lists the others; it is written last. A file that is
    right already is left alone, and nothing is removed. A link to a directory is followed.

    Raises:
        BadArgument: the directory cannot be made, read or written.
        Conflict: it holds something that is no file of a bundle.
    """
    try:
        target = Path(os.path.realpath(directory.expanduser()))
        target.mkdir(parents=True, exist_ok=True)
        present = _present(target, files)
        if foreign := _foreign(present, files, manifest):
            raise Conflict(
                f"'{directory}' holds what kasmos did not write: {_named(foreign)}; "
                "nothing was written.",
                hint=_HINT,
            )
        order = sorted(files, key=lambda name: name == manifest)
        stale = [name for name in order if present.get(name) != files[name]]
        for name in stale:
            _replace(target / name, files[name])
    except RuntimeError:
        raise BadArgument(f"'{directory}' lies in a home that is not known.", hint=_HINT) from None
    except FileExistsError:
        raise BadArgument(f"'{directory}' is no directory.", hint=_HINT) from None
    except OSError as error:
        raise BadArgument(
            f"'{directory}' cannot be written: {error.strerror}.", hint=_HINT
        ) from error
    return [target / name for name in stale]


def _present(directory: Path, files: Mapping[str, bytes]) -> dict[str, bytes | None]:
    """Return each entry with its content; None for what cannot be a file of a bundle."""
    with os.scandir(directory) as entries:
        return {
            entry.name: Path(entry.path).read_bytes()
            if entry.name in files and entry.is_file(follow_symlinks=False)
            else None
            for entry in entries
        }


def _foreign(
    present: Mapping[str, bytes | None], files: Mapping[str, bytes], manifest: str
) -> list[str]:
    """Return the entries that neither this nor another version of the bundle has, sorted.

    A name alone proves nothing, for many directories hold an `index.html`: the content must be what
    would be written, or what the manifest beside it lists.
    """
    listed = _listed(present.get(manifest) or b"")
    return sorted(
        name
        for name, content in present.items()
        if content is None
        or not (
            content == files[name]
            or (name == manifest and listed)
            or listed.get(name) == hashlib.sha256(content).hexdigest()
        )
    )


def _listed(content: bytes) -> dict[str, str]:
    """Return the digests that a manifest lists by file; nothing where it is none of ours."""
    from pydantic import ValidationError  # Only who writes a bundle waits for it.

    from kasmos_plugin.contract.monitor import BundleManifest

    try:
        found = BundleManifest.model_validate_json(content)
    except ValidationError:
        return {}
    return {file.path: file.sha256 for file in found.files}


def _named(names: list[str]) -> str:
    shown = ", ".join(f"'{clean(name)}'" for name in names[:_MOST_NAMED])
    more = len(names) - _MOST_NAMED
    return f"{shown} and {more} more" if more > 0 else shown


def _replace(path: Path, content: bytes) -> None:
    # Made beside the target so that the rename is atomic.
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    beside = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(file.fileno(), _MODE)
            file.write(content)
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
