"""What the desktop app gets: the plugin in its catalogue, the tools, the widget, its refreshes."""

import json
import urllib.request
from collections.abc import Callable, Iterator
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import jsonschema
import pytest

from e2e.codex.client import AppServer, Codex, Refused
from e2e.codex.conftest import PLUGIN, install
from e2e.harness import World
from e2e.test_surfaces import steady
from kasmos_plugin import __version__
from kasmos_plugin.serve import tools
from kasmos_plugin.widget.document import widget_hash, widget_html

PICTURES = ("composerIcon", "logo", "logoDark")


@pytest.fixture
def app(watching: Codex) -> Iterator[AppServer]:
    """An app server of a Codex that has the plugin."""
    with watching.app_server() as app:
        yield app


def ask_serve(world: World, method: str) -> Any:
    """Return what serve answers to a request of MCP without params."""
    request = urllib.request.Request(
        world.addresses["mcp"],
        data=json.dumps({"jsonrpc": "2.0", "id": 1, "method": method}).encode(),
        headers={
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": "2025-06-18",
        },
    )
    with urllib.request.urlopen(request, timeout=10) as answer:
        return json.loads(answer.read())["result"]


def status(app: AppServer, **params: str) -> dict[str, Any]:
    """Return what Codex knows of our server, the only one."""
    (server,) = app.request("mcpServerStatus/list", params)["data"]
    known: dict[str, Any] = server
    return known


def stop_serve(world: World) -> Callable[[], None]:
    """End the world's serve; return what starts it again at the same addresses."""
    mcp_port = urlsplit(world.addresses["mcp"]).port
    assert mcp_port
    world.end(world.serve)
    return partial(world.start_serve, port=world.port, mcp_port=mcp_port)


def listed_plugin(app: AppServer) -> dict[str, Any]:
    (market,) = app.request("plugin/list", {})["marketplaces"]
    (plugin,) = market["plugins"]
    listed: dict[str, Any] = plugin
    return listed


def test_the_catalogue_shows_the_plugin_as_the_manifest_describes_it(app: AppServer) -> None:
    manifest = json.loads((PLUGIN / ".codex-plugin" / "plugin.json").read_text(encoding="utf-8"))
    told = dict(manifest["interface"])
    if "websiteURL" in told:
        told["websiteUrl"] = told.pop("websiteURL")
    pictures = {name: told.pop(name) for name in PICTURES if name in told}
    screenshots = told.pop("screenshots", [])

    plugin = listed_plugin(app)
    assert (plugin["id"], plugin["localVersion"]) == ("kasmos@kasmos", __version__)
    assert (plugin["installed"], plugin["enabled"], plugin["availability"]) == (
        True,
        True,
        "AVAILABLE",
    )
    assert plugin["keywords"] == manifest["keywords"]
    seen = plugin["interface"]
    assert {name: seen[name] for name in told} == told
    assert {name: Path(seen[name]).read_bytes() for name in PICTURES if seen[name]} == {
        name: (PLUGIN / path).read_bytes() for name, path in pictures.items()
    }
    assert [Path(path).read_bytes() for path in seen["screenshots"]] == [
        (PLUGIN / path).read_bytes() for path in screenshots
    ]


def test_both_skills_are_offered(app: AppServer, watching: Codex) -> None:
    (folder,) = app.request("skills/list", {"cwds": [str(watching.work)]})["data"]
    assert folder["errors"] == []
    ours = [skill for skill in folder["skills"] if skill["pluginId"] == "kasmos@kasmos"]
    assert sorted(skill["name"] for skill in ours) == [
        "kasmos:coordinate-kasmos",
        "kasmos:monitor-kasmos-task",
    ]
    assert all(skill["enabled"] for skill in ours)


def test_tools_arrive_as_serve_advertises_them(app: AppServer, calm: World) -> None:
    advertised = ask_serve(calm, "tools/list")["tools"]
    for tool in advertised:
        tool["description"] += " This tool is part of plugin `kasmos`."
    server = status(app)
    assert (server["name"], server["pluginId"], server["toolsError"]) == (
        "kasmos",
        "kasmos@kasmos",
        None,
    )
    assert server["serverInfo"]["version"] == __version__
    assert server["serverCapabilities"]["extensions"] == {"io.modelcontextprotocol/ui": {}}
    assert server["tools"] == {tool["name"]: tool for tool in advertised}
    assert server["tools"]["refresh_monitor"]["_meta"]["ui"]["visibility"] == ["app"]


def test_the_widget_is_read_byte_for_byte(app: AppServer) -> None:
    uri = status(app)["tools"]["open_monitor"]["_meta"]["ui"]["resourceUri"]
    assert uri == f"{tools.WIDGET_URI}.{widget_hash()}.html"
    read = app.request("mcpServer/resource/read", {"server": "kasmos", "uri": uri})
    assert read["contents"] == [
        {
            "uri": uri,
            "mimeType": "text/html;profile=mcp-app",
            "text": widget_html(),
            "_meta": tools.WIDGET_META,
        }
    ]


def test_a_refresh_gives_what_the_bridge_gives(app: AppServer, calm: World) -> None:
    scope = {"project": "alpha", "task": "plan"}
    result = app.call_tool(app.start_thread(), "kasmos", "refresh_monitor", scope)
    assert result["isError"] is False
    snapshot = result["structuredContent"]
    schema = json.loads((files("kasmos_plugin.contract") / "live_status.schema.json").read_text())
    jsonschema.validate(snapshot, schema)
    assert steady(snapshot) == steady(calm.snapshot(**scope))


def test_a_thread_outlives_a_restart_of_serve(codex: Codex, served: World) -> None:
    install(codex, served.addresses["mcp"])
    with codex.app_server() as app:
        thread = app.start_thread()
        before = app.call_tool(thread, "kasmos", "refresh_monitor")
        restart = stop_serve(served)
        with pytest.raises(Refused, match="error sending request for url"):
            app.call_tool(thread, "kasmos", "refresh_monitor")
        restart()
        after = app.call_tool(thread, "kasmos", "refresh_monitor")
    assert steady(after["structuredContent"]) == steady(before["structuredContent"])


def test_a_thread_begun_without_serve_stays_without_it(codex: Codex, served: World) -> None:
    install(codex, served.addresses["mcp"])
    restart = stop_serve(served)
    with codex.app_server() as app:
        thread = app.start_thread()
        failed = app.notified(
            "mcpServer/startupStatus/updated", threadId=thread, name="kasmos", status="failed"
        )
        assert failed["error"].startswith("MCP client for `kasmos` failed to start")
        assert status(app, threadId=thread)["tools"] == {}
        restart()
        with pytest.raises(Refused, match="failed to get client: MCP startup failed"):
            app.call_tool(thread, "kasmos", "refresh_monitor")
        # What the documentation says to do.
        assert app.call_tool(app.start_thread(), "kasmos", "refresh_monitor")["isError"] is False
        # What an editor's button for it does.
        app.request("config/mcpServer/reload")
        assert app.call_tool(thread, "kasmos", "refresh_monitor")["isError"] is False
