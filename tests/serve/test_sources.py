"""serve.sources: the store and the daemon, asked together."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kasmos_plugin.contract.live_status import Notice
from kasmos_plugin.errors import ProjectRequired, StoreCorrupt, UnknownProject
from kasmos_plugin.serve.daemon_link import Heard
from kasmos_plugin.serve.sources import Sources
from kasmos_plugin.serve.store_door import StoreDoor
from kasmos_plugin.store import Store
from tests.conftest import git
from tests.serve.conftest import FakeLink, agent, daemon_of

pytestmark = pytest.mark.anyio


@pytest.fixture
def door(store: Store) -> Iterator[StoreDoor]:
    door = StoreDoor(store.path)
    yield door
    door.close()


@pytest.fixture
def other(store: Store, tmp_path: Path) -> str:
    """A second registered project."""
    directory = tmp_path / "other"
    directory.mkdir()
    git(directory, "init", "-q")
    return store.projects.add(directory).project


async def test_the_only_project_is_meant_and_asked_for(
    store: Store, door: StoreDoor, project: str
) -> None:
    link = daemon_of(store, agent(1, project))
    facts = await Sources(door, link.ask).gather("", "")
    assert (facts.project, facts.daemon.agents) == (project, (agent(1, project),))
    assert link.asked == [project]


async def test_each_project_is_asked_for_its_own_agents(
    store: Store, door: StoreDoor, project: str, other: str
) -> None:
    link = daemon_of(store, agent(1, project), agent(2, other))
    sources = Sources(door, link.ask)
    assert (await sources.gather(other, "")).daemon.agents == (agent(2, other),)
    with pytest.raises(ProjectRequired) as caught:
        await sources.gather("", "")
    assert caught.value.known == tuple(sorted([project, other]))
    with pytest.raises(UnknownProject):
        await sources.gather("nobody", "")
    assert link.asked == [other, "", ""]


async def test_a_project_that_only_the_daemon_knows_is_asked_for_by_name(
    store: Store, door: StoreDoor
) -> None:
    """An answer about another project would show no agents where there are some."""
    asked = daemon_of(store, agent(1, "late"))

    def heard(name: str) -> Heard:
        known = asked.heard(name)
        assert known.reply is not None
        return Heard(reply=known.reply.model_copy(update={"projects": ("late",)}))

    link = FakeLink(heard)
    for wanted in ("late", ""):
        facts = await Sources(door, link.ask).gather(wanted, "")
        assert (facts.project, facts.daemon.agents) == ("late", (agent(1, "late"),))
    assert link.asked == ["", "late"] * 2


async def test_nothing_known_is_a_snapshot_with_a_notice(store: Store, door: StoreDoor) -> None:
    facts = await Sources(door, daemon_of(store).ask).gather("", "")
    assert (facts.project, [notice.code for notice in facts.notices]) == ("", ["no_projects"])


async def test_what_the_link_says_of_the_daemon_is_in_the_view(
    store: Store, door: StoreDoor, project: str
) -> None:
    slow = Notice(code="daemon_slow", message="1 s ago")
    facts = await Sources(door, daemon_of(store, notice=slow).ask).gather("", "")
    assert (facts.daemon.is_running, facts.daemon.notices) == (True, (slow,))
    gone = Notice(code="daemon_incompatible", message="other")
    facts = await Sources(door, FakeLink(lambda _: Heard(notice=gone)).ask).gather("", "")
    assert (facts.daemon.is_running, facts.daemon.notices) == (False, (gone,))
    facts = await Sources(door, FakeLink().ask).gather("", "")
    assert [notice.code for notice in facts.daemon.notices] == ["daemon_unreachable"]


async def test_a_daemon_of_another_store_is_said_to_be_one(
    store: Store, door: StoreDoor, project: str
) -> None:
    """D6: an answer is believed by its identity."""
    link = daemon_of(store, agent(1, project), store_id="another")
    facts = await Sources(door, link.ask).gather("", "")
    assert (facts.daemon.agents, [notice.code for notice in facts.daemon.notices]) == (
        (),
        ["daemon_other_store"],
    )


async def test_damage_while_reading_is_raised_and_the_file_opened_anew(
    store: Store, door: StoreDoor, project: str
) -> None:
    """B3: corruption is an error each time, and gone when the file is whole again."""
    store.close()
    sources = Sources(door, FakeLink().ask)
    await sources.gather("", "")
    door.close()
    whole = door.path.read_bytes()
    door.path.write_bytes(whole[:4096] + b"\xff" * (len(whole) - 4096))
    for _ in range(2):
        with pytest.raises(StoreCorrupt):
            await sources.gather("", "")
    door.path.write_bytes(whole)
    assert (await sources.gather("", "")).project == project


async def test_a_connection_that_has_failed_is_not_used_again(
    store: Store, door: StoreDoor, project: str
) -> None:
    """B3"""

    async def fail(name: str) -> Heard:
        raise StoreCorrupt(f"The store '{door.path}' is damaged.")

    before = door.store()
    with pytest.raises(StoreCorrupt) as caught:
        await Sources(door, fail).gather("", "")
    assert caught.value.message == "The store 'kasmos.db' is damaged."
    assert door.store() is not before
