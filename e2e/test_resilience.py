"""What the monitor shows when a process behind it goes away and comes back."""

import signal
import sqlite3
from pathlib import Path

from playwright.sync_api import Page, expect

from e2e.conftest import PLAN, fill
from e2e.harness import World, until

SOON_MS = 15_000


def test_a_killed_daemon_makes_agents_unknown_until_it_is_back(page: Page, served: World) -> None:
    page.goto(f"{served.url}/?project=alpha")
    expect(page.get_by_text("no agents are listed")).to_be_visible(timeout=SOON_MS)
    served.end(served.daemon, signal.SIGKILL)
    expect(page.get_by_text("agents unknown").first).to_be_visible(timeout=SOON_MS)
    expect(page.get_by_text("no agents are listed")).to_be_hidden()
    served.start_daemon()
    expect(page.get_by_text("no agents are listed")).to_be_visible(timeout=SOON_MS)
    expect(page.get_by_text("agents unknown")).to_have_count(0)


def test_a_killed_serve_leaves_the_last_snapshot_marked_as_old(page: Page, served: World) -> None:
    page.goto(f"{served.url}/?project=alpha")
    expect(page.get_by_text("needs a decision").first).to_be_visible(timeout=SOON_MS)
    port = served.port
    served.end(served.serve, signal.SIGKILL)
    expect(page.get_by_text("retry").first).to_be_visible(timeout=SOON_MS)
    expect(page.get_by_text("needs a decision").first).to_be_visible()
    served.start_serve(port=port)
    expect(page.get_by_text("retry")).to_have_count(0, timeout=35_000)


def test_tasks_and_events_come_from_the_store_that_serve_was_given(
    page: Page, world: World, tmp_path: Path
) -> None:
    world.repository("beta")
    world.kas("task", "create", "-", "--name", "wrong-store", "--project", "beta", stdin=PLAN)
    world.database = tmp_path / "elsewhere" / "custom.db"
    (tmp_path / "custom").mkdir()
    world.kas(
        "daemon", "add", str(tmp_path / "beta"), "--project", "gamma", "--db", str(world.database)
    )
    fill(world, "gamma")
    world.start_serve()
    snapshot = world.snapshot()
    assert snapshot["project"] == "gamma"
    assert [task["filename"] for task in snapshot["tasks"]] == ["bare", "plan"]
    assert {event.get("task", "plan") for event in snapshot["events"]} <= {"plan", "bare"}
    page.goto(f"{world.url}/")
    expect(page.get_by_text("needs a decision").first).to_be_visible(timeout=SOON_MS)
    expect(page.get_by_text("wrong-store")).to_have_count(0)


def test_a_daemon_of_another_store_is_not_believed(
    page: Page, world: World, tmp_path: Path
) -> None:
    world.repository("alpha")
    fill(world)
    world.start_daemon()
    other = tmp_path / "other.db"
    connection = sqlite3.connect(world.root / "home" / "data" / "kasmos.db")
    connection.execute("VACUUM INTO ?", (str(other),))
    connection.execute("SELECT 1")
    connection.close()
    connection = sqlite3.connect(other)
    connection.execute("UPDATE meta SET value = 'another' WHERE key = 'store_id'")
    connection.commit()
    connection.close()
    world.database = other
    world.start_serve()
    snapshot = world.snapshot(project="alpha")
    assert snapshot["daemon_running"] is False
    assert [notice["code"] for notice in snapshot["notices"]] == ["daemon_other_store"]
    page.goto(f"{world.url}/?project=alpha")
    expect(page.get_by_text("agents unknown").first).to_be_visible(timeout=SOON_MS)


def test_several_projects_are_a_choice_and_a_seed_makes_it(page: Page, world: World) -> None:
    world.repository("alpha")
    world.repository("beta")
    fill(world, "alpha")
    world.kas("task", "create", "-", "--name", "of-beta", "--project", "beta", stdin=PLAN)
    world.start_serve()
    page.goto(f"{world.url}/")
    expect(page.get_by_role("button", name="alpha")).to_be_visible(timeout=SOON_MS)
    page.get_by_role("button", name="beta").click()
    expect(page.get_by_text("of-beta").first).to_be_visible(timeout=SOON_MS)
    page.goto(f"{world.url}/?project=alpha&task=plan")
    expect(page.get_by_text("parse the new format")).to_be_visible(timeout=SOON_MS)
    status, answer = world.post("/v1/monitor/snapshot", {})
    assert status == 400
    assert answer["_meta"]["kasmos/projects"] == ["alpha", "beta"]


def test_a_real_agent_is_seen_from_its_start_to_its_end(page: Page, served: World) -> None:
    page.goto(f"{served.url}/?project=alpha")
    go = served.root / "go"
    agent = served.spawn(
        *("agent", "run", "--project", "alpha", "--task", "plan", "--role", "coder", "--", "sh"),
        "-c",
        f"echo working; while [ ! -e {go} ]; do sleep 0.1; done; exit 3",
    )
    agents = page.locator("[data-list=agents]")
    expect(agents.get_by_text("running").first).to_be_visible(timeout=SOON_MS)
    go.touch()
    assert agent.wait(timeout=10) == 3
    expect(page.get_by_text("exited with code 3").first).to_be_visible(timeout=SOON_MS)
    identity = until(lambda: served.snapshot(project="alpha")["active_agents"])[0]["id"]
    served.kas("agent", "dismiss", identity, "--project", "alpha")
    expect(page.get_by_text("no agents are listed")).to_be_visible(timeout=SOON_MS)


def test_a_damaged_store_is_an_error_and_never_an_all_clear(page: Page, served: World) -> None:
    """B3: a page that was fine says that the store cannot be read."""
    page.goto(f"{served.url}/?project=alpha")
    expect(page.get_by_text("needs a decision").first).to_be_visible(timeout=SOON_MS)
    database = served.root / "home" / "data" / "kasmos.db"
    for path in (Path(f"{database}-wal"), database):
        if path.exists():
            with path.open("r+b") as file:
                size = path.stat().st_size
                file.write(b"\xff" * size)
    until(lambda: served.post("/v1/monitor/snapshot", {"project": "alpha"})[0] == 503)
    expect(page.get_by_text("store").first).to_be_visible(timeout=SOON_MS)
    expect(page.get_by_text("idle")).to_have_count(0)
