"""The operations as MCP tools: what is advertised, what is refused, and who sees a change."""

import asyncio
import json
import re
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from kasmos_plugin.contract.approval import Step
from kasmos_plugin.coordination.operations import OPERATIONS, Operation
from kasmos_plugin.store import Store, open_store
from tests.conftest import approve as approve_in
from tests.serve.conftest import Serving, serving
from tests.serve.test_app import Server

pytestmark = pytest.mark.anyio

PLAN = "**Goal:** sign in\n\n## Wave 1\n### Task 1: model\n## Wave 2\n### Task 1: form\n"
each_operation = pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)

READING = {
    "task_list",
    "task_show",
    "agent_list",
    "agent_output",
    "event_list",
    "project_list",
    "daemon_status",
}
WRITING = {
    "approval_request",
    "task_create",
    "task_update_plan",
    "task_transition",
    "subtask_update",
    "review_submit",
    "task_block",
    "task_unblock",
    "agent_pause",
    "agent_resume",
    "agent_stop",
    "task_delete",
}


async def listed(serve: Serving) -> dict[str, Any]:
    reply = await serve.rpc("tools/list")
    return {tool["name"]: tool for tool in reply["result"]["tools"]}


def approve(store: Store, project: str, task: str, step: str) -> None:
    """Approve a step now: the operations go by the real clock."""
    with closing(open_store(store.path)) as of_now:
        approve_in(of_now, project, task, step)


def error_of(result: dict[str, Any]) -> dict[str, str]:
    """Return the error of a refusal; its text says the same, and nothing is structured."""
    assert result["isError"] is True
    assert "structuredContent" not in result
    error: dict[str, str] = result["_meta"]["kasmos/error"]
    (text,) = result["content"]
    assert text["text"] == f"{error['code']}: {error['message']}\nnext: {error['next']}"
    assert error["next"]
    return error


def test_the_table_holds_what_a_coordinator_needs() -> None:
    reading = {name for name, one in OPERATIONS.items() if one.effects.is_read_only}
    assert (reading, set(OPERATIONS) - reading) == (READING, WRITING)


async def test_no_widget_may_call_a_tool_that_is_not_of_the_monitor(store: Store) -> None:
    """Enumerated over what the server lists, so that a tool that is added is covered."""
    async with serving(store.path) as serve:
        tools = await listed(serve)
    for_widgets = {n for n, tool in tools.items() if "app" in tool["_meta"]["ui"]["visibility"]}
    assert for_widgets == {"open_monitor", "live_status", "refresh_monitor"}
    for name in set(tools) - for_widgets:
        assert tools[name]["_meta"] == {"ui": {"visibility": ["model"]}}, name


async def test_every_operation_says_what_it_is(store: Store) -> None:
    async with serving(store.path) as serve:
        tools = await listed(serve)
    for name, operation in OPERATIONS.items():
        tool, effects = tools[name], operation.effects
        assert (tool["title"], tool["description"]) == (operation.title, operation.description)
        assert tool["annotations"] == {
            "title": operation.title,
            "readOnlyHint": effects.is_read_only,
            "destructiveHint": effects.is_destructive,
            "idempotentHint": effects.is_idempotent,
            "openWorldHint": effects.is_open_world,
        }
        Draft202012Validator.check_schema(tool["inputSchema"])
        assert tool["inputSchema"]["additionalProperties"] is False
        assert "$ref" not in json.dumps(tool["inputSchema"])
        for asked, schema in tool["inputSchema"]["properties"].items():
            assert schema["description"], f"{name} {asked}"
            assert schema["type"], f"{name} {asked}"
        assert "force" not in json.dumps(tool["inputSchema"])


def test_effects_are_told_as_they_are() -> None:
    def which(name: str) -> set[str]:
        return {one.name for one in OPERATIONS.values() if getattr(one.effects, name)}

    assert which("is_destructive") == {"task_update_plan", "agent_stop", "task_delete"}
    assert which("is_open_world") == set()
    assert WRITING - which("is_idempotent") == {"task_transition", "task_block"}


@each_operation
async def test_arguments_are_strict(store: Store, project: str, operation: Operation) -> None:
    """An unknown one, one of another type, one that is too long, null, and one that is missing."""
    schema = operation.arguments.schema_of_input()
    good = {name: example(one) for name, one in schema["properties"].items()}
    bad: list[dict[str, Any]] = [good | {"force": True}]
    for name, one in schema["properties"].items():
        wrong: Any = "1" if one["type"] in ("integer", "boolean", "array") else 1
        bad += [good | {name: wrong}, good | {name: None}]
        if "maxLength" in one:
            bad.append(good | {name: "x" * (one["maxLength"] + 1)})
        if "maximum" in one:
            bad.append(good | {name: one["maximum"] + 1})
        if "enum" in one:
            bad.append(good | {name: "nonsense"})
    bad += [
        {key: value for key, value in good.items() if key != name}
        for name in schema.get("required", ())
    ]
    async with serving(store.path) as serve:
        for arguments in bad:
            error = error_of(await serve.call(operation.name, arguments))
            assert error["code"] == "bad_argument", arguments
    assert Draft202012Validator(schema).is_valid(good)


