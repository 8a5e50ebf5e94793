"""The monitor in a real host of MCP Apps: what is shown, what is called, and nothing else."""

import re

import pytest
from playwright.sync_api import expect

from e2e.harness import until
from e2e.host.conftest import HostPage
from kasmos_plugin.coordination.operations import OPERATIONS

SCOPE = {"project": "alpha", "task": "plan"}
CALL = """(root, { name, id }) => new Promise((resolve) => {
  window.addEventListener("message", ({ data }) => { if (data?.id === id) resolve(data); });
  const params = { name, arguments: {} };
  window.parent.postMessage({ jsonrpc: "2.0", id, method: "tools/call", params }, "*");
})"""
"""Calls a tool as a view does, past the widget's own code."""


def test_it_shows_the_monitor_and_calls_nothing_but_refresh(host: HostPage) -> None:
    view = host.open(input=SCOPE)
    expect(view.locator(".fresh")).to_have_text("live")
    expect(view.get_by_text("wave 1 of 2")).to_be_visible()
    until(lambda: len(host.servers.called("refresh_monitor")) >= 3, what="polls")
    assert host.servers.called("open_monitor") == [SCOPE]
    assert {name for name, _ in host.servers.calls} == {"open_monitor", "refresh_monitor"}
    assert all(asked == SCOPE for asked in host.servers.called("refresh_monitor"))
    assert host.methods() == {
        "ui/notifications/sandbox-proxy-ready",
        "ui/initialize",
        "ui/notifications/initialized",
        "tools/call",
        "ui/notifications/size-changed",
    }
    assert "connect-src 'none'" in host.servers.policies[0]


def test_it_looks_as_the_host_says_and_changes_with_it(host: HostPage) -> None:
    colours = {"--color-background-primary": "rgb(10, 20, 30)", "--color-text-primary": "#eee"}
    context = {
        "theme": "dark",
        "styles": {"variables": {**colours, "--font-sans": "serif"}},
        "containerDimensions": {"width": 640, "maxHeight": 150},
        "safeAreaInsets": {"top": 4, "right": 8, "bottom": 12, "left": 16},
        "locale": "de-DE",
        "timeZone": "Asia/Tokyo",
    }
    view = host.open(input=SCOPE, context=context)
    expect(view.locator(".fresh")).to_have_text("live")
    root = view.locator("#root")
    expect(root).to_have_css("background-color", "rgb(10, 20, 30)")
    expect(root).to_have_css("font-family", "serif")
    expect(root).to_have_css("padding", "4px 8px 12px 16px")
    expect(root).to_have_css("max-height", "150px")
    expect(view.locator("html")).to_have_css("color-scheme", "dark")
    expect(view.locator(".fresh")).to_have_attribute("title", re.compile(r"^\d\d\.\d\d\.20\d\d, "))
    host.tell("change", {"theme": "light", "styles": {"variables": {}}, "safeAreaInsets": None})
    expect(root).to_have_css("background-color", "rgb(255, 255, 255)")
    expect(root).to_have_css("padding", "0px")
    expect(view.locator("html")).to_have_css("color-scheme", "light")


def test_it_asks_only_for_modes_that_the_host_has(host: HostPage) -> None:
    view = host.open(input=SCOPE, context={"availableDisplayModes": ["inline", "fullscreen"]})
    buttons = view.get_by_role("group", name="show as").get_by_role("button")
    expect(buttons).to_have_count(1)
    buttons.click()
    expect(view.locator("main.mode-fullscreen, main.mode-sidebar")).to_be_visible()
    assert host.wire()["modes"] == ["fullscreen"]
    host.tell("change", {"availableDisplayModes": ["inline", "fullscreen", "pip"]})
    expect(buttons).to_have_count(2)
    host.tell("change", {"displayMode": "pip", "availableDisplayModes": ["pip"]})
    expect(view.locator("main.mode-pip")).to_be_visible()
    expect(buttons).to_have_count(0)


def test_its_buttons_are_messages_and_the_host_s_word_on_them_is_shown(host: HostPage) -> None:
    button = host.open(input=SCOPE).locator(".attention .ask")
    button.click()
    expect(button).to_have_text("asked in the conversation")
    (prompt,) = host.wire()["prompts"]
    assert prompt.startswith('Please look at this blocker in kasmos: task "plan"')


def test_a_host_that_never_answers_is_said(host: HostPage) -> None:
    view = host.open(isSilent=True)
    expect(view.get_by_text("waiting for the host")).to_be_visible()
    expect(view.get_by_text("no host answers here")).to_be_visible(timeout=15_000)
    expect(view.get_by_text("kas monitor open")).to_be_visible()
    assert host.methods() == {"ui/notifications/sandbox-proxy-ready", "ui/initialize"}
    assert host.servers.called("refresh_monitor") == []


def test_a_host_that_denies_leaves_what_was_known_and_says_so(host: HostPage) -> None:
    context = {"availableDisplayModes": ["inline", "fullscreen"]}
    view = host.open(input=SCOPE, isDenying=True, context=context)
    expect(view.locator(".fresh")).to_have_text(re.compile("^stale"))
    expect(view.get_by_text("wave 1 of 2")).to_be_visible()
    button = view.locator(".attention .ask")
    button.click()
    expect(button).to_have_text("refused · try again")
    view.get_by_role("button", name="show as fullscreen").click()
    until(lambda: host.wire()["modes"] == ["fullscreen"], what="the asked mode")
    expect(view.locator("main.mode-inline")).to_be_visible()
    assert host.servers.called("refresh_monitor") == []


