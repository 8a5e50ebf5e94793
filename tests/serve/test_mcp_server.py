"""serve.mcp_server: the tools of the monitor and one widget, in both protocol eras."""

import hashlib
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from kasmos_plugin.contract.live_status import LiveStatus
from kasmos_plugin.contract.task import LifecycleEvent
from kasmos_plugin.coordination.operations import OPERATIONS
from kasmos_plugin.serve import tools
from kasmos_plugin.store import Store
from kasmos_plugin.widget.document import widget_hash, widget_html
from tests.conftest import approved_move, git
from tests.serve.conftest import ERAS, MCP_PORT, MODERN, agent, daemon_of, request, serving

pytestmark = pytest.mark.anyio

PLAN = "# Sign in\nPeople can sign in.\n\n## Wave 1: base\n### Task 1: model\n### Task 2: form\n"
MONITOR = ("live_status", "open_monitor", "refresh_monitor")
HASHED_URI = f"ui://widget/kasmos-monitor.{widget_hash()}.html"
READ_ONLY = {
    "readOnlyHint": True,
    "destructiveHint": False,
    "idempotentHint": True,
    "openWorldHint": False,
}


async def listed(serve: Any, era: str = "2025-06-18") -> dict[str, Any]:
    reply = await serve.rpc("tools/list", era=era)
    return {tool["name"]: tool for tool in reply["result"]["tools"]}


@pytest.mark.parametrize("era", ERAS)
async def test_every_era_lists_the_tools_and_answers_them(
    store: Store, project: str, era: str
) -> None:
    store.tasks.create(project, "auth", plan_text=PLAN)
    async with serving(store.path, daemon_of(store, agent(1, project, "auth"))) as serve:
        assert sorted(await listed(serve, era)) == sorted([*MONITOR, *OPERATIONS])
        for tool in MONITOR:
            for _ in range(2):
                result = await serve.call(tool, era=era)
                assert result.get("isError", False) is False
                assert "agent-0001" in result["content"][0]["text"]
                LiveStatus.model_validate(result["structuredContent"])


@pytest.mark.parametrize("era", ERAS[:-1])
async def test_the_handshake_advertises_the_widget_and_says_when_to_call(
    store: Store, era: str
) -> None:
    params = {
        "protocolVersion": era,
        "capabilities": {"elicitation": {"form": {}, "url": {}}},
        "clientInfo": {"name": "codex-mcp-client", "version": "0.171.0"},
    }
    async with serving(store.path) as serve:
        result = (await serve.rpc("initialize", params, era=era))["result"]
    assert result["protocolVersion"] == era
    assert result["capabilities"]["extensions"] == {"io.modelcontextprotocol/ui": {}}
    assert result["serverInfo"]["name"] == "kasmos"
    first = result["instructions"].splitlines()[0]
    assert len(first) <= 250
    assert first.startswith("Call open_monitor when")


async def test_the_modern_era_discovers_the_same(store: Store) -> None:
    async with serving(store.path) as serve:
        result = (await serve.rpc("server/discover", era=MODERN))["result"]
    assert result["capabilities"]["extensions"] == {"io.modelcontextprotocol/ui": {}}
    assert result["instructions"] == tools.INSTRUCTIONS


async def test_the_tools_of_the_monitor_only_read_and_say_so(store: Store) -> None:
    """Enumerated: a tool that is added, and is no operation, is covered."""
    async with serving(store.path) as serve:
        for name, tool in (await listed(serve)).items():
            if name in OPERATIONS:
                continue
            assert tool["annotations"] == {"title": tool["title"], **READ_ONLY}, name
            assert tool["description"]
            assert tool["inputSchema"]["additionalProperties"] is False
            assert tool["_meta"]["ui"]["visibility"]
            Draft202012Validator.check_schema(tool["inputSchema"])
            Draft202012Validator.check_schema(tool["outputSchema"])


