"""store.agents: records at changes of state."""

import pytest

from kasmos_plugin.contract.agent import AgentEnd, AgentRecord
from kasmos_plugin.contract.event import EventDraft
from kasmos_plugin.errors import NotFound
from kasmos_plugin.store import Store
from tests.conftest import Clock


def test_a_record_comes_back_as_it_was_saved(store: Store, clock: Clock) -> None:
    record = AgentRecord(
        id="a", project="p", task="t", started_at=clock.at, stage="ready", stage_at=clock.at
    )
    store.agents.save(record, EventDraft(project="p", kind="agent_started", message="m"))
    assert store.agents.get("a") == record
    assert store.agents.listed("p") == (record,)
    assert store.events.latest("p", 1)[0].kind == "agent_started"


@pytest.mark.parametrize(
    ("changes", "listed"),
    [
        ({"end": AgentEnd.EXITED, "exit_code": 0}, False),
        ({"end": AgentEnd.EXITED, "exit_code": 3}, True),
        ({"end": AgentEnd.KILLED, "signal": 9}, True),
        ({"end": AgentEnd.LOST}, True),
        ({"end": AgentEnd.LOST, "is_dismissed": True}, False),
    ],
)
def test_only_a_clean_end_and_a_dismissal_leave_the_list(
    store: Store, clock: Clock, changes: dict[str, object], listed: bool
) -> None:
    record = AgentRecord(id="a", project="p", started_at=clock.at)
    store.agents.save(record)
    store.agents.save(record.model_copy(update=changes))
    assert bool(store.agents.listed()) is listed


def test_an_unknown_agent_is_an_error(store: Store) -> None:
    with pytest.raises(NotFound, match="no agent 'x'"):
        store.agents.get("x")
