"""Every view in every state, for whoever reads it: by ear, by keyboard, large, in grey, calm.

What is compared are properties of the page, never pixels; a picture of each is kept in
`e2e/artifacts` for a person to look at.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]  # no stubs
from playwright.sync_api import Browser

from e2e.pane import MODES, NEVER, Pane, fixture, refusal

# Without `preload`, which would fetch the page's own style against its policy.
RULES = {
    "resultTypes": ["violations"],
    "rules": {"target-size": {"enabled": True}},
    "preload": False,
}

AGENTS = fixture("agents_3")
CHOICE = refusal("project_required", "Several projects are known.", "alpha", "beta")
STATES: dict[str, list[object]] = {
    "loading": [NEVER],
    "live": [AGENTS],
    "store_only": [fixture("no_daemon")],
    "stale": [AGENTS, None],
    "offline": [None],
    "incompatible": [AGENTS | {"schema_version": 3}],
    "store_error": [refusal("store_busy", "The store is busy.")],
    "choose_project": [CHOICE],
    "no_projects": [fixture("nothing")],
    "nothing_here": [fixture("empty")],
}
"""What the host answers, one after the other, to bring a state about."""


@pytest.fixture(scope="module")
def pane(browser: Browser, bundle: Path) -> Iterator[Pane]:
    """One page for every look."""
    pane = Pane(browser, bundle)
    yield pane
    pane.close()


def bring_about(pane: Pane, state: str, mode: str, **host: Any) -> None:
    """Mount the monitor in one of its states."""
    first, *more = STATES[state]
    pane.open(first, mode=mode, **host)
    for answer in more:
        pane.again(answer)
    assert pane.page.locator(f"#root main.mode-{mode}.is-{state}").count() == 1


def violations(pane: Pane) -> list[tuple[str, str]]:
    found = Axe().run(pane.page, options=RULES).response["violations"]
    return [(rule["id"], node["html"][:200]) for rule in found for node in rule["nodes"]]


@pytest.mark.parametrize("mode", MODES)
def test_axe_finds_nothing_in_any_state(pane: Pane, mode: str) -> None:
    found = {}
    for state in STATES:
        bring_about(pane, state, mode)
        for theme in ("light", "dark"):
            pane.set(theme=theme)
            found[state, theme] = violations(pane)
    assert found == {case: [] for case in found}
