"""What an installation would change, found out without changing anything."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kasmos_plugin import ports
from kasmos_plugin.codex import config_file, config_write, plugin
from kasmos_plugin.codex.client import (
    MARKETPLACE,
    PLUGIN_ADD,
    SERVER,
    Codex,
    command,
    marketplace_add,
    take_out,
)
from kasmos_plugin.codex.config_file import ConfigFile
from kasmos_plugin.codex.features import AppsFeature, read_apps, turn_apps_on
from kasmos_plugin.codex.place import Place, place_of
from kasmos_plugin.codex.tables import MARKETPLACE_TABLE, PLUGIN_TABLE, put, table
from kasmos_plugin.codex.toml_text import ConfigProblem, parse, value_at
from kasmos_plugin.errors import Conflict, KasmosError
from kasmos_plugin.rules.text import clean


class ForeignMarketplace(Conflict):
    """A marketplace of our name is registered from somewhere else."""

    code = "foreign_marketplace"

    def __init__(self, source: str) -> None:
        super().__init__(
            f"Codex has a marketplace 'kasmos' from '{clean(source, 500)}' already.",
            hint=take_out(),
        )


SHADOW = f"[mcp_servers.{SERVER}] of yours hides the plugin's server"
"""What is wrong when `has_shadow`."""


class GoneMarketplace(KasmosError):
    """The folder of another marketplace is gone, and Codex fails for every plugin."""

    code = "gone_marketplace"

    def __init__(self, name: str, source: str) -> None:
        super().__init__(
            f"The marketplace '{clean(name, 80)}' of Codex is gone: '{clean(source, 500)}'."
            " Codex cannot list or add any plugin.",
            hint=command("plugin", "marketplace", "remove", name),
        )


class Stranger(KasmosError):
    """Another program answers on the port that the plugin would name."""

    code = "stranger_on_port"

    def __init__(self, port: int) -> None:
        super().__init__(
            f"Port {port} is held by {ports.holder(port)}, which is no kas serve.",
            hint="stop that one, or --mcp-port PORT with the same port for kas serve",
        )


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What stands now and what an installation would do."""

    version: str
    port: int
    place: Place
    config: ConfigFile
    apps: AppsFeature
    copies: tuple[str, ...]
    """Files of our marketplace folder that would be written or removed."""
    adds_marketplace: bool
    adds_plugin: bool
    keeps_off: bool
    """The user has switched the plugin off, and it stays so."""
    turns_apps_on: bool
    predicted: str | None
    """The configuration afterwards; None when only Codex can tell."""

    @property
    def has_changes(self) -> bool:
        """Whether anything would change."""
        return bool(self.copies or self.adds_marketplace or self.adds_plugin or self.turns_apps_on)

    @property
    def commands(self) -> tuple[str, ...]:
        """The commands of Codex that would run."""
        wanted = (
            (self.adds_marketplace, marketplace_add(self.place.marketplace)),
            (self.adds_plugin, PLUGIN_ADD),
        )
        return tuple(command(*arguments) for is_wanted, arguments in wanted if is_wanted)


def make_plan(codex: Codex, *, port: int | None = None, apps_on: bool = False) -> Plan:
    """Look at everything that an installation depends on; `apps_on` turns apps on where off.

    Without a port, that of the installation stays, else 7434.

    Raises:
        KasmosError: Codex is too old, cannot be run, or has its plugins off.
        ConfigProblem: the configuration cannot be read.
        ForeignMarketplace: our name is taken.
        GoneMarketplace: Codex fails for every plugin.
        Stranger: another program holds the port.
    """
    version = codex.new_enough_version()
    place = place_of(codex.home)
    record = place.record()
    port = port or (record.port if record is not None else ports.MCP_PORT)
    config = config_file.read(codex.home.config)
    text = config.text
    apps = read_apps(text, name=str(codex.home.config))
    if not apps.has_plugins_on:
        raise KasmosError(
            f"Codex's plugins are off: '{codex.home.config}' says features.plugins = false.",
            hint="remove that line, or set it to true",
        )
    adds_marketplace = not is_ours(text, place.marketplace)
    if gone := gone_marketplace(text):
        raise gone
    turns_apps_on = apps_on and not apps.is_on
    refuse_stranger(port)
    predicted = _predicted(text, place.marketplace, turns_apps_on=turns_apps_on)
    if predicted != text:
        lines = config_file.diff(text, predicted, config.path) if predicted is not None else ""
        _require_writable(config, lines)
    return Plan(
        version=version,
        port=port,
        place=place,
        config=config,
        apps=apps,
        copies=tuple(plugin.differences(plugin.marketplace(port), place.marketplace)),
        adds_marketplace=adds_marketplace,
        adds_plugin=not _is_added(codex, text, port),
        keeps_off=is_switched_off(text),
        turns_apps_on=turns_apps_on,
        predicted=predicted,
    )