def example(schema: dict[str, Any]) -> Any:
    if "enum" in schema:
        return schema["enum"][0]
    if schema.get("format") == "date-time":
        return "2026-01-02T03:04:05Z"
    kinds: dict[str, Any] = {"string": "x", "integer": 1, "boolean": True, "array": []}
    return kinds[schema["type"]]


@each_operation
async def test_a_project_that_nobody_knows_is_named_with_the_next_step(
    store: Store, project: str, operation: Operation
) -> None:
    schema = operation.arguments.schema_of_input()
    if "project" not in schema["properties"]:
        pytest.skip("it asks for no project")
    given = {name: example(schema["properties"][name]) for name in schema.get("required", ())}
    async with serving(store.path) as serve:
        error = error_of(await serve.call(operation.name, given | {"project": "nope"}))
    assert error["code"] in ("unknown_project", "unknown_task", "daemon_unreachable")
    assert "/" not in error["message"]


async def test_a_gated_step_names_the_command_and_shows_at_the_next_poll(
    store: Store, project: str
) -> None:
    store.tasks.create(project, "auth", plan_text=PLAN)
    step = {"project": project, "task": "auth", "event": "implement_start"}
    async with serving(store.path) as serve:
        before = await serve.call("refresh_monitor", {"project": project})
        assert before["structuredContent"]["attention"] == []
        error = error_of(await serve.call("task_transition", step))
        assert error["code"] == "approval_required"
        assert error["next"] == (
            "a person runs: kas task approve 'auth' --step implement_start --project 'repo'"
        )
        after = await serve.call("refresh_monitor", {"project": project})
        (item,) = after["structuredContent"]["attention"]
        assert (item["kind"], item["detail"]) == ("needs_decision", "approve: start wave 1")
        approve(store, project, "auth", "implement_start")
        done = await serve.call("task_transition", step)
        assert done["structuredContent"]["phase"] == "wave_running"
        shown = await serve.call("refresh_monitor", {"project": project})
        assert shown["structuredContent"]["lifecycle"]["implementing"] == 1
        assert error_of(await serve.call("task_transition", step))["code"] == "illegal_event"


async def test_a_held_store_keeps_a_write_and_no_poll(store: Store, project: str) -> None:
    store.tasks.create(project, "auth", plan_text=PLAN)
    block = {"project": project, "task": "auth", "reason": "which API?"}
    async with serving(store.path) as serve:
        # As another process that writes for long.
        with store.writing():
            writing = asyncio.create_task(serve.call("task_block", block))
            polled = await serve.call("refresh_monitor", {"project": project})
            assert polled["structuredContent"]["attention"] == []
            assert not writing.done()
        assert (await writing)["structuredContent"]["blocked"] == "which API?"


async def test_a_missing_store_is_told_without_its_place(tmp_path: Path) -> None:
    async with serving(tmp_path / "deep" / "kasmos.db") as serve:
        error = error_of(await serve.call("task_list"))
    assert error["code"] == "store_unavailable"
    assert str(tmp_path) not in json.dumps(error)


