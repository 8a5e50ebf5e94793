"""REST on the HTTP listener: its answers, who may change something, what it says of itself."""

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from kasmos_plugin.coordination.operations import OPERATIONS
from kasmos_plugin.serve.openapi import document
from kasmos_plugin.serve.rest_routes import ROUTES, Route
from kasmos_plugin.store import Store, open_store
from tests.conftest import approve
from tests.serve.conftest import MONITOR_PORT, TOKEN, Response, Serving, serving

pytestmark = pytest.mark.anyio

PLAN = "**Goal:** sign in\n\n## Wave 1\n### Task 1: model\n## Wave 2\n### Task 1: form\n"
CHANGES = [route for route in ROUTES if not route.is_read_only]
each_route = pytest.mark.parametrize("route", ROUTES, ids=lambda one: f"{one.method} {one.path}")
each_change = pytest.mark.parametrize("route", CHANGES, ids=lambda one: f"{one.method} {one.path}")


@pytest.fixture
def shop(store: Store, repo: Path) -> Iterator[Store]:
    """A store with the task `auth` of the project `shop`, on the real clock."""
    store.projects.add(repo, "shop")
    with closing(open_store(store.path)) as of_now:
        of_now.tasks.create("shop", "auth", plan_text=PLAN, topic="login")
        yield of_now


@pytest.fixture
async def serve(shop: Store) -> AsyncIterator[Serving]:
    async with serving(shop.path) as running:
        yield running


async def change(serve: Serving, method: str, path: str, body: Any = None, **more: Any) -> Response:
    """Send a change as a script sends it."""
    headers = [("content-type", "application/json"), ("authorization", f"Bearer {TOKEN}")]
    sent = b"" if body is None else json.dumps(body).encode()
    return await serve.http(method, path, body=sent, headers=headers, **more)


def filled(route: Route) -> str:
    return route.path.format(project="shop", task="auth", number=1, agent="a1")


async def test_what_there_is_can_be_read(serve: Serving) -> None:
    projects = await serve.http("GET", "/v1/projects")
    assert projects.json["projects"][0]["project"] == "shop"
    tasks = await serve.http("GET", "/v1/projects/shop/tasks")
    assert [one["task"] for one in tasks.json["tasks"]] == ["auth"]
    task = await serve.http("GET", "/v1/projects/shop/tasks/auth")
    assert (task.json["topic"], "plan" in task.json) == ("login", False)
    plan = await serve.http("GET", "/v1/projects/shop/tasks/auth/plan")
    assert plan.json == {
        "project": "shop",
        "task": "auth",
        "plan": PLAN,
        "plan_hash": task.json["plan_hash"],
    }
    subtasks = await serve.http("GET", "/v1/projects/shop/tasks/auth/subtasks")
    assert [one["title"] for wave in subtasks.json["waves"] for one in wave["tasks"]] == [
        "model",
        "form",
    ]
    events = await serve.http("GET", "/v1/projects/shop/events")
    assert {one["kind"] for one in events.json["events"]} >= {"task_created"}
    approvals = await serve.http("GET", "/v1/projects/shop/approvals")
    assert approvals.json == {"project": "shop", "approvals": []}


async def test_lists_are_filtered_and_come_in_pages(serve: Serving, shop: Store) -> None:
    for number in range(3):
        shop.tasks.create("shop", f"more-{number}", plan_text=PLAN)
    shop.tasks.block("shop", "more-1", "why?")
    page = await serve.http("GET", "/v1/projects/shop/tasks", query="limit=2&offset=1")
    assert (page.json["total"], [one["task"] for one in page.json["tasks"]]) == (
        4,
        ["more-0", "more-1"],
    )
    none = await serve.http("GET", "/v1/projects/shop/tasks", query="statuses=done&statuses=ready")
    assert {one["status"] for one in none.json["tasks"]} <= {"done", "ready"}
    events = await serve.http(
        "GET", "/v1/projects/shop/events", query="kind=task_blocked&task=more-1"
    )
    assert [one["task"] for one in events.json["events"]] == ["more-1"]
    later = await serve.http(
        "GET", "/v1/projects/shop/events", query="since=2999-01-01T00%3A00%3A00Z"
    )
    assert later.json["events"] == []


