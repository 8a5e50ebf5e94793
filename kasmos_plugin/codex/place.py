"""What we keep for one Codex home: the marketplace that it reads, and what is to be undone."""

import fcntl
import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from kasmos_plugin import paths
from kasmos_plugin.codex.edits import Edit
from kasmos_plugin.codex.home import CodexHome
from kasmos_plugin.codex.tables import OURS, TablePath
from kasmos_plugin.errors import Conflict, KasmosError


class Unsettled(BaseModel):
    """The configuration from before a command of Codex that nobody has seen end."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    text: str | None
    """None when there was no file."""
    mode: int | None = Field(ge=0, le=0o7777)
    keeps_off: bool = False


class Record(BaseModel):
    """What an installation did, so that it can be undone."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    home: str
    port: int = Field(ge=1, le=65_535)
    made_config: bool = False
    edits: dict[str, Edit] = {}
    """What was put into the configuration: `marketplaces`, `plugins`, `apps`."""

    unsettled: Unsettled | None = None

    @property
    def undo(self) -> dict[TablePath, Edit]:
        """The edits that put our tables in."""
        return {path: self.edits[path[0]] for path in OURS if path[0] in self.edits}


@dataclass(frozen=True, kw_only=True)
class Place:
    """The folder of ours that belongs to one Codex home."""

    path: Path

    @property
    def marketplace(self) -> Path:
        """The root that Codex is told."""
        return self.path / "marketplace"

    @property
    def _record(self) -> Path:
        return self.path / "install.json"

    def record(self) -> Record | None:
        """Return what the installation wrote down; None without one, or when it cannot be read."""
        try:
            return Record.model_validate_json(self._record.read_bytes())
        except (OSError, ValidationError):
            return None

    def write_down(self, record: Record) -> None:
        """Keep the record, for this user alone.

        Raises:
            KasmosError: it cannot be written.
        """
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor, name = tempfile.mkstemp(prefix=".install.", dir=self.path)
            try:
                with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                    file.write(record.model_dump_json(indent=2))
                Path(name).replace(self._record)
            finally:
                Path(name).unlink(missing_ok=True)
        except OSError as error:
            raise KasmosError(
                f"'{self._record}' cannot be written: {error.strerror}.",
                hint=f"ls -ld '{self.path}'",
            ) from error

    def sweep(self) -> None:
        """Remove what a killed installation left half-written. Only inside `alone`."""
        for stray in (*self.path.glob(".marketplace.*"), *self.path.glob(".install.*")):
            shutil.rmtree(stray) if stray.is_dir() else stray.unlink(missing_ok=True)

    def forget(self) -> None:
        """Drop the record and leave the rest."""
        self._record.unlink(missing_ok=True)

    def remove(self) -> None:
        """Remove the folder with everything in it.

        Raises:
            KasmosError: something in it cannot be removed.
        """
        try:
            shutil.rmtree(self.path)
        except FileNotFoundError:
            return
        except OSError as error:
            raise KasmosError(
                f"'{self.path}' cannot be removed: {error.strerror}.", hint=f"rm -r '{self.path}'"
            ) from error

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other installers of this home out.

        Raises:
            Conflict: one is at work.
            KasmosError: the lock cannot be made.
        """
        lock = self.path.parent / f"{self.path.name}.lock"
        try:
            lock.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise KasmosError(
                f"'{lock}' cannot be made: {error.strerror}.", hint=f"ls -ld '{lock.parent}'"
            ) from error
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise Conflict(
                    "Another installation is at work.", hint="kas integrations codex status"
                ) from None
            yield
        finally:
            os.close(descriptor)


def place_of(home: CodexHome) -> Place:
    """Return our folder for a home: `default` for `~/.codex`, a hash of its path for another.

    Raises:
        KasmosError: a link lies in its place.
    """
    real = home.path.resolve()
    is_default = real == (Path.home() / ".codex").resolve()
    name = "default" if is_default else hashlib.sha256(os.fsencode(real)).hexdigest()[:12]
    # Codex names the real path: an unresolved one would look like somebody else's.
    path = (paths.data_dir() / "codex").resolve() / name
    if path.is_symlink():
        raise KasmosError(
            f"'{path}' is a link; kasmos removes that folder when it uninstalls.",
            hint=f"rm '{path}'",
        )
    return Place(path=path)
