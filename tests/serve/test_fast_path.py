"""serve.fast_path: the SDK's own result, given again while the answer is fresh."""

import json
from typing import Any

import pytest

from kasmos_plugin.serve.fast_path import FastPath
from kasmos_plugin.store import Store
from tests.serve.conftest import ERAS, MODERN, Serving, agent, daemon_of, rpc_body, serving

pytestmark = pytest.mark.anyio


class Counter:
    """Counts how often the SDK's way through the tool is taken."""

    def __init__(self, serve: Serving) -> None:
        self.calls = 0
        middleware = serve.apps.manager.app.middleware
        assert isinstance(middleware[-1], FastPath)

        async def count(ctx: Any, call_next: Any) -> Any:
            self.calls += ctx.method == "tools/call"
            return await call_next(ctx)

        middleware.append(count)


async def post(serve: Serving, params: dict[str, Any], era: str, number: int = 1) -> bytes:
    body = rpc_body("tools/call", params, era, number)
    answered = await serve.mcp(body, era=era, method="tools/call")
    return answered.body


@pytest.mark.parametrize("era", ERAS)
async def test_a_warm_answer_is_byte_for_byte_the_one_of_the_sdk(
    store: Store, project: str, era: str
) -> None:
    """Differential: the first call takes the whole way, the second the short one."""
    store.tasks.create(project, "auth", plan_text="## Wave 1\n### Task 1: a\n")
    async with serving(store.path, daemon_of(store, agent(1, project, "auth"))) as serve:
        counter = Counter(serve)
        params = {"name": "refresh_monitor", "arguments": {"task": "auth"}}
        whole = await post(serve, params, era)
        short = await post(serve, params, era)
        assert short == whole
        assert json.loads(whole)["result"]["content"]
        assert counter.calls == 1


@pytest.mark.parametrize("era", ["2025-06-18", "2025-11-25", MODERN])
async def test_each_request_has_its_own_number_and_token(
    store: Store, project: str, era: str
) -> None:
    async with serving(store.path) as serve:
        counter = Counter(serve)
        for number in (1, 2, 3):
            params = {
                "name": "refresh_monitor",
                "arguments": {},
                "_meta": {"progressToken": number},
            }
            assert json.loads(await post(serve, params, era, number))["id"] == number
        assert counter.calls == 1


@pytest.mark.parametrize(
    "params",
    [
        {"name": "live_status", "arguments": {}},
        {"name": "open_monitor", "arguments": {}},
        {"name": "refresh_monitor", "arguments": {"cap": 5}},
        {"name": "refresh_monitor", "arguments": {"project": 5}},
        {"name": "refresh_monitor", "arguments": {}, "more": 1},
        {"name": "refresh_monitor", "arguments": {}, "_meta": {"progressToken": True}},
        {"name": "refresh_monitor", "arguments": {}, "_meta": {"progressToken": [1]}},
        {"name": "refresh_monitor", "arguments": []},
        {"name": "refresh_monitor", "arguments": "project"},
    ],
)
async def test_whatever_is_not_a_plain_refresh_takes_the_whole_way(
    store: Store, project: str, params: dict[str, Any]
) -> None:
    """Differential: the same answer with and without a warm cache and a fast path."""
    for era in ("2025-06-18", MODERN):
        async with serving(store.path) as serve:
            serve.apps.manager.app.middleware.pop()
            told = json.loads(await post(serve, params, era))
        async with serving(store.path) as serve:
            counter = Counter(serve)
            await serve.call("refresh_monitor", era=era)
            before = counter.calls
            answered = json.loads(await post(serve, params, era))
            assert forget_time(answered) == forget_time(told)
            assert counter.calls == before + 1


def forget_time(reply: Any) -> Any:
    reply.get("result", {}).get("structuredContent", {}).pop("generated_at", None)
    return reply


async def test_an_answer_that_is_too_old_is_made_anew(store: Store, project: str) -> None:
    async with serving(store.path) as serve:
        counter = Counter(serve)
        await serve.call("refresh_monitor")
        store.tasks.create(project, "auth")
        cached = await serve.call("refresh_monitor")
        assert cached["structuredContent"]["lifecycle"]["total"] == 0
        serve.monotonic.advance(1.0)
        fresh = await serve.call("refresh_monitor")
        assert fresh["structuredContent"]["lifecycle"]["total"] == 1
        assert counter.calls == 2


async def test_what_one_client_gets_cannot_be_changed_by_another(
    store: Store, project: str
) -> None:
    async with serving(store.path) as serve:
        first = await serve.call("refresh_monitor")
        for era in ERAS:
            await serve.call("refresh_monitor", era=era)
        assert await serve.call("refresh_monitor") == first


async def test_errors_are_not_kept(store: Store, project: str) -> None:
    async with serving(store.path) as serve:
        counter = Counter(serve)
        for _ in range(2):
            assert (await serve.call("refresh_monitor", {"project": "x"}))["isError"] is True
        assert counter.calls == 2


async def test_a_result_is_not_kept_for_the_answer_that_replaced_its_own(
    store: Store, project: str
) -> None:
    """The cache may have moved on while the SDK was still writing the older result."""
    async with serving(store.path) as serve:

        async def overtaken(ctx: Any, call_next: Any) -> Any:
            result = await call_next(ctx)
            serve.apps.manager.app.middleware.pop()
            serve.monotonic.advance(1.0)
            store.tasks.create(project, "auth")
            await serve.snapshot()
            return result

        serve.apps.manager.app.middleware.append(overtaken)
        older = await serve.call("refresh_monitor")
        newer = await serve.call("refresh_monitor")
    totals = [found["structuredContent"]["lifecycle"]["total"] for found in (older, newer)]
    assert totals == [0, 1]