async def test_names_may_hold_what_an_address_writes_otherwise(serve: Serving, shop: Store) -> None:
    shop.tasks.create("shop", "a b%ü", plan_text=PLAN)
    found = await serve.http("GET", "/v1/projects/shop/tasks/a%20b%25%C3%BC")
    assert found.json["task"] == "a b%ü"
    bad = await serve.http("GET", "/v1/projects/shop/tasks/%ff")
    assert (bad.status, bad.json["error"]["code"]) == (400, "bad_argument")


async def test_a_task_goes_its_whole_way_and_waits_for_a_person(
    serve: Serving, shop: Store
) -> None:
    at = "/v1/projects/shop/tasks/new"
    made = await change(serve, "POST", "/v1/projects/shop/tasks", {"task": "new", "plan": PLAN})
    assert (made.status, made.json["task"]) == (201, "new")
    for event in ("plan_start", "planner_finished"):
        moved = await change(serve, "POST", f"{at}/transitions", {"event": event})
    assert moved.json["status"] == "ready"
    refused = await change(serve, "POST", f"{at}/transitions", {"event": "implement_start"})
    assert (refused.status, refused.json["error"]["code"]) == (409, "approval_required")
    assert "kas task approve 'new' --step implement_start" in refused.json["error"]["next"]
    waits = await serve.http("GET", "/v1/projects/shop/approvals", query="open=true")
    assert [one["step"] for one in waits.json["approvals"]] == ["implement_start"]
    approve(shop, "shop", "new", "implement_start")
    started = await change(serve, "POST", f"{at}/transitions", {"event": "implement_start"})
    assert started.json["phase"] == "wave_running"
    done = await change(serve, "PATCH", f"{at}/subtasks/1", {"status": "done"})
    assert done.json["phase"] == "wave_waiting"
    blocked = await change(serve, "PUT", f"{at}/block", {"reason": "which colour?"})
    assert blocked.json["blocked"] == "which colour?"
    assert "blocked" not in (await change(serve, "DELETE", f"{at}/block")).json
    asked = await change(serve, "POST", f"{at}/approvals", {"step": "merge", "reason": "done"})
    assert (asked.status, asked.json["state"]) == (201, "pending")
    deleted = await change(serve, "DELETE", at)
    assert (deleted.status, deleted.json["error"]["code"]) == (409, "approval_required")


@each_change
async def test_a_change_needs_the_token_and_says_that_it_is_json(
    route: Route, serve: Serving, shop: Store
) -> None:
    before = [event.id for event in shop.events.latest("shop", 100)]
    kind, token = ("content-type", "application/json"), ("authorization", f"Bearer {TOKEN}")
    refusals = [
        ([kind], 401),
        ([kind, ("authorization", f"Basic {TOKEN}")], 401),
        ([kind, ("authorization", f"Bearer {TOKEN}x")], 401),
        ([kind, ("authorization", "Bearer ")], 401),
        ([kind, token, token], 401),
        ([token], 415),
        ([token, ("content-type", "text/plain")], 415),
    ]
    for headers, status in refusals:
        answer = await serve.http(route.method, filled(route), body=b"{}", headers=headers)
        assert answer.status == status, headers
    assert [event.id for event in shop.events.latest("shop", 100)] == before


@each_change
async def test_no_page_changes_anything_not_even_ours(
    route: Route, serve: Serving, shop: Store
) -> None:
    before = [event.id for event in shop.events.latest("shop", 100)]
    for origin in (f"http://127.0.0.1:{MONITOR_PORT}", "null", "https://evil.example"):
        headers = [
            ("content-type", "application/json"),
            ("authorization", f"Bearer {TOKEN}"),
            ("origin", origin),
        ]
        answer = await serve.http(route.method, filled(route), body=b"{}", headers=headers)
        assert answer.status == 403, origin
        asked = await serve.http("OPTIONS", filled(route), headers=[("origin", origin)])
        assert asked.status in (403, 405)
        assert "access-control-allow-origin" not in asked.headers
    assert [event.id for event in shop.events.latest("shop", 100)] == before


async def test_a_server_without_a_token_lets_nobody_change_anything(shop: Store) -> None:
    async with serving(shop.path, token="") as serve:
        headers = [("content-type", "application/json"), ("authorization", "Bearer ")]
        answer = await serve.http("DELETE", "/v1/projects/shop/tasks/auth/block", headers=headers)
        assert answer.status == 401


