"""Takes our plugin out of Codex, and out of the configuration what an installation had put in.

Each step can be repeated: what failed half-way goes on from there.
"""

import shutil
from contextlib import suppress

from kasmos_plugin.codex import config_file, config_write
from kasmos_plugin.codex.client import MARKETPLACE, PLUGIN, SERVER, Codex
from kasmos_plugin.codex.config_file import ConfigFile
from kasmos_plugin.codex.edits import Edit
from kasmos_plugin.codex.home import CodexHome
from kasmos_plugin.codex.installer import APPS, Step, Tell
from kasmos_plugin.codex.kept import keeping, remove_if_empty, turn_apps_back
from kasmos_plugin.codex.place import Place, Record, place_of
from kasmos_plugin.codex.plan import is_ours, server_settings
from kasmos_plugin.codex.recovery import recover, unsettled
from kasmos_plugin.codex.tables import (
    MARKETPLACE_TABLE,
    OURS,
    PLUGIN_TABLE,
    TablePath,
    put,
    table,
)
from kasmos_plugin.codex.toml_text import ConfigProblem, parse
from kasmos_plugin.errors import KasmosError
from kasmos_plugin.ports import MCP_PORT


def uninstall(home: CodexHome, codex: Codex | None, tell: Tell) -> None:
    """Take the plugin out. Without a Codex binary its tables and its copy are removed by hand.

    Raises:
        ForeignMarketplace: what is installed is not ours.
        ConfigProblem: the configuration cannot be read or written.
        KasmosError: a step failed.
    """
    place = place_of(home)
    with place.alone():
        is_there = place.path.exists()
        record = recover(home, place) or Record(home=str(home.path), port=MCP_PORT)
        text = config_file.read(home.config).text
        is_ours(text, place.marketplace)
        for path, name in ((PLUGIN_TABLE, "plugin"), (MARKETPLACE_TABLE, "marketplace")):
            if table(text, path) is None:
                tell(Step(name=name, state="same", message="is not in Codex"))
                continue
            _take_out(home, codex, path, record, place)
            tell(Step(name=name, state="done", message="taken out of Codex"))
        if edit := record.edits.get(APPS):
            is_back = turn_apps_back(home, edit)
            message = (
                "off again, as before" if is_back else "left as they are: the line was changed"
            )
            tell(Step(name="apps", state="done" if is_back else "warning", message=message))
        _tidy(home, record)
        place.remove()
        message = f"removed '{place.path}'" if is_there else "there was none"
        tell(Step(name="copy", state="done" if is_there else "same", message=message))


def overrides(home: CodexHome) -> list[str]:
    """Return the user's own settings of the plugin, which go with it: `mcp_servers.kasmos`, …

    Raises:
        ConfigProblem: the configuration cannot be read.
    """
    text = config_file.read(home.config).text
    parse(text, name=str(home.config))
    named = [f"mcp_servers.{SERVER}.{key}" for key in server_settings(text)]
    found = table(text, PLUGIN_TABLE) or {}
    return named + [key for key in found if key not in ("enabled", "mcp_servers")]


def _take_out(
    home: CodexHome, codex: Codex | None, path: TablePath, record: Record, place: Place
) -> None:
    undo = record.undo

    def journal(file: ConfigFile | None) -> None:
        place.write_down(record.model_copy(update={"unsettled": unsettled(file)}))

    if codex is not None:
        run = codex.remove_plugin if path == PLUGIN_TABLE else codex.remove_marketplace
        keeping(home, run, undo=undo, journal=journal)
        return
    config_write.change(home.config, lambda text: _without(text, path, undo))
    if path == PLUGIN_TABLE:
        shutil.rmtree(home.plugin_cache / MARKETPLACE / PLUGIN, ignore_errors=True)


def _without(text: str, path: TablePath, undo: dict[TablePath, Edit]) -> str:
    bare = put(text, path, None, undo=undo.get(path))
    if bare is None:
        raise ConfigProblem(
            f"The table '{path[0]}.{path[1]}' cannot be removed without touching more.",
            hint="remove it from config.toml by hand",
        )
    return bare


def _tidy(home: CodexHome, record: Record) -> None:
    """Remove what is empty now: Codex's folder for our marketplace, a configuration of ours."""
    remove_if_empty(home.plugin_cache / MARKETPLACE / PLUGIN)
    remove_if_empty(home.plugin_cache / MARKETPLACE)
    config = config_file.read(home.config)
    with suppress(OSError, UnicodeDecodeError, ConfigProblem):
        backup = config_write.backup_of(config)
        text = backup.read_bytes().decode()
        for path in OURS:
            text = put(text, path, None, undo=record.undo.get(path)) or text
        # It may be from the second of two installations, with ours in it.
        if text == config.text:
            backup.unlink()
    if record.made_config and config.content is not None and not config.text.strip():
        try:
            config.target.unlink()
        except OSError as error:
            raise KasmosError(f"'{config.target}' cannot be removed: {error.strerror}.") from error
