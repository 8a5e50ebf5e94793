"""A monitor that is left open for a working day: eight hours of polls at 2 s, on a fake clock.

The built bundle runs against an injected host that answers inside the page (`whole_day.js`), so the
clock alone decides how long the day takes. What a leak of one row, listener or closure per update
would do to the measures is shown beside them.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, CDPSession, Page, Route

from e2e.harness import CHROMIUM_FLAGS, chromium
from kasmos_plugin.widget.document import ROOT_ID, asset
from kasmos_plugin.widget.document import page as document

HOURS = 8
MINUTE_MS = 60_000
HEAP_BOUND = 30_000
"""Bytes that 1,000 updates may add, and that the whole day after its warm-up may add as well."""
INTERPRETED = "--js-flags=--no-opt --no-maglev --no-sparkplug --no-flush-bytecode"
"""Compiled code counts as heap and comes late in the day, 80 kB at a time; without it, what is left
of the growth is what the monitor keeps."""
LUNCH_MS = 2 * 60 * MINUTE_MS
THOUSAND_POLLS_MS = 1_000 * 2_000


@dataclass(frozen=True)
class Spell:
    """Some minutes of one kind, and how many requests they bring: at least and at most."""

    minutes: int
    calls: tuple[int, int]
    ways: dict[str, Any] = field(default_factory=dict)
    least_gap_ms: int = 2_000
    timers: int = 2
    """The next poll and the clock of the ages."""


def steady(minutes: int, a_minute: int = 30, **ways: Any) -> Spell:
    """Return a spell at a steady cadence; at its edges one request may fall in or out."""
    count = minutes * a_minute
    gap_ms = MINUTE_MS // a_minute
    return Spell(minutes, (count - 1, count + 1), ways, least_gap_ms=gap_ms)


# An hour has 60 minutes of polls at 2 s, and between them what else befalls a pane.
HOUR = (
    steady(20, agents=6),
    steady(5, agents=0),
    # Fails at 0, 4, 12, 28, 58 s and every 30 s from then on; the first gap is a healthy one.
    Spell(5, (11, 14), {"isDown": True}),
    # The last wait of the outage is up to 30 s long.
    Spell(1, (15, 31), {"isDown": False}),
    steady(12, agents=16, theme="dark"),
    Spell(15, (0, 0), {"visibility": "hidden"}, timers=0),
    # A pane that becomes visible asks at once, and then keeps its cadence.
    Spell(4, (120, 121), {"visibility": "expanded"}, least_gap_ms=0),
    steady(1, agents=100),
    steady(9, agents=3, displayMode="sidebar"),
    steady(9, displayMode="pip", theme="light"),
    steady(3, 20, displayMode="inline"),
    # A request that takes 5 s: with the pause after it, one every 7 s.
    Spell(3, (24, 27), {"displayMode": "fullscreen", "delay": 5_000}),
    Spell(3, (11, 14), {"visibility": "collapsed", "delay": 0}),
)


@dataclass(frozen=True)
class Memory:
    """What a page holds after the garbage was collected."""

    nodes: int
    listeners: int
    heap: int


class Day:
    """A page with the monitor and its made-up host, on a clock that only `run` moves."""

    def __init__(self, page: Page, devtools: CDPSession) -> None:
        self.page = page
        self._devtools = devtools
        devtools.send("Performance.enable")

    def steer(self, **ways: Any) -> None:
        self.page.evaluate("ways => day.steer(ways)", ways)

    def look(self) -> dict[str, Any]:
        """Return what was counted since the last look."""
        seen: dict[str, Any] = self.page.evaluate("day.look()")
        return seen

    def run(self, ms: int) -> None:
        self.page.clock.run_for(ms)

    def memory(self) -> Memory:
        """Show the one snapshot that never changes, and tell what the page then holds."""
        self.steer(isStill=True, displayMode="fullscreen", visibility="expanded", theme="light")
        # A project that is left takes with it which rows and which task were seen before.
        for project in ("beta", "alpha"):
            self.page.locator("select.project").select_option(project)
            self.run(20_000)
        for _ in range(3):
            self._devtools.send("HeapProfiler.collectGarbage")
        found = self._devtools.send("Performance.getMetrics")["metrics"]
        values = {each["name"]: int(each["value"]) for each in found}
        self.steer(isStill=False)
        return Memory(values["Nodes"], values["JSEventListeners"], values["JSHeapUsedSize"])


@pytest.fixture(scope="module")
def browser(browser: Browser) -> Iterator[Browser]:
    """A browser that compiles nothing, in place of the one that other tests share."""
    interpreting = browser.browser_type.launch(
        executable_path=chromium(), args=[*CHROMIUM_FLAGS, INTERPRETED]
    )
    yield interpreting
    interpreting.close()


@pytest.fixture
def day(page: Page) -> Iterator[Day]:
    """The built monitor in its morning: mounted, with its first answer."""
    host = Path(__file__).with_name("whole_day.js").read_text("utf-8")
    text = document(
        title="a whole day",
        styles=(asset("monitor.css"),),
        body=f'<div id="{ROOT_ID}"></div>',
        scripts=(host, asset("monitor.js")),
    )

    def answer(route: Route) -> None:
        route.fulfill(body=text, content_type="text/html")

    page.set_viewport_size({"width": 700, "height": 500})
    page.route("https://day.invalid/", answer)
    page.clock.install(time="2030-01-07T08:00:00Z")
    page.clock.pause_at("2030-01-07T08:00:01Z")
    page.goto("https://day.invalid/")
    page.locator("select.project").wait_for()
    devtools = page.context.new_cdp_session(page)
    day = Day(page, devtools)
    assert day.look()["calls"] == 1
    yield day
    devtools.detach()


def live_through(day: Day, spell: Spell) -> int:
    """Live through one spell, check what the monitor did, and return how many answers it had."""
    day.steer(**spell.ways)
    day.run(spell.minutes * MINUTE_MS)
    seen = day.look()
    least, most = spell.calls
    assert least <= seen["calls"] <= most, (spell, seen)
    assert seen["whileHidden"] == 0, (spell, seen)
    assert seen["mostInFlight"] <= 1, (spell, seen)
    assert seen["mostTimers"] <= 2, (spell, seen)
    assert seen["timers"] == spell.timers, (spell, seen)
    assert seen["leastGap"] >= spell.least_gap_ms, (spell, seen)
    assert seen["theme"] == spell.ways.get("theme", seen["theme"]), (spell, seen)
    return int(seen["answers"])


def change_scope(day: Day) -> None:
    """Choose another project, a task of it, send a message, and go back: each asks at once."""
    day.steer(displayMode="fullscreen", visibility="expanded")
    day.look()
    select = day.page.locator("select.project")
    for project in ("beta", "gamma"):
        select.select_option(project)
        assert day.look()["calls"] == 1
        day.run(10_000)
        day.page.locator("select.task").select_option(f"{project}-task-03")
        assert day.page.evaluate("day.saved.at(-1)") == {
            "project": project,
            "task": f"{project}-task-03",
        }
        day.run(10_000)
        assert day.look()["calls"] == 11
    day.page.locator(".attention button").first.click()
    select.select_option("alpha")
    day.run(10_000)
    assert day.look()["calls"] == 6


def become_visible(day: Day) -> None:
    """Stay hidden over lunch; then the pane asks before any timer."""
    day.steer(visibility="hidden")
    day.look()
    day.run(LUNCH_MS)
    assert day.look()["calls"] == 0
    day.steer(visibility="expanded")
    assert day.look()["calls"] == 1


def test_a_whole_day_leaves_nothing_behind(day: Day) -> None:
    """E1, E2: hidden is paused, one request at a time; nothing grows over eight hours."""
    answers = 0
    evenings: list[Memory] = []
    for hour in range(HOURS):
        day.look()
        answers += sum(live_through(day, spell) for spell in HOUR)
        change_scope(day)
        if hour == HOURS // 2:
            become_visible(day)
        evenings.append(day.memory())
    assert answers >= HOURS * 60 * 30
    _warming_up, first, *rest = evenings
    assert {(each.nodes, each.listeners) for each in rest} == {(first.nodes, first.listeners)}
    assert max(each.heap for each in rest) - first.heap <= HEAP_BOUND, evenings


def test_the_measures_see_what_an_update_leaves_behind(day: Day) -> None:
    """One row, one listener or one closure a poll, over 1,000 polls, is each more than allowed."""
    day.run(THOUSAND_POLLS_MS)
    before = day.memory()
    for leak in ("", "row", "listener", "closure"):
        day.steer(leak=leak)
        day.run(THOUSAND_POLLS_MS)
        day.steer(leak="")
        after = day.memory()
        assert (after.nodes > before.nodes) == (leak == "row"), (leak, before, after)
        assert (after.listeners > before.listeners) == (leak == "listener"), (leak, before, after)
        if leak in ("", "closure"):  # Rows lie in another heap; a listener may.
            assert (after.heap - before.heap > HEAP_BOUND) == bool(leak), (leak, before, after)
        before = after
