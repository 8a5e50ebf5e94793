"""The monitor changes nothing: every action is a message, and the store is the same afterwards."""

import re
import sqlite3
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from e2e.harness import World

SOON_MS = 15_000


def dump(world: World) -> str:
    path = world.root / "home" / "data" / "kasmos.db"
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    text = "\n".join(connection.iterdump())
    connection.close()
    return text


@pytest.mark.parametrize("host", ["injected", "openai"])
@pytest.mark.parametrize("mode", ["inline", "fullscreen"])
def test_every_action_is_a_chat_request_and_changes_nothing(
    page: Page, served: World, mode: str, host: str
) -> None:
    served.kas("task", "create", "-", "--name", "in-review", stdin="## Wave 1\n### Task 1: x\n")
    served.approve("in-review", "implement_start")
    served.kas("task", "transition", "in-review", "implement_start")
    served.kas("task", "subtask", "in-review", "1", "done")
    calls: list[tuple[str, str]] = []
    page.on("request", lambda request: calls.append((request.method, request.url)))
    before = dump(served)
    asked = []
    for task in ("plan", "in-review"):
        page.goto(f"{served.url}/?project=alpha&task={task}&mode={mode}&host={host}")
        buttons = page.get_by_role("button", name=re.compile("look|start wave|approve review"))
        expect(buttons.first).to_be_visible(timeout=SOON_MS)
        page.wait_for_timeout(500)
        while buttons.count():
            sent = page.locator(".messages li").count()
            asked.append(buttons.first.inner_text().strip())
            buttons.first.click()
            expect(page.locator(".messages li")).to_have_count(sent + 1)
    assert {"look", "start wave 2", "approve review"} <= set(asked), asked
    assert dump(served) == before
    allowed = (
        ("GET", re.compile(rf"^{re.escape(served.url)}/(\?|$)")),
        ("POST", re.compile(rf"^{re.escape(served.url)}/v1/widget-preview/open-monitor$")),
    )
    for method, url in calls:
        assert any(method == verb and pattern.match(url) for verb, pattern in allowed), (
            method,
            url,
        )


def test_a_host_that_refuses_messages_is_shown(page: Page, served: World) -> None:
    page.goto(f"{served.url}/?project=alpha&mode=inline")
    look = page.get_by_role("button", name="look").first
    expect(look).to_be_visible(timeout=SOON_MS)
    page.locator("select[name=messages]").select_option("refused")
    look.click()
    expect(page.get_by_role("button", name=re.compile("refused"))).to_be_visible()
    assert page.locator(".messages li").count() == 0


def test_the_bridge_takes_nothing_but_a_scope(served: World) -> None:
    before = dump(served)
    for path in ("/v1/widget-preview/open-monitor", "/v1/monitor/snapshot"):
        bodies: tuple[object, ...] = ({"event": "cancel"}, {"project": 1}, [], "x", {"cap": 5})
        for body in bodies:
            status, _ = served.post(path, body)
            assert status == 400, (path, body)
    for path in ("/v1/tasks", "/mcp", "/v1/repos", "/anything"):
        status, _ = served.post(path, {"project": "alpha"})
        assert status in (404, 405), path
    assert dump(served) == before


def test_the_store_file_is_private(served: World) -> None:
    data = Path(served.root / "home" / "data")
    assert (data / "kasmos.db").stat().st_mode & 0o077 == 0
    assert data.stat().st_mode & 0o077 == 0