@each_route
async def test_every_route_is_described_and_other_methods_are_told(
    route: Route, serve: Serving
) -> None:
    assert route.method.lower() in document()["paths"][route.path]
    answer = await serve.http("TRACE", filled(route))
    assert answer.status == 405
    assert route.method in answer.headers["allow"]


@pytest.mark.parametrize(
    ("path", "query"),
    [
        ("/v1/projects/shop/tasks", "limit=x"),
        ("/v1/projects/shop/tasks", "limit=0"),
        ("/v1/projects/shop/tasks", "limit=1&limit=2"),
        ("/v1/projects/shop/tasks", "statuses=none"),
        ("/v1/projects/shop/tasks", "project=other"),
        ("/v1/projects/shop/tasks/auth", "plan=true"),
        ("/v1/projects/shop/events", "since=yesterday"),
        ("/v1/projects/shop/events", "unknown=1"),
        ("/v1/projects/shop/events", "%ff=1"),
        ("/v1/projects/shop/approvals", "open=maybe"),
    ],
)
async def test_a_query_that_cannot_be_used_is_refused(
    path: str, query: str, serve: Serving
) -> None:
    answer = await serve.http("GET", path, query=query)
    assert (answer.status, answer.json["error"]["code"]) == (400, "bad_argument")


@pytest.mark.parametrize(
    "body",
    [
        b"[]",
        b"{",
        b"\xff",
        b'{"reason": 1}',
        b'{"reason": "x", "a": 1}',
        b'{"task": "other", "reason": "x"}',
    ],
)
async def test_a_body_that_cannot_be_used_is_refused(body: bytes, serve: Serving) -> None:
    headers = [("content-type", "application/json"), ("authorization", f"Bearer {TOKEN}")]
    answer = await serve.http(
        "PUT", "/v1/projects/shop/tasks/auth/block", body=body, headers=headers
    )
    assert (answer.status, answer.json["error"]["code"]) == (400, "bad_argument")


async def test_what_is_not_there_is_not_found(serve: Serving) -> None:
    for path in (
        "/v1/nothing",
        "/v1/projects/",
        "/v1/projects//tasks",
        "/v1/projects/none/tasks",
        "/v1/projects/shop/tasks/none",
        "/v1/projects/shop/tasks/auth/",
    ):
        assert (await serve.http("GET", path)).status == 404, path


async def test_without_a_daemon_agents_are_unknown_and_not_none(serve: Serving) -> None:
    answer = await serve.http("GET", "/v1/projects/shop/agents")
    assert (answer.status, answer.json["error"]["code"]) == (503, "daemon_unreachable")
    status = await serve.http("GET", "/v1/daemon")
    assert status.json["is_running"] is False


async def test_a_change_is_in_the_next_snapshot(serve: Serving) -> None:
    before = (await serve.snapshot({"project": "shop"})).json["structuredContent"]
    await change(serve, "PUT", "/v1/projects/shop/tasks/auth/block", {"reason": "why?"})
    after = (await serve.snapshot({"project": "shop"})).json["structuredContent"]
    assert (len(before["attention"]), len(after["attention"])) == (0, 1)


def test_every_operation_has_a_route() -> None:
    routed = {route.operation.name for route in ROUTES}
    assert set(OPERATIONS) - routed == set()
    assert routed - set(OPERATIONS) == {"approval_list"}


def test_the_description_names_each_operation_once() -> None:
    names = [one["operationId"] for path in document()["paths"].values() for one in path.values()]
    assert len(names) == len(set(names)) == len(ROUTES) + 1


async def test_the_description_is_served(serve: Serving) -> None:
    answer = await serve.http("GET", "/v1/openapi.json")
    assert answer.json == json.loads(json.dumps(document()))


def test_the_token_is_for_this_user_alone(tmp_path: Path) -> None:
    from kasmos_plugin.serve.secret import api_token, preview_secret

    token = api_token(tmp_path)
    assert api_token(tmp_path) == token != preview_secret(tmp_path)
    assert (tmp_path / "api-token").stat().st_mode & 0o777 == 0o600
