"""coordination.arguments: strict models, schemas without references, and the table's words."""

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kasmos_plugin.contract.task import LifecycleEvent
from kasmos_plugin.coordination import arguments
from kasmos_plugin.coordination.arguments import EventsAsked, TaskAsked, TasksAsked, Transition
from kasmos_plugin.errors import BadArgument
from kasmos_plugin.rules.text import clean

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


def test_every_event_is_for_an_agent_or_for_a_person() -> None:
    for_agents = set(get_args(arguments.TransitionName))
    for_people = {event.value for event in arguments.FOR_A_PERSON}
    assert for_people == {"cancel", "start_over", "reopen"}
    assert for_agents.isdisjoint(for_people)
    assert for_agents | for_people == set(LifecycleEvent)


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ({"task": "a", "force": True}, "Unknown argument 'force'; known arguments: project, task"),
        ({}, "The argument 'task' is missing"),
        ({"task": None}, "'task' is null; leave it out instead."),
        ({"task": 1}, "task: Input should be a valid string."),
        ({"task": "a", "plan": "yes"}, "plan: Input should be a valid boolean."),
        ({"task": "  "}, "task: String should have at least 1 character."),
        ({"task": "\ud800"}, "The arguments are not valid Unicode."),
        ({"task": "a", "pl\x1b[31man\n": 1}, "Unknown argument 'plan'"),
    ],
)
def test_what_is_wrong_is_said(told: dict[str, object], words: str) -> None:
    with pytest.raises(BadArgument) as caught:
        TaskAsked.read(told)
    assert caught.value.message.startswith(words)


def test_names_are_trimmed_and_instants_need_a_zone() -> None:
    assert TaskAsked.read({"task": " auth "}) == TaskAsked(task="auth")
    assert EventsAsked.read({"since": "2026-01-02T03:04:05Z"}).since is not None
    with pytest.raises(BadArgument):
        EventsAsked.read({"since": "2026-01-02T03:04:05"})


@pytest.mark.parametrize("model", [TasksAsked, TaskAsked, EventsAsked, Transition])
@given(told=st.dictionaries(st.text(), JSON, max_size=4))
def test_nothing_that_json_can_hold_is_more_than_a_bad_argument(
    model: type[arguments.Arguments], told: dict[str, object]
) -> None:
    try:
        model.read(told)
    except BadArgument as error:
        said = error.message
    else:
        return
    assert clean(said, 1_000) == said


@pytest.mark.parametrize("since", ["0.5", "1700000000", "yesterday", "2026-01-31T12:00:00"])
def test_a_moment_is_written_out_with_its_zone(since: str) -> None:
    """A number would be read as seconds since 1970."""
    with pytest.raises(BadArgument, match="since"):
        EventsAsked.read({"since": since})
    assert EventsAsked.read({"since": "2026-01-31T12:00:00Z"}).since is not None
