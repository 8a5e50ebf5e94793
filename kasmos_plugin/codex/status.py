"""How our plugin stands in Codex, line by line. Looks, and changes nothing."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from kasmos_plugin import __version__, ports
from kasmos_plugin.codex import config_file, plugin
from kasmos_plugin.codex.client import INSTALL_CODEX, SERVER, Codex, take_out
from kasmos_plugin.codex.features import AppsFeature, read_apps
from kasmos_plugin.codex.home import CodexHome
from kasmos_plugin.codex.place import Place, place_of
from kasmos_plugin.codex.plan import (
    SHADOW,
    gone_marketplace,
    has_shadow,
    how_to_switch_on,
    is_switched_off,
    server_settings,
)
from kasmos_plugin.codex.recovery import is_broken_off
from kasmos_plugin.codex.tables import MARKETPLACE_TABLE, PLUGIN_TABLE, table
from kasmos_plugin.codex.toml_text import parse, value_at
from kasmos_plugin.contract.check import Check, CheckState
from kasmos_plugin.errors import KasmosError
from kasmos_plugin.repository import find_repository
from kasmos_plugin.rules.checks import check, failed
from kasmos_plugin.rules.text import clean
from kasmos_plugin.summary import plural

INSTALL = "kas integrations codex install"


@dataclass(frozen=True, kw_only=True)
class _Seen:
    """What the checks look at; read once."""

    home: CodexHome
    codex: Codex | None
    place: Place
    port: int
    text: str
    cwd: Path


def port_of(home: CodexHome) -> int:
    """Return the port of MCP that the installation named; 7434 without one.

    Raises:
        KasmosError: as `place_of`.
    """
    record = place_of(home).record()
    return record.port if record is not None else ports.MCP_PORT


def look(home: CodexHome, codex: Codex | None, *, cwd: Path) -> list[Check]:
    """Check the server that Codex will ask, the client, its configuration and our plugin.

    `cwd` decides which project's configuration counts.
    """
    try:
        port = port_of(home)
    except KasmosError as error:
        return [failed("installation", error)]
    mcp = ports.check_serve("mcp", port, "--mcp-port", speaks_mcp=True)
    checks = [mcp, _guarded("codex", lambda: _binary(codex)), _home(home)]
    try:
        text = config_file.read(home.config).text
        parse(text, name=str(home.config))
    except KasmosError as error:
        return [*checks, failed("codex config", error)]
    seen = _Seen(
        home=home,
        # Codex refuses every question about a home that is not there.
        codex=codex if home.path.is_dir() else None,
        place=place_of(home),
        port=port,
        text=text,
        cwd=cwd,
    )
    read = "can be read" if home.config.exists() else "does not exist: the defaults hold"
    checks.append(check("codex config", "ok", f"'{home.config}' {read}"))
    if is_broken_off(seen.place):
        checks.append(check("installation", "warning", "was broken off half-way", INSTALL))
    checks += [
        _guarded("apps feature", lambda: _apps(seen)),
        _guarded("marketplace", lambda: _marketplace(seen)),
        _guarded("plugin", lambda: _plugin(seen)),
        _guarded("plugin copy", lambda: _copy(seen)),
        _guarded("plugin server", lambda: _server(seen)),
    ]
    return checks


def _binary(codex: Codex | None) -> Check:
    if codex is None:
        return check("codex", "failed", "there is no 'codex' on the PATH", INSTALL_CODEX)
    return check("codex", "ok", f"{codex.new_enough_version()} at '{codex.binary}'")


def _home(home: CodexHome) -> Check:
    told = f"'{home.path}' ({home.told_by})"
    if home.path.is_dir():
        return check("codex home", "ok", told)
    return check("codex home", "warning", f"{told} does not exist yet", INSTALL)


def _apps(seen: _Seen) -> Check:
    name = str(seen.home.config)
    apps = read_apps(seen.text, name=name)
    if not apps.has_plugins_on:
        hint = f"set features.plugins to true in '{name}'"
        return check("apps feature", "failed", "plugins are off: features.plugins = false", hint)
    decided, source = _decided(seen, apps)
    effective = seen.codex.features().get("apps") if seen.codex is not None else None
    if effective is None:
        effective = decided
    elif effective != decided:
        source = "by a setting that is in neither config.toml nor the project's"
    if effective:
        return check("apps feature", "ok", f"on, {source}")
    told = f"off, {source}: a host may leave the widget out; the tools and their text work"
    return check("apps feature", "warning", told, f"{INSTALL} --enable-apps")


def _decided(seen: _Seen, apps: AppsFeature) -> tuple[bool, str]:
    """Return whether apps are on by the files, and which line says so."""
    for path in _project_files(seen):
        found = read_apps(config_file.read(path).text, name=str(path))
        if found.decided_by != "default":
            return found.is_on, f"by '{found.decided_by}' in '{path}' line {found.line}"
    if apps.decided_by == "default":
        return apps.is_on, "by default"
    return apps.is_on, f"by '{apps.decided_by}' in '{seen.home.config}' line {apps.line}"


def _project_files(seen: _Seen) -> Iterator[Path]:
    """Yield the project configurations that count, the nearest first: of trusted projects alone."""
    repository = find_repository(seen.cwd)
    if repository is None:
        return
    tree = parse(seen.text, name=str(seen.home.config))
    roots = (repository.root, repository.main)
    levels = [value_at(tree, ("projects", str(root), "trust_level")) for root in roots]
    if "trusted" not in levels:
        return
    for directory in (seen.cwd, *seen.cwd.parents):
        path = directory / ".codex" / "config.toml"
        if path.is_file() and path != seen.home.config:
            yield path
        if directory == repository.root:
            return


def _marketplace(seen: _Seen) -> Check:
    if gone := gone_marketplace(seen.text):
        return failed("marketplace", gone)
    found = table(seen.text, MARKETPLACE_TABLE)
    if found is None:
        return check("marketplace", "warning", "'kasmos' is not registered", INSTALL)
    source = str(found.get("source", ""))
    told = f"'{clean(source, 500)}'"
    if found.get("source_type") == "local" and not Path(source).is_dir():
        message = f"{told} is gone: Codex cannot list or add any plugin"
        return check("marketplace", "failed", message, INSTALL)
    if source != str(seen.place.marketplace):
        message = f"{told}, put in by hand; it has to stay there"
        return check("marketplace", "warning", message, f"{take_out()} && {INSTALL}")
    different = plugin.differences(plugin.marketplace(seen.port), seen.place.marketplace)
    if different:
        message = f"{told} differs in {plural(len(different), 'file')} from kasmos {__version__}"
        return check("marketplace", "warning", message, INSTALL)
    return check("marketplace", "ok", told)


def _plugin(seen: _Seen) -> Check:
    if table(seen.text, PLUGIN_TABLE) is None:
        return check("plugin", "warning", "is not installed", INSTALL)
    if is_switched_off(seen.text):
        hint = how_to_switch_on(seen.home.config)
        return check("plugin", "warning", "is installed, and switched off", hint)
    return check("plugin", "ok", "is installed and enabled")


def _copy(seen: _Seen) -> Check:
    copy = plugin.installed_copy(seen.home)
    versions = sorted(one.name for one in copy.parent.glob("*")) if copy.parent.is_dir() else []
    if table(seen.text, PLUGIN_TABLE) is None and not versions:
        return check("plugin copy", "warning", "Codex has none", INSTALL)
    if copy.name not in versions:
        found = ", ".join(clean(one, 40) for one in versions) or "none"
        message = f"Codex has {found}, this kasmos is {__version__}"
        return check("plugin copy", "warning", message, INSTALL)
    if different := plugin.differences(plugin.rendered(seen.port), copy):
        message = f"{__version__}, not intact: {clean(', '.join(different), 200)}"
        return check("plugin copy", "warning", message, INSTALL)
    return check("plugin copy", "ok", f"{__version__}, intact")


def _server(seen: _Seen) -> Check:
    if is_switched_off(seen.text):
        return check("plugin server", "warning", "is off with the plugin")
    if not read_apps(seen.text).has_plugins_on:
        return check("plugin server", "warning", "is off with all plugins")
    if has_shadow(seen.text):
        return check("plugin server", "warning", SHADOW, f"remove it from '{seen.home.config}'")
    if off := _switched_off(server_settings(seen.text)):
        hint = f"look below [plugins.\"kasmos@kasmos\".mcp_servers.kasmos] in '{seen.home.config}'"
        return check("plugin server", "warning", f"a setting of yours says {off}", hint)
    if not seen.home.path.is_dir():
        return check("plugin server", "warning", "Codex does not list it", INSTALL)
    if seen.codex is None:
        return check("plugin server", "warning", "cannot be asked without codex", INSTALL_CODEX)
    url = plugin.url(seen.port)
    for server in seen.codex.servers():
        if server.name == SERVER:
            state: CheckState = "ok" if server.enabled and server.url == url else "warning"
            message = f"{clean(server.url, 200)}{'' if server.enabled else ', switched off'}"
            return check("plugin server", state, message, "" if state == "ok" else INSTALL)
    return check("plugin server", "warning", "Codex does not list it", INSTALL)


def _switched_off(settings: Mapping[str, object]) -> str:
    """Return the user's setting that takes a tool of the monitor away; empty when none does."""
    if settings.get("enabled") is False:
        return "enabled = false"
    return next((key for key in ("enabled_tools", "disabled_tools") if key in settings), "")


def _guarded(name: str, look: Callable[[], Check]) -> Check:
    try:
        return look()
    except KasmosError as error:
        return failed(name, error)