def is_ours(text: str, root: Path) -> bool:
    """Return whether the marketplace is registered, and is ours; a gone one counts as none.

    Raises:
        ForeignMarketplace: it is somebody else's.
    """
    found = table(text, MARKETPLACE_TABLE)
    if found is None:
        return False
    source = str(found.get("source", ""))
    if source == str(root):
        return True
    if found.get("source_type") == "local" and not Path(source).exists():
        return False
    raise ForeignMarketplace(source)


def gone_marketplace(text: str) -> GoneMarketplace | None:
    """Return the complaint of the first marketplace, ours left out, whose folder is gone."""
    found = parse(text, name="config.toml").get("marketplaces")
    for name, one in found.items() if isinstance(found, dict) else ():
        if name == MARKETPLACE or not isinstance(one, dict) or one.get("source_type") != "local":
            continue
        if not Path(source := str(one.get("source", ""))).is_dir():
            return GoneMarketplace(name, source)
    return None


def how_to_switch_on(config: Path) -> str:
    """Return what switches the plugin on again."""
    return f"set enabled = true below [plugins.\"kasmos@kasmos\"] in '{config}'"


def is_switched_off(text: str) -> bool:
    """Return whether the plugin is there, and the user has switched it off."""
    found = table(text, PLUGIN_TABLE)
    return found is not None and found.get("enabled") is False


def has_shadow(text: str) -> bool:
    """Return whether a server of the user's hides that of the plugin."""
    return value_at(parse(text, name="config.toml"), ("mcp_servers", SERVER)) is not None


def server_settings(text: str) -> Mapping[str, object]:
    """Return what the user has set for the plugin's own server; empty when nothing is."""
    found = value_at(table(text, PLUGIN_TABLE) or {}, ("mcp_servers", SERVER))
    return found if isinstance(found, dict) else {}


def refuse_stranger(port: int) -> None:
    """Make sure that nobody listens on `port`, or kasmos does.

    Raises:
        Stranger: another program does.
    """
    if ports.is_held(port) and ports.identity(port, within_s=2) is None:
        raise Stranger(port)


def _require_writable(config: ConfigFile, lines: str) -> None:
    """Refuse a read-only configuration before Codex is asked, which may write it all the same."""
    if config.target.parent.is_dir():
        by_hand = f"make this change by hand:\n{lines}" if lines else "make it writable"
        config_write.require_writable(config, f"chmod u+w '{config.target}', or {by_hand}")


def _is_added(codex: Codex, text: str, port: int) -> bool:
    copy = plugin.installed_copy(codex.home)
    is_there = table(text, PLUGIN_TABLE) is not None
    return is_there and not plugin.differences(plugin.rendered(port), copy)


def _predicted(text: str, root: Path, *, turns_apps_on: bool) -> str | None:
    marketplace = {"source_type": "local", "source": str(root)}
    after: str | None = text
    if table(text, MARKETPLACE_TABLE) != marketplace:
        after = put(text, MARKETPLACE_TABLE, marketplace)
    if after is not None and table(after, PLUGIN_TABLE) is None:
        after = put(after, PLUGIN_TABLE, {"enabled": True})
    try:
        return turn_apps_on(after) if after is not None and turns_apps_on else after
    except ConfigProblem:
        return None
