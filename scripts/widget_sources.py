"""What the widget is built from, as one hash: so that a test sees stale assets without Node."""

import gzip
import hashlib
from collections.abc import Iterable
from pathlib import Path

LIMIT_BYTES = 20_000
"""The most that script and style may weigh together, gzipped."""
_FILES = ("package-lock.json", "package.json", "tsconfig.json", "vite.config.ts")
_FOLDERS = ("src", "preview")


def sources_hash(web: Path) -> str:
    """Return the SHA-256 of every file that the build reads, with its name. Fixtures are not."""
    paths = [web / name for name in _FILES]
    for folder in _FOLDERS:
        paths += [path for path in (web / folder).rglob("*") if path.is_file()]
    digest = hashlib.sha256()
    for path in sorted(paths):
        name = path.relative_to(web).as_posix()
        if "/fixtures/" not in name:
            digest.update(f"{name}\0{hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return digest.hexdigest()


def gzipped(paths: Iterable[Path]) -> int:
    """Return how many bytes the files weigh together, gzipped."""
    return len(gzip.compress(b"".join(path.read_bytes() for path in paths), 9, mtime=0))
