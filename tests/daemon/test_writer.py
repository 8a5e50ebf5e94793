"""daemon.writer: in order, in a thread, and never lost for a store that is not there now."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from kasmos_plugin.contract.agent import AgentRecord
from kasmos_plugin.contract.event import EventDraft
from kasmos_plugin.daemon.writer import Writer
from kasmos_plugin.errors import NotFound
from kasmos_plugin.store import Store, open_store, utc_now
from tests.daemon.harness import WITHIN_S


@pytest.fixture
def written() -> threading.Event:
    return threading.Event()


@pytest.fixture
def writer(store: Store, written: threading.Event) -> Iterator[Writer]:
    writer = Writer(store.path, on_written=written.set, retry_s=0.01)
    yield writer
    writer.close()


def record(agent_id: str = "a") -> AgentRecord:
    return AgentRecord(id=agent_id, project="repo", started_at=utc_now())


def test_a_record_and_its_events_are_written_together_and_in_order(
    writer: Writer, store: Store, written: threading.Event
) -> None:
    futures = [
        writer.save(record(str(number)), EventDraft(project="repo", kind="k", message=str(number)))
        for number in range(20)
    ]
    futures[-1].result(WITHIN_S)
    assert all(future.done() for future in futures)
    assert [event.message for event in store.events.after(0)] == [str(one) for one in range(20)]
    assert written.wait(WITHIN_S)


def test_a_job_returns_its_result_or_its_error(writer: Writer, repo: Path) -> None:
    assert writer.submit(lambda store: store.projects.add(repo)).result(WITHIN_S).project == "repo"
    with pytest.raises(NotFound):
        writer.submit(lambda store: store.agents.get("nobody")).result(WITHIN_S)


def test_a_change_waits_for_a_store_that_cannot_be_opened_now(tmp_path: Path) -> None:
    path = tmp_path / "data" / "kasmos.db"
    writer = Writer(path, on_written=lambda: None, retry_s=0.01)
    future = writer.save(record())
    assert not future.done()
    open_store(path).close()
    future.result(WITHIN_S)
    writer.close()
    store = open_store(path)
    assert store.agents.get("a").project == "repo"
    store.close()


def test_what_is_kept_is_written_at_the_end(store: Store) -> None:
    writer = Writer(store.path, on_written=lambda: None, retry_s=60)
    writer.save(record())
    writer.close()
    assert store.agents.get("a").project == "repo"


def test_a_store_that_nobody_may_write_stops_nothing(store: Store) -> None:
    store.path.chmod(0o400)
    writer = Writer(store.path, on_written=lambda: None, retry_s=0.01)
    try:
        writer.save(record()).result(WITHIN_S)
    finally:
        writer.close()
        store.path.chmod(0o600)


def test_what_cannot_be_stored_does_not_stop_what_comes_after(writer: Writer, store: Store) -> None:
    writer.save(record("a").model_copy(update={"wave": 10**20})).result(WITHIN_S)
    with pytest.raises(ZeroDivisionError):
        writer.submit(lambda store: 1 // 0).result(WITHIN_S)
    writer.save(record("b")).result(WITHIN_S)
    assert store.agents.get("b").project == "repo"