async def test_only_open_monitor_carries_a_template(store: Store) -> None:
    async with serving(store.path) as serve:
        found = {name: tool["_meta"] for name, tool in (await listed(serve)).items()}
    of_operations = [found.pop(name) for name in OPERATIONS]
    assert of_operations == [{"ui": {"visibility": ["model"]}}] * len(OPERATIONS)
    assert found == {
        "open_monitor": {
            "ui": {"resourceUri": HASHED_URI, "visibility": ["model", "app"]},
            "ui/resourceUri": HASHED_URI,
            "openai/outputTemplate": HASHED_URI,
            "openai/toolInvocation/invoking": "Reading the agents' state",
            "openai/toolInvocation/invoked": "Read the agents' state",
            "openai/ui": {
                "entrypoints": [{"type": "global"}, {"type": "thread"}],
                "preferredModelDisplayMode": "inline",
            },
        },
        "live_status": {"ui": {"visibility": ["model", "app"]}},
        "refresh_monitor": {"ui": {"visibility": ["app"]}, "openai/widgetAccessible": True},
    }


@pytest.mark.parametrize("era", ERAS)
async def test_the_widget_is_advertised_by_its_hash_and_read_by_any_of_its_names(
    store: Store, era: str
) -> None:
    async with serving(store.path) as serve:
        resources = (await serve.rpc("resources/list", era=era))["result"]["resources"]
        assert [(found["uri"], found["mimeType"]) for found in resources] == [
            (HASHED_URI, "text/html;profile=mcp-app")
        ]
        older = "ui://widget/kasmos-monitor.0123456789abcdef.html"
        for uri in (HASHED_URI, f"{tools.WIDGET_URI}.html", older):
            reply = await serve.rpc("resources/read", {"uri": uri}, era=era)
            assert reply["result"]["contents"] == [
                {
                    "uri": uri,
                    "mimeType": "text/html;profile=mcp-app",
                    "text": widget_html(),
                    "_meta": {
                        "ui": {
                            "csp": {
                                "connectDomains": [],
                                "resourceDomains": [],
                                "frameDomains": [],
                                "baseUriDomains": [],
                            },
                            "prefersBorder": True,
                        },
                        "openai/widgetCSP": {
                            "connect_domains": [],
                            "resource_domains": [],
                            "frame_domains": [],
                        },
                        "openai/widgetPrefersBorder": True,
                        "openai/widgetDescription": tools.WIDGET_META["openai/widgetDescription"],
                        "openai/ui": {
                            "availableDisplayModes": ["inline", "fullscreen", "pip"],
                            "preferredDisplayMode": "inline",
                        },
                    },
                }
            ]
        for uri in ("ui://widget/other.html", "file:///etc/passwd"):
            assert "error" in await serve.rpc("resources/read", {"uri": uri}, era=era)


@pytest.mark.parametrize(
    "arguments",
    [
        {"cap": "abc"},
        {"cap": 1.5},
        {"cap": 1e9},
        {"cap": "1e9"},
        {"cap": True},
        {"cap": None},
        {"cap": float("nan")},
        {"cap": []},
        {"include": "tasks"},
        {"include": ["plans"]},
        {"include": [1]},
        {"include": None},
        {"project": None},
        {"project": 5},
        {"focus": ["a"]},
        {"task": "a"},
        {"projekt": "a"},
        {"focus": "a" * 501},
    ],
)
async def test_arguments_that_cannot_be_meant_are_an_error(
    store: Store, project: str, arguments: dict[str, Any]
) -> None:
    async with serving(store.path) as serve:
        for era in ("2025-06-18", MODERN):
            result = await serve.call("live_status", arguments, era=era)
            assert result["isError"] is True
            assert result["_meta"]["kasmos/error"]["code"] == "bad_argument"
            assert result["content"][0]["text"] == result["_meta"]["kasmos/error"]["message"]
            assert "structuredContent" not in result


@pytest.mark.parametrize(
    ("cap", "meant"), [(-1, 20), (0, 20), ("7", 7), (10**15, 100), ("-3", 20), (1, 1)]
)
async def test_a_cap_that_is_an_integer_is_brought_into_its_limits(
    store: Store, project: str, cap: object, meant: int
) -> None:
    for number in range(101):
        store.tasks.create(project, f"t{number:03}")
    async with serving(store.path) as serve:
        result = await serve.call("live_status", {"cap": cap, "include": ["tasks"]})
    assert len(result["structuredContent"]["tasks"]) == meant


@pytest.mark.parametrize("tool", ["open_monitor", "refresh_monitor"])
@pytest.mark.parametrize("arguments", [{"cap": 5}, {"focus": "a"}, {"project": 1}, {"task": None}])
async def test_the_monitor_takes_project_and_task_alone(
    store: Store, project: str, tool: str, arguments: dict[str, Any]
) -> None:
    async with serving(store.path) as serve:
        result = await serve.call(tool, arguments)
    assert result["_meta"]["kasmos/error"]["code"] == "bad_argument"


