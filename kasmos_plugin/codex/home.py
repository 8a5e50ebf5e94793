"""Where this user's Codex lies: its home directory and its binary. Opens nothing, runs nothing."""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from kasmos_plugin.errors import BadArgument


@dataclass(frozen=True, kw_only=True)
class CodexHome:
    """The directory of Codex's configuration and plugins."""

    path: Path
    """Absolute."""
    told_by: str
    """What decided: `--codex-home`, `CODEX_HOME`, or `default`."""

    @property
    def config(self) -> Path:
        """The user's configuration, which need not exist."""
        return self.path / "config.toml"

    @property
    def plugin_cache(self) -> Path:
        """Where Codex keeps its copies: `MARKETPLACE/PLUGIN/VERSION/`."""
        return self.path / "plugins" / "cache"


def find_home(given: Path | None = None) -> CodexHome:
    """Return the home that Codex would use: the given one, `CODEX_HOME`, else `~/.codex`.

    Raises:
        BadArgument: it is named and is no directory.
    """
    told_by, named = "--codex-home", str(given) if given is not None else ""
    if not named:
        told_by, named = "CODEX_HOME", os.environ.get("CODEX_HOME", "")
    if not named:
        return CodexHome(path=Path.home() / ".codex", told_by="default")
    path = Path(named).expanduser().absolute()
    if path.exists() and not path.is_dir():
        hint = "unset CODEX_HOME, or correct it" if given is None else "--codex-home DIR"
        raise BadArgument(f"{told_by} '{path}' is no directory.", hint=hint)
    return CodexHome(path=path, told_by=told_by)


def find_binary() -> Path | None:
    """Return the path of `codex`: what `KASMOS_CODEX` names, else the first on the PATH.

    Raises:
        BadArgument: `KASMOS_CODEX` names nothing that can be run.
    """
    named = os.environ.get("KASMOS_CODEX")
    found = shutil.which(named or "codex")
    if named and found is None:
        raise BadArgument(
            f"KASMOS_CODEX '{named}' cannot be run.", hint="unset KASMOS_CODEX, or correct it"
        )
    return Path(found).absolute() if found else None
