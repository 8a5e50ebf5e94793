"""Truth on screen: each state looks like no other in any view, and ages go on by themselves."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from e2e.pane import MODES, Pane, fixture
from e2e.test_every_person import STATES, bring_about

# The shape and the words of each part that tells the state, in order.
LOOK = """() => [...document.querySelectorAll(
    "#root :is(header .fresh, .banner, .card, .rail .line)")]
  .filter((part) => part.checkVisibility())
  .map((part) => {
    const marks = [...part.querySelectorAll(".mark path")].map((path) => {
      const { fill, strokeDasharray } = getComputedStyle(path);
      return [path.getAttribute("d"), fill === "none", strokeDasharray].join();
    });
    return [marks.join(";"), part.innerText.trim()];
  })"""
AGES = "() => [...document.querySelectorAll('#root time')].map((each) => each.innerText)"


@pytest.fixture(scope="module")
def pane(browser: Browser, bundle: Path) -> Iterator[Pane]:
    pane = Pane(browser, bundle)
    yield pane
    pane.close()


@pytest.mark.parametrize("mode", MODES)
def test_each_state_has_a_shape_and_words_of_its_own(pane: Pane, mode: str) -> None:
    shapes, words = {}, {}
    for state in STATES:
        bring_about(pane, state, mode)
        parts = pane.page.evaluate(LOOK)
        assert any(shape for shape, _ in parts), state
        shapes[state] = str([shape for shape, _ in parts])
        words[state] = re.sub(r"\d+", "", str([told for _, told in parts]))
    assert len(set(shapes.values())) == len(STATES), shapes
    assert len(set(words.values())) == len(STATES), words


@pytest.mark.parametrize("hours", [-1, 0, 1])
def test_ages_are_the_servers_whatever_this_clock_says(
    browser: Browser, bundle: Path, hours: int
) -> None:
    """They go on by the second without an answer, and nothing runs while the pane is hidden."""
    pane = Pane(browser, bundle)
    pane.page.clock.install(time=f"2026-03-04T{14 + hours}:02:33Z")
    pane.page.clock.pause_at(f"2026-03-04T{14 + hours}:02:34Z")
    pane.open(fixture("agents_3"), mode="fullscreen")
    ages = pane.page.evaluate(AGES)
    assert ages[:3] == ["12m", "1m", "4m"]
    assert ages[-12] == "2s"
    pane.page.evaluate("() => { pane.answers = undefined; }")
    pane.page.clock.run_for(5_000)
    pane.page.evaluate("() => pane.drawn()")
    assert pane.page.evaluate(AGES)[-12] == "7s"
    pane.set(visibility="hidden")
    pane.page.clock.run_for(9_000)  # What was under way is given up.
    pane.page.evaluate("() => pane.drawn()")
    still = pane.page.locator("#root").inner_html()
    pane.page.clock.run_for(60_000)
    pane.page.evaluate("() => pane.drawn()")
    assert pane.page.locator("#root").inner_html() == still
    pane.close()