def test_calls_that_never_settle_are_told_and_links_are_the_host_s(host: HostPage) -> None:
    view = host.open(input=SCOPE, isHanging=True)
    expect(view.locator(".fresh")).to_have_text("as opened")
    summary = {"filename": "plan", "status": "reviewing", "subtasks_done": 2, "subtasks_total": 3}
    task = {**summary, "pr_url": "https://a.example/pull/1"}
    host.tell("sendResult", {"generated_at": "2099-01-01T00:00:00Z", "tasks": [task]})
    view.get_by_role("link").click()
    until(lambda: host.wire()["links"] == ["https://a.example/pull/1"], what="the opened link")
    expect(view.get_by_text("kas serve did not answer within 8s")).to_be_visible(timeout=15_000)


def test_without_arguments_and_result_it_asks_by_itself(host: HostPage) -> None:
    view = host.open(hasNoInput=True, hasNoResult=True)
    expect(view.locator(".fresh")).to_have_text("live")
    assert host.servers.called("refresh_monitor")[0] == {}


def test_an_old_result_sent_again_replaces_nothing(still: HostPage) -> None:
    host = still
    view = host.open(input=SCOPE)
    expect(view.locator(".fresh")).to_have_text("live")
    old = {"generated_at": "2020-01-01T00:00:00Z", "attention": [], "tasks": []}
    host.tell("sendResult", {})
    host.tell("sendResult", old)
    # No clock moves, so no poll mends it; a later message is the sign that both were read.
    host.tell("change", {"theme": "dark"})
    expect(view.locator("html")).to_have_css("color-scheme", "dark")
    assert view.locator(".attention > li").count() == 1
    expect(view.get_by_text("wave 1 of 2")).to_be_visible()


def test_a_teardown_is_answered_and_ends_everything(still: HostPage) -> None:
    """The first request of the official bridge has the id 0."""
    view = still.open(input=SCOPE)
    expect(view.locator(".fresh")).to_have_text("live")
    assert polls(still, 3_100) == 1
    assert still.tell("teardown") == {}
    assert still.wire()["messages"][-1] == {"jsonrpc": "2.0", "id": 0, "result": {}}
    expect(view.locator("#root > *")).to_have_count(0)
    assert polls(still, 120_000) == 0


def test_a_view_loaded_again_into_its_frame_asks_no_more_than_one(still: HostPage) -> None:
    """The window stays; each instance has other ids, and hears no answer to one before."""
    view = still.open(input=SCOPE)
    expect(view.locator(".fresh")).to_have_text("live")
    for _ in range(2):
        polls(still, 500)
        still.tell("load")
        expect(view.locator(".fresh")).to_have_text("live")
    # One instance asks five times at most; what was there before would ask as well.
    assert polls(still, 15_000) in (4, 5)
    ids = [
        message["id"]
        for message in still.wire()["messages"]
        if "method" in message and "id" in message
    ]
    assert len(set(ids)) == len(ids)


def test_two_views_at_once_have_nothing_to_do_with_each_other(host: HostPage) -> None:
    one = host.open("one", input=SCOPE)
    other = host.open(
        "other", input={"project": "alpha", "task": "bare"}, context={"theme": "dark"}
    )
    expect(one.locator("select.task")).to_have_value("plan")
    expect(other.locator("select.task")).to_have_value("bare")
    host.tell("change", {"theme": "light", "displayMode": "pip"}, name="other")
    expect(other.locator("main.mode-pip")).to_be_visible()
    expect(one.locator("main.mode-inline")).to_be_visible()
    host.tell("teardown", name="other")
    expect(other.locator("#root > *")).to_have_count(0)
    seen = len(host.servers.called("refresh_monitor"))
    until(lambda: len(host.servers.called("refresh_monitor")) > seen, what="a poll of the other")
    assert host.servers.called("refresh_monitor")[-1] == SCOPE
    expect(one.locator(".fresh")).to_have_text("live")


@pytest.fixture
def still(host: HostPage) -> HostPage:
    """A host whose page, frames included, has a clock that only `polls` moves."""
    host.page.clock.install(time="2030-01-01T00:00:00Z")
    host.page.clock.pause_at("2030-01-01T00:00:01Z")
    host.page.goto(host.servers.url)
    return host


def polls(host: HostPage, ms: int) -> int:
    """Move the clock by `ms`, in steps, and return how many requests came of it."""
    before = calls(host)
    for _ in range(0, ms, 500):
        host.page.clock.run_for(500)
        until(lambda: host.servers.answered == len(host.servers.calls), what="answers")
        host.page.evaluate("() => new Promise(done => { queueMicrotask(done); })")
    return calls(host) - before


def calls(host: HostPage) -> int:
    """Return how many tool calls the view has sent."""
    sent = host.wire()["messages"]
    return sum(message.get("method") == "tools/call" for message in sent)


def test_a_view_can_call_no_tool_but_the_monitor_s(host: HostPage) -> None:
    """Every tool that serve lists, called by the view itself; the host passes on what it may."""
    view = host.open(input=SCOPE)
    expect(view.locator(".fresh")).to_have_text("live")
    for_views = {"open_monitor", "live_status", "refresh_monitor"}
    root = view.locator("html")
    answers = {
        name: root.evaluate(CALL, {"name": name, "id": f"test-{name}"})
        for name in [*for_views, *OPERATIONS]
    }
    assert {name for name, answer in answers.items() if "result" in answer} == for_views
    for name in OPERATIONS:
        assert answers[name]["error"]["message"].endswith(f"{name} is for the model alone")
    assert {name for name, _ in host.servers.calls} == for_views
