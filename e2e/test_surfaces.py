"""One snapshot everywhere: every surface gives equal objects for equal questions."""

import json
import socket
import urllib.request
from collections.abc import Iterator
from importlib.resources import files
from typing import Any
from urllib.parse import urlencode

import jsonschema
import pytest

from e2e.harness import World, until
from kasmos_plugin import paths

MONITOR = {"include": "projects,tasks,events", "focus": "plan"}


def call_tool(world: World, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    body = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": name, "arguments": arguments},
    }
    request = urllib.request.Request(
        world.addresses["mcp"],
        data=json.dumps(body).encode(),
        headers={
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": "2025-06-18",
        },
    )
    with urllib.request.urlopen(request, timeout=10) as answer:
        result: dict[str, Any] = json.loads(answer.read())["result"]
        return result


def ask_daemon(world: World, query: dict[str, str]) -> dict[str, Any]:
    """Ask over the socket with nothing but a socket."""
    path = world.root / "home" / "run" / "daemon.sock"
    assert len(str(path)) <= paths.SOCKET_PATH_LIMIT
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(10)
        connection.connect(str(path))
        target = f"/v1/repos/alpha/live-status?{urlencode(query)}"
        connection.sendall(
            f"GET {target} HTTP/1.1\r\nHost: kasmos\r\nConnection: close\r\n\r\n".encode()
        )
        data = b""
        while chunk := connection.recv(65536):
            data += chunk
    decoded: dict[str, Any] = json.loads(data.partition(b"\r\n\r\n")[2])
    return decoded


def steady(snapshot: dict[str, Any]) -> dict[str, Any]:
    """Return a snapshot without what the passing of time alone changes."""
    kept = {k: v for k, v in snapshot.items() if k not in ("generated_at", "uptime")}
    kept["active_agents"] = [
        {k: v for k, v in agent.items() if k not in ("last_activity", "stage_since")}
        for agent in snapshot["active_agents"]
    ]
    return kept


@pytest.fixture
def busy(served: World) -> Iterator[World]:
    """`served` with one agent that waits for a person and one that crashed."""
    run = ("agent", "run", "--project", "alpha", "--task", "plan", "--detach", "--json", "--")
    waits = json.loads(served.kas(*run, "sleep", "60"))["id"]
    served.kas(*run, "sh", "-c", "exit 3")
    served.kas("agent", "report", "--stage", "ready", "--agent", waits)
    until(lambda: len(served.snapshot(project="alpha")["attention"]) == 2)
    yield served
    served.kas("agent", "stop", waits, check=False)


def test_every_surface_gives_the_same_snapshot(busy: World) -> None:
    cli = ("monitor", "status", "--json", "--project", "alpha")
    include = ("--include", MONITOR["include"], "--focus", MONITOR["focus"])
    scope = {"project": "alpha", "task": "plan"}
    whole = [
        ask_daemon(busy, MONITOR),
        json.loads(busy.kas(*cli, *include)),
        call_tool(
            busy,
            "live_status",
            {"project": "alpha", "include": ["projects", "tasks", "events"], "focus": "plan"},
        )["structuredContent"],
        call_tool(busy, "open_monitor", scope)["structuredContent"],
        call_tool(busy, "refresh_monitor", scope)["structuredContent"],
        busy.snapshot(**scope),
        busy.post("/v1/widget-preview/open-monitor", scope)[1]["structuredContent"],
    ]
    assert [steady(snapshot) for snapshot in whole[1:]] == [steady(whole[0])] * (len(whole) - 1)
    base = [
        ask_daemon(busy, {}),
        json.loads(busy.kas(*cli)),
        call_tool(busy, "live_status", {"project": "alpha"})["structuredContent"],
    ]
    assert [steady(snapshot) for snapshot in base[1:]] == [steady(base[0])] * 2
    assert set(base[0]) >= {"schema_version", "generated_at", "active_agents", "attention"}
    assert "tasks" not in base[0]


def test_every_snapshot_is_valid_by_the_published_schema(busy: World) -> None:
    schema = json.loads((files("kasmos_plugin.contract") / "live_status.schema.json").read_text())
    for snapshot in (ask_daemon(busy, {}), ask_daemon(busy, MONITOR), busy.snapshot()):
        jsonschema.validate(snapshot, schema)


def test_no_path_of_this_machine_leaves(busy: World) -> None:
    scope = {"project": "alpha", "task": "plan"}
    told = json.dumps(
        [
            ask_daemon(busy, MONITOR),
            call_tool(busy, "open_monitor", scope),
            busy.post("/v1/monitor/snapshot", scope),
        ]
    )
    assert str(busy.root) not in told
    assert "/home/" not in told


def test_errors_are_the_same_everywhere(busy: World) -> None:
    told = call_tool(busy, "live_status", {"project": "nope"})
    assert told["isError"] is True
    assert "structuredContent" not in told
    assert told["_meta"]["kasmos/error"]["code"] == "unknown_project"
    status, bridge = busy.post("/v1/monitor/snapshot", {"project": "nope"})
    assert status == 404
    assert bridge["_meta"]["kasmos/error"] == told["_meta"]["kasmos/error"]
    for cap in ("abc", "1e9", ""):
        assert call_tool(busy, "live_status", {"project": "alpha", "cap": cap})["isError"] is True
        asked = ask_daemon(busy, {"cap": cap})
        assert asked["error"]["code"] == "bad_argument"
    assert ask_daemon(busy, {"cap": "-1"})["schema_version"] == 2