async def test_tasks_go_from_plan_to_done(store: Store, project: str) -> None:
    """Every writing tool of tasks once, by its arguments of the table."""
    one = {"project": project, "task": "auth"}
    async with serving(store.path) as serve:

        async def call(tool: str, **arguments: Any) -> Any:
            result = await serve.call(tool, one | arguments)
            assert result.get("isError", False) is False, result
            return result["structuredContent"]

        made = await call("task_create", plan="# Later\n", topic="login", branch="kas/auth")
        assert (made["status"], made["topic"], made["branch"]) == ("ready", "login", "kas/auth")
        assert (await call("task_update_plan", plan=PLAN))["phase"] == "planned"
        asked = await call("approval_request", step="implement_start", reason="the plan is whole")
        assert asked["state"] == "pending"
        assert "kas task approve 'auth' --step implement_start" in asked["next"]
        approve(store, project, "auth", "implement_start")
        await call("task_transition", event="implement_start")
        blocked = await call("subtask_update", number=1, status="failed")
        assert blocked["blocked"] == "subtask 1 failed: model"
        assert "blocked" not in await call("task_unblock")
        waiting = await call("subtask_update", number=1, status="done")
        assert waiting["phase"] == "wave_waiting"
        approve(store, project, "auth", "advance_wave")
        await call("task_transition", event="advance_wave")
        assert (await call("subtask_update", number=2, status="done"))["status"] == "reviewing"
        fixing = await call("review_submit", verdict="request_changes", feedback="name it\x1b[31m")
        assert fixing["phase"] == "fixing"
        shown = await call("task_show", plan=True)
        assert (shown["feedback"], shown["plan"]) == ("name it", PLAN)
        assert [wave["tasks"][0]["status"] for wave in shown["waves"]] == ["done", "done"]
        await call("task_transition", event="implement_finished")
        assert (await call("review_submit", verdict="approve"))["status"] == "verifying"
        assert (await call("task_transition", event="verify_approved"))["status"] == "done"
        error = error_of(await serve.call("task_delete", one))
        assert error["code"] == "approval_required"
        approve(store, project, "auth", "task_delete")
        assert (await call("task_delete"))["deleted"] is True
        assert (await serve.call("task_list"))["structuredContent"]["total"] == 0
        kinds = [
            event["kind"]
            for event in (await serve.call("event_list"))["structuredContent"]["events"]
        ]
        assert kinds[:3] == ["task_deleted", "approval_given", "approval_requested"]


@pytest.mark.parametrize(
    ("tool", "arguments", "code"),
    [
        ("task_create", {"plan": ""}, "conflict"),
        ("task_create", {"task": "b", "plan": "## Wave 1\n## Wave 1\n"}, "broken_plan"),
        ("task_show", {"task": "b"}, "unknown_task"),
        ("task_transition", {"event": "advance_wave"}, "illegal_event"),
        ("task_transition", {"event": "implement_start", "feedback": "x"}, "bad_argument"),
        ("task_transition", {"event": "cancel"}, "bad_argument"),
        ("subtask_update", {"number": 9, "status": "done"}, "not_found"),
        ("review_submit", {"verdict": "request_changes"}, "bad_argument"),
        ("review_submit", {"verdict": "approve", "feedback": "x"}, "bad_argument"),
        ("review_submit", {"verdict": "approve"}, "illegal_event"),
        ("task_block", {"reason": " \n"}, "bad_argument"),
        ("task_unblock", {}, "conflict"),
        ("task_delete", {}, "approval_required"),
    ],
)
async def test_refusals_have_a_code(
    store: Store, project: str, tool: str, arguments: dict[str, Any], code: str
) -> None:
    store.tasks.create(project, "auth", plan_text=PLAN)
    before = store.tasks.get(project, "auth").status
    async with serving(store.path) as serve:
        given = {"project": project, "task": "auth"} | arguments
        assert error_of(await serve.call(tool, given))["code"] == code
    assert store.tasks.get(project, "auth").status is before


@pytest.fixture
def server(home: Path) -> Iterator[Server]:
    server = Server(home)
    yield server
    server.process.terminate()
    server.process.communicate(timeout=10)


def call_over_http(server: Server, tool: str, arguments: dict[str, Any]) -> Any:
    params = {"name": tool, "arguments": arguments}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    status, body = server.ask("POST", "/mcp", message, which="mcp")
    assert status == 200
    return json.loads(body)["result"]


def test_of_two_coordinators_one_wins(home: Path, repo: Path, server: Server) -> None:
    """Over real HTTP: one yes, two callers at once, one start."""
    store = open_store(home / "data" / "kasmos.db")
    project = store.projects.add(repo).project
    for round_ in range(5):
        task = f"task-{round_}"
        store.tasks.create(project, task, plan_text=PLAN)
        approve(store, project, task, Step.IMPLEMENT_START)
        step = {"project": project, "task": task, "event": "implement_start"}
        results: list[Any] = []
        at_once = threading.Barrier(2)

        def coordinate(
            step: dict[str, Any], results: list[Any], at_once: threading.Barrier
        ) -> None:
            at_once.wait()
            results.append(call_over_http(server, "task_transition", step))

        threads = [
            threading.Thread(target=coordinate, args=(step, results, at_once)) for _ in range(2)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        lost = [result for result in results if result["isError"]]
        assert len(results) - len(lost) == 1
        assert error_of(lost[0])["code"] == "illegal_event"
        assert re.search("implementing", error_of(lost[0])["message"])
        kinds = [one.kind for one in store.events.latest(project, 100, task=task)]
        assert kinds.count("implement_start") == 1
    store.close()