async def test_live_status_carries_what_was_asked_for(store: Store, project: str) -> None:
    store.tasks.create(project, "auth", plan_text=PLAN)
    async with serving(store.path, daemon_of(store)) as serve:
        base = (await serve.call("live_status"))["structuredContent"]
        assert not {"projects", "tasks", "events", "focus"} & set(base)
        more = await serve.call(
            "live_status", {"include": ["projects", "events"], "focus": " auth.md "}
        )
        found = more["structuredContent"]
        assert {"projects", "events", "focus"} <= set(found)
        assert "tasks" not in found
        assert [wave["title"] for wave in found["focus"]["waves"]] == ["base"]


async def test_several_projects_are_named_for_the_widget_to_choose(
    store: Store, project: str, tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    git(tmp_path / "other", "init", "-q")
    store.projects.add(tmp_path / "other")
    async with serving(store.path) as serve:
        for tool in ("live_status", "open_monitor", "refresh_monitor"):
            result = await serve.call(tool)
            message = f"Several projects are known, choose one: 'other', '{project}'."
            assert result == {
                "content": [{"type": "text", "text": message}],
                "isError": True,
                "_meta": {
                    "kasmos/error": {"code": "project_required", "message": message},
                    "kasmos/projects": ["other", project],
                },
            }
            assert (await serve.call(tool, {"project": "other"}))["isError"] is False


async def test_the_text_is_complete_and_claims_nothing(store: Store, project: str) -> None:
    """D14: a model that sees only the text knows as much, and is not told that it was drawn."""
    for number in range(20):
        store.tasks.create(project, f"feature-number-{number:02}", plan_text=PLAN)
        approved_move(store, project, f"feature-number-{number:02}", LifecycleEvent.IMPLEMENT_START)
    store.tasks.block(project, "feature-number-03", "which index?")
    agents = [agent(number, project, f"feature-number-{number:02}") for number in range(20)]
    async with serving(store.path, daemon_of(store, *agents)) as serve:
        result = await serve.call("open_monitor", {"task": "feature-number-03"})
    text = result["content"][0]["text"]
    status = LiveStatus.model_validate(result["structuredContent"])
    assert len(status.active_agents) == 20
    for found in status.active_agents:
        assert found.id in text
    for task in status.tasks or ():
        assert task.filename in text
    assert "which index?" in text
    assert text.endswith(
        "monitor in a browser: http://127.0.0.1:7001/?project=repo&task=feature-number-03"
    )
    assert len(text.encode()) < 8_000
    for claim in ("rendered", "shown", "displayed", "opened", "drawn", "see the widget"):
        assert claim not in text.lower()


async def test_refreshing_has_no_link_and_the_same_facts(store: Store, project: str) -> None:
    async with serving(store.path, daemon_of(store, agent(1, project))) as serve:
        opened = await serve.call("open_monitor")
        refreshed = await serve.call("refresh_monitor")
    assert opened["structuredContent"] == refreshed["structuredContent"]
    linked = "\nmonitor in a browser: http://127.0.0.1:7001/?project=repo"
    assert opened["content"][0]["text"] == refreshed["content"][0]["text"] + linked


async def test_a_result_matches_its_advertised_schema(store: Store, project: str) -> None:
    store.tasks.create(project, "auth", plan_text=PLAN)
    async with serving(store.path, daemon_of(store, agent(1, project, "auth"))) as serve:
        schemas = await listed(serve)
        for name in MONITOR:
            arguments = {"focus": "auth"} if name == "live_status" else {"task": "auth"}
            result = await serve.call(name, arguments)
            Draft202012Validator(schemas[name]["outputSchema"]).validate(
                result["structuredContent"]
            )


def test_the_shallow_schema_knows_every_key_of_the_snapshot() -> None:
    deep = LiveStatus.model_json_schema(mode="serialization")
    assert list(tools.OUTPUT["properties"]) == list(LiveStatus.model_fields)
    for name, shape in tools.OUTPUT["properties"].items():
        told = deep["properties"][name]
        kinds = {option.get("type", "object") for option in told.get("anyOf", [told])}
        assert shape["type"] in kinds, name


async def test_nothing_that_is_called_changes_the_store(store: Store, project: str) -> None:
    """Read-only, proved over every tool that says so, and every resource and route."""
    store.tasks.create(project, "auth", plan_text=PLAN)
    store.close()
    async with serving(store.path, daemon_of(store, agent(1, project))) as serve:
        before = dump(store.path)
        for era in ERAS:
            for name, tool in (await listed(serve, era)).items():
                if not tool["annotations"]["readOnlyHint"]:
                    continue
                for arguments in ({}, {"project": project}, {"project": "x"}, {"bad": 1}):
                    await serve.call(name, arguments, era=era)
            await serve.rpc("resources/read", {"uri": HASHED_URI}, era=era)
        for path in ("/", "/healthz", "/v1/monitor/snapshot", "/v1/widget-preview/open-monitor"):
            for method in ("GET", "POST", "OPTIONS", "DELETE", "PUT"):
                await serve.http(method, path, body=b"{}")
        assert dump(store.path) == before


def dump(path: Path) -> str:
    connection = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)
    try:
        return "\n".join(connection.iterdump())
    finally:
        connection.close()


