"""Our plugin: as packaged, as the folder that Codex installs from, and Codex's copy of that.

The folder stays where it is while the plugin is installed: when a marketplace's source disappears,
Codex can neither list nor add any plugin of this user. So it is never a checkout or a virtualenv.
"""

import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from importlib_resources import files
from importlib_resources.abc import Traversable

from kasmos_plugin import __version__
from kasmos_plugin.codex.client import MARKETPLACE, PLUGIN, SERVER
from kasmos_plugin.codex.home import CodexHome
from kasmos_plugin.errors import KasmosError

Files = Mapping[str, bytes]
"""The files of a directory tree: paths with `/`, relative to its top, and their contents."""

_CATALOGUE = ".agents/plugins/marketplace.json"
_SERVERS = ".mcp.json"
_FOLDER = "plugin"
"""Where the plugin lies in the marketplace; older versions of Codex refuse the top itself."""


@cache
def packaged() -> Files:
    """Return the plugin as this package carries it: from the wheel, or from the checkout.

    Raises:
        KasmosError: it is in neither.
    """
    in_wheel = files("kasmos_plugin") / "codex" / "plugin"
    # An editable install has no copy: a force-included directory is put into wheels alone.
    in_checkout = Path(__file__).parents[2] / "integrations" / "codex"
    for top in (in_wheel, in_checkout):
        if (top / ".codex-plugin" / "plugin.json").is_file():
            return dict(sorted(_read(top)))
    raise KasmosError(
        "This installation of kasmos carries no Codex plugin.", hint="pip install --upgrade kasmos"
    )


def rendered(port: int) -> Files:
    """Return the plugin for a `kas serve` whose MCP listens on `port`."""
    content = dict(packaged())
    servers = json.loads(content[_SERVERS])
    servers["mcpServers"][SERVER]["url"] = url(port)
    content[_SERVERS] = _json(servers)
    return content


def marketplace(port: int) -> Files:
    """Return the marketplace that holds the plugin alone."""
    catalogue = {
        "name": MARKETPLACE,
        "interface": {"displayName": "kasmos"},
        "plugins": [
            {
                "name": PLUGIN,
                "source": {"source": "local", "path": f"./{_FOLDER}"},
                "policy": {"installation": "AVAILABLE", "authentication": "ON_INSTALL"},
                "category": "Productivity",
            }
        ],
    }
    tree = {f"{_FOLDER}/{name}": content for name, content in rendered(port).items()}
    return {_CATALOGUE: _json(catalogue), **tree}


def url(port: int) -> str:
    """Return the address of MCP, as it stands in the plugin."""
    return f"http://127.0.0.1:{port}/mcp"


def installed_copy(home: CodexHome) -> Path:
    """Return where Codex keeps its copy of this version of the plugin."""
    return home.plugin_cache / MARKETPLACE / PLUGIN / __version__


def differences(tree: Files, top: Path) -> list[str]:
    """Return the files that are missing below `top`, are other ones, or are too many; sorted.

    A directory that cannot be read counts as different in every file.
    """
    try:
        found = dict(_read(top)) if top.is_dir() else {}
    except OSError:
        found = {}
    return sorted(name for name in {*tree, *found} if tree.get(name) != found.get(name))


def write(tree: Files, top: Path) -> Path | None:
    """Put exactly `tree` at `top`, whole or not at all; return what holds the old one.

    The old one is for undoing: the caller removes it, or puts it back with `put_back`.

    Raises:
        KasmosError: the directory cannot be written.
    """
    try:
        top.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        beside = Path(tempfile.mkdtemp(prefix=f".{top.name}.", dir=top.parent))
        try:
            for name, content in tree.items():
                path = beside / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
            old = _set_aside(top)
            beside.rename(top)
        except BaseException:
            shutil.rmtree(beside, ignore_errors=True)
            raise
    except OSError as error:
        raise KasmosError(
            f"The plugin cannot be copied to '{top}': {error.strerror}.", hint=f"ls -ld '{top}'"
        ) from error
    return old


def put_back(old: Path | None, top: Path) -> None:
    """Undo `write`: put the old tree back, or leave nothing where nothing was."""
    shutil.rmtree(top, ignore_errors=True)
    if old is not None:
        (old / top.name).rename(top)
        old.rmdir()


def _set_aside(top: Path) -> Path | None:
    if not os.path.lexists(top):
        return None
    old = Path(tempfile.mkdtemp(prefix=f".{top.name}.old.", dir=top.parent))
    top.rename(old / top.name)
    return old


def _read(top: Traversable, prefix: str = "") -> list[tuple[str, bytes]]:
    found: list[tuple[str, bytes]] = []
    for entry in top.iterdir():
        name = f"{prefix}{entry.name}"
        if entry.is_dir():
            found += _read(entry, f"{name}/")
        else:
            found.append((name, entry.read_bytes()))
    return found


def _json(value: object) -> bytes:
    return f"{json.dumps(value, indent=2, ensure_ascii=False)}\n".encode()
