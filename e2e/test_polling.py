"""How often the monitor asks: counted at the server, on the page's own fake clock."""

import time
from itertools import pairwise

import pytest
from playwright.sync_api import Page

from e2e.gate import Gate
from e2e.harness import until


def open_on_fake_clock(page: Page, gate: Gate, mode: str) -> None:
    """Open the page with a clock that only `advance` moves, and wait for its first answer."""
    stop_clock(page)
    page.goto(f"{gate.url}/?mode={mode}&project=alpha&task=plan")
    settle(page, gate)


def stop_clock(page: Page) -> None:
    """Give the page a clock that stands before its first script runs."""
    page.clock.install(time="2030-01-01T00:00:00Z")
    page.clock.pause_at("2030-01-01T00:00:01Z")


def settle(page: Page, gate: Gate) -> None:
    """Wait until every request has its answer and the page has taken it."""
    until(lambda: gate.polls > 0 and gate.in_flight == 0, what="an answer")
    page.evaluate("() => new Promise(done => { queueMicrotask(done); })")
    time.sleep(0.03)


def advance(page: Page, gate: Gate, ms: int) -> int:
    """Move the page's clock and return how many requests came of it."""
    before = gate.polls
    page.clock.run_for(ms)
    time.sleep(0.08)
    settle(page, gate)
    return gate.polls - before


@pytest.mark.parametrize(
    ("mode", "base_ms"),
    [("pip", 2_000), ("fullscreen", 2_000), ("sidebar", 2_000), ("inline", 3_000)],
)
def test_each_mode_has_its_cadence(page: Page, gate: Gate, mode: str, base_ms: int) -> None:
    open_on_fake_clock(page, gate, mode)
    advance(page, gate, base_ms + 100)
    counted = [advance(page, gate, base_ms) for _ in range(4)]
    assert counted == [1, 1, 1, 1]


def test_a_cold_mount_asks_exactly_once(page: Page, gate: Gate) -> None:
    open_on_fake_clock(page, gate, "fullscreen")
    assert gate.polls == 1


def test_a_collapsed_pane_slows_to_fifteen_seconds(page: Page, gate: Gate) -> None:
    open_on_fake_clock(page, gate, "fullscreen")
    page.locator("select[name=pane]").select_option("collapsed")
    advance(page, gate, 15_100)
    assert [advance(page, gate, 7_000), advance(page, gate, 8_000)] in ([0, 1], [1, 0])


def test_a_hidden_pane_asks_nothing_and_a_visible_one_at_once(page: Page, gate: Gate) -> None:
    """E1: hidden means paused; becoming visible refreshes before any timer."""
    open_on_fake_clock(page, gate, "fullscreen")
    page.locator("select[name=pane]").select_option("hidden")
    assert advance(page, gate, 120_000) == 0
    before = gate.polls
    page.locator("select[name=pane]").select_option("expanded")
    until(lambda: gate.polls == before + 1, what="the refresh of a visible pane")


def test_a_slow_server_never_has_two_requests(page: Page, gate: Gate) -> None:
    """E2: single flight."""
    open_on_fake_clock(page, gate, "fullscreen")
    gate.open.clear()
    before = gate.polls
    for _ in range(6):
        page.clock.run_for(1_000)
        time.sleep(0.05)
    assert gate.polls == before + 1
    gate.open.set()
    settle(page, gate)
    assert gate.most_in_flight == 1
    assert advance(page, gate, 2_100) == 1


def test_failures_back_off_to_thirty_seconds_and_one_success_resets(page: Page, gate: Gate) -> None:
    open_on_fake_clock(page, gate, "fullscreen")
    gate.is_refusing = True
    elapsed, seen = 0, gate.polls
    moments: list[int] = []
    while len(moments) < 7 and elapsed < 180_000:
        page.clock.run_for(500)
        elapsed += 500
        time.sleep(0.02)
        until(lambda: gate.in_flight == 0, what="an answer")
        if gate.polls > seen:
            seen = gate.polls
            moments.append(elapsed)
    gaps = [later - earlier for earlier, later in pairwise(moments)]
    expected = [4_000, 8_000, 16_000, 30_000, 30_000, 30_000]
    for gap, base in zip(gaps, expected, strict=True):
        assert 0.85 * base <= gap <= 1.15 * base + 1_000, (gaps, expected)
    gate.is_refusing = False
    advance(page, gate, 33_500)
    advance(page, gate, 2_100)
    assert [advance(page, gate, 2_000) for _ in range(3)] == [1, 1, 1]


def test_the_apps_sdk_adapter_polls_alike(page: Page, gate: Gate) -> None:
    stop_clock(page)
    page.goto(f"{gate.url}/?host=openai&mode=fullscreen&project=alpha")
    settle(page, gate)
    advance(page, gate, 2_100)
    assert [advance(page, gate, 2_000) for _ in range(3)] == [1, 1, 1]
    page.get_by_text("alpha").first.wait_for()
