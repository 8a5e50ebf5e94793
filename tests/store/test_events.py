"""store.events: the audit trail."""

from datetime import timedelta

import pytest

from kasmos_plugin.contract.event import EventDraft
from kasmos_plugin.store import Store
from tests.conftest import Clock


@pytest.fixture
def trail(store: Store, clock: Clock) -> Store:
    for number in range(6):
        clock.advance(1)
        store.events.append(
            EventDraft(
                project="p" if number % 2 else "q",
                kind=f"k{number % 3}",
                message=str(number),
                task=f"t{number}",
            )
        )
    return store


def messages(*events: object) -> list[str]:
    return [getattr(event, "message", "") for event in events]


def test_the_newest_come_first(trail: Store) -> None:
    assert messages(*trail.events.latest("p", 2)) == ["5", "3"]


def test_following_begins_after_an_id_and_is_oldest_first(trail: Store) -> None:
    first = trail.events.after(0)[0]
    assert messages(*trail.events.after(first.id)) == ["1", "2", "3", "4", "5"]
    assert messages(*trail.events.after(0, project="q", limit=2)) == ["0", "2"]
    assert trail.events.last_id() == trail.events.after(0)[-1].id


def test_filters_narrow(trail: Store, clock: Clock) -> None:
    assert messages(*trail.events.latest("p", 9, task="t3")) == ["3"]
    assert messages(*trail.events.latest("p", 9, kind="k2")) == ["5"]
    assert messages(*trail.events.latest("p", 9, since=clock.at - timedelta(seconds=1))) == ["5"]


def test_order_is_that_of_writing_when_the_clock_goes_back(trail: Store, clock: Clock) -> None:
    """B8: a clock set back cannot hide or reorder what came later."""
    clock.advance(-3600)
    trail.events.append(EventDraft(project="p", kind="k", message="later"))
    assert messages(*trail.events.latest("p", 1)) == ["later"]


def test_the_kept_count_is_the_number_of_events(trail: Store) -> None:
    assert trail.events.count("p") == 3
    assert trail.events.count("nobody") == 0