async def test_the_probes_of_codex_get_an_error_in_json_at_once(store: Store) -> None:
    """`codex mcp list` sends these before anything else; HTML or silence would cost its second."""
    probes = ["/mcp"] + [
        f"/.well-known/{name}{suffix}"
        for name in (
            "oauth-protected-resource",
            "oauth-authorization-server",
            "openid-configuration",
        )
        for suffix in ("", "/mcp")
    ]
    probes.append("/mcp/.well-known/oauth-authorization-server")
    async with serving(store.path) as serve:
        for path in probes:
            headers = [("accept", "text/event-stream"), ("mcp-protocol-version", "2025-06-18")]
            answered = await request(serve.apps.mcp, "GET", path, port=MCP_PORT, headers=headers)
            assert 400 <= answered.status < 500
            assert answered.headers["content-type"] == "application/json"
            assert "error" in answered.json


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "OPTIONS", "HEAD"])
@pytest.mark.parametrize("era", ["2025-06-18", MODERN])
async def test_mcp_takes_post_alone(store: Store, method: str, era: str) -> None:
    headers = [("accept", "text/event-stream"), ("mcp-protocol-version", era)]
    async with serving(store.path) as serve:
        refused = await request(serve.apps.mcp, method, "/mcp", port=MCP_PORT, headers=headers)
        assert (refused.status, refused.headers["allow"]) == (405, "POST")


async def test_there_is_no_session_to_lose(store: Store, project: str) -> None:
    """D5: a client goes on after a restart, whatever session it thinks it has."""
    async with serving(store.path) as serve:
        body = json.dumps(
            {
                "jsonrpc": "2.0",
                "id": 7,
                "method": "tools/call",
                "params": {"name": "open_monitor", "arguments": {}},
            }
        ).encode()
        answered = await serve.mcp(
            body, era="2025-06-18", method="tools/call", headers=[("mcp-session-id", "gone")]
        )
        assert (answered.status, answered.json["id"]) == (200, 7)
        assert "mcp-session-id" not in answered.headers


async def test_the_guard_stands_before_mcp_as_well(store: Store) -> None:
    """D1, D2: never for `null`, not even with the secret."""
    async with serving(store.path) as serve:
        for host, headers, status in (
            ("evil.example", [], 421),
            ("localhost", [], 200),
            ("", [("origin", "null"), ("x-kasmos-preview", "s" * 43)], 403),
            ("", [("origin", "http://evil.example")], 403),
            ("", [("origin", f"http://localhost:{MCP_PORT}")], 200),
        ):
            answered = await request(
                serve.apps.mcp, "GET", "/healthz", port=MCP_PORT, host=host, headers=headers
            )
            assert answered.status == status
        deep = await serve.mcp(b"[" * 60_000, era="2025-06-18", method="x")
        assert deep.status == 400
        large = await serve.mcp(b" " * 70_000, era="2025-06-18", method="x")
        assert large.status == 413


async def test_an_unknown_tool_is_an_error(store: Store) -> None:
    async with serving(store.path) as serve:
        for era in ERAS:
            params = {"name": "start_agent", "arguments": {}}
            reply = await serve.rpc("tools/call", params, era=era)
            assert "error" in reply or reply["result"]["isError"] is True


def test_the_hash_is_that_of_the_document() -> None:
    assert widget_hash() == hashlib.sha256(widget_html().encode()).hexdigest()[:16]
