"""What a person with another screen, another size of text or only a keyboard meets."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]  # no stubs
from playwright.sync_api import Browser, Page, Route

from e2e.harness import World

FIXTURES = Path(__file__).parent.parent / "web" / "src" / "contract" / "fixtures"
MODES = ("pip", "inline", "fullscreen", "sidebar")
SNAPSHOTS = ("agents_20", "attention", "hostile", "no_daemon", "nothing", "projects", "reviewing")
FAILURES = {
    "store error": {"code": "store_busy", "message": "The store is busy."},
    "choose a project": {"code": "project_required", "message": "Several projects are known."},
}
RULES = {"resultTypes": ["violations"], "rules": {"target-size": {"enabled": True}}}
OVERFLOW = """() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() =>
  done(Math.max(...[document.getElementById('root'), document.documentElement]
    .map(each => each.scrollWidth - each.clientWidth))))))"""
FOCUSED_ROW = """() => [...document.querySelectorAll('.attention > li')]
  .findIndex(each => each.matches(':focus-within'))"""


class Answers:
    """Answers each request of a page with what was put here last."""

    def __init__(self) -> None:
        self.body: object = {}

    def put(self, snapshot: object) -> None:
        self.body = {"structuredContent": snapshot}

    def fail(self, error: dict[str, str]) -> None:
        names = ["alpha", "beta"] if error["code"] == "project_required" else []
        self.body = {"isError": True, "_meta": {"kasmos/error": error, "kasmos/projects": names}}

    def __call__(self, route: Route) -> None:
        route.fulfill(content_type="application/json", body=json.dumps(self.body))


@pytest.fixture(scope="module")
def shown(browser: Browser) -> Iterator[tuple[Page, Answers]]:
    """One page for every look, and its answers."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    answers = Answers()
    page.route("**/v1/widget-preview/open-monitor", answers)
    yield page, answers
    page.close()


def fixture(name: str) -> Any:
    return json.loads((FIXTURES / f"{name}.json").read_text())


def look(page: Page, url: str) -> None:
    page.goto(url)
    page.wait_for_selector("main:not(.is-loading)")


def violations(page: Page) -> list[tuple[str, str]]:
    found = Axe().run(page, options=RULES).response["violations"]
    return [(rule["id"], node["html"][:200]) for rule in found for node in rule["nodes"]]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("mode", MODES)
def test_axe_finds_nothing(shown: tuple[Page, Answers], calm: World, mode: str, theme: str) -> None:
    page, answers = shown
    found = {}
    for name in (*SNAPSHOTS, *FAILURES):
        if name in FAILURES:
            answers.fail(FAILURES[name])
        else:
            answers.put(fixture(name))
        look(page, f"{calm.url}/?mode={mode}&theme={theme}")
        for button in page.get_by_role("button", name="look:").all()[:1]:
            button.click()
            page.wait_for_selector(".ask.is-sent")
        found[name] = violations(page)
    assert found == {name: [] for name in found}


@pytest.mark.parametrize("colors", ["none", "active"])
@pytest.mark.parametrize("mode", MODES)
def test_text_of_twice_the_size_never_scrolls_sideways(
    shown: tuple[Page, Answers], calm: World, mode: str, colors: Any
) -> None:
    page, answers = shown
    page.emulate_media(forced_colors=colors)
    for name in ("attention", "hostile", "no_daemon", "projects"):
        answers.put(fixture(name))
        look(page, f"{calm.url}/?mode={mode}")
        page.evaluate("() => { document.documentElement.style.fontSize = '200%'; }")
        overflow = {}
        for width in (320, 420, 640, 960, 1280):
            page.set_viewport_size({"width": width, "height": 900})
            overflow[width] = page.evaluate(OVERFLOW)
        assert max(overflow.values()) <= 1, (name, overflow)
    page.emulate_media(forced_colors="none")


def test_the_focus_stays_while_rows_come_and_go(page: Page, calm: World) -> None:
    """Fifty updates around the focused row; then the row itself goes, and its neighbour has it."""
    answers = Answers()
    everything = fixture("attention")
    items = everything["attention"]
    kept = items[5]
    answers.put(everything)
    page.clock.install(time="2030-01-01T00:00:00Z")
    page.clock.pause_at("2030-01-01T00:00:01Z")
    page.route("**/v1/widget-preview/open-monitor", answers)
    look(page, f"{calm.url}/?mode=fullscreen")
    page.locator(".attention > li").nth(5).get_by_role("button").focus()
    page.evaluate("() => { window.held = document.activeElement; }")
    for update in range(50):
        shown = [item for n, item in enumerate(items) if item is kept or (n + update) % 3]
        advance(page, answers, everything | {"attention": shown})
        assert page.locator(".attention > li").count() == len(shown)
        assert page.evaluate("() => document.activeElement === window.held"), update
    last = [item for item in items if item is not kept]
    advance(page, answers, everything | {"attention": last})
    assert page.evaluate("() => document.activeElement.className").startswith("ask")
    assert 0 <= page.evaluate(FOCUSED_ROW) <= 5


def advance(page: Page, answers: Answers, snapshot: object) -> None:
    """Let the page poll once more and show `snapshot`."""
    answers.put(snapshot)
    with page.expect_response("**/v1/widget-preview/open-monitor") as answered:
        page.clock.run_for(2_100)
    answered.value.finished()
    rows = len(snapshot["attention"])  # type: ignore[index]  # a snapshot of ours
    page.wait_for_function(f"() => document.querySelectorAll('.attention > li').length === {rows}")
