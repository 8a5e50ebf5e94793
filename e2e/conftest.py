"""Fixtures of the end-to-end tests: a world of real processes and a page in a real browser."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from e2e.gate import Gate
from e2e.harness import CHROMIUM_FLAGS, World, chromium

PLAN = """**Goal:** parse the new format

## Wave 1: the parser
### Task 1: tokens
### Task 2: tree

## Wave 2: the printer
### Task 1: print the tree
"""


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """A temporary home with nothing running yet."""
    world = World(tmp_path)
    yield world
    world.close()


@pytest.fixture
def served(world: World) -> World:
    """Daemon and serve over one project `alpha` whose task `plan` waits between two waves."""
    return begin(world)


@pytest.fixture(scope="session")
def calm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """The same as `served`, shared by tests that only look."""
    world = begin(World(tmp_path_factory.mktemp("calm")))
    yield world
    world.close()


@pytest.fixture
def gate(calm: World) -> Iterator[Gate]:
    """A counting door before `calm`."""
    gate = Gate(calm.port)
    yield gate
    gate.close()


@pytest.fixture(scope="session")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundle, as the command writes it."""
    world = World(tmp_path_factory.mktemp("bundle"))
    out = world.root / "out"
    world.kas("monitor", "bundle", "--out", str(out))
    return out


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=list(CHROMIUM_FLAGS))
        yield browser
        browser.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page in a context of its own that fails the test on an uncaught error."""
    context = browser.new_context(viewport={"width": 1200, "height": 900})
    page = context.new_page()
    page.set_default_timeout(10_000)
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("dialog", lambda dialog: errors.append(f"a dialog: {dialog.message}"))
    yield page
    context.close()
    assert errors == []


def begin(world: World) -> World:
    world.repository("alpha")
    fill(world)
    world.start_daemon()
    world.start_serve()
    return world


def fill(world: World, project: str = "alpha") -> None:
    """Put a task between two waves, and one without waves, into a project."""
    where = ("--project", project, *world.store_arguments())
    world.kas("task", "create", "-", "--name", "plan", *where, stdin=PLAN)
    world.kas("task", "create", "-", "--name", "bare", *where, stdin="no waves yet\n")
    world.approve("plan", "implement_start", *where)
    world.kas("task", "transition", "plan", "implement_start", *where)
    for number in ("1", "2"):
        world.kas("task", "subtask", "plan", number, "done", *where)
