"""serve.cache: one gathering for all who ask within a second."""

import asyncio
import json
from dataclasses import dataclass, field

import pytest

from kasmos_plugin.contract.facts import Facts
from kasmos_plugin.errors import StoreCorrupt, UnknownProject
from kasmos_plugin.facts import daemon_absent
from kasmos_plugin.serve.cache import CAPACITY, QUESTIONS, SnapshotCache
from kasmos_plugin.snapshot import EVERYTHING, Question, assemble
from tests.conftest import Clock
from tests.serve.conftest import Monotonic

pytestmark = pytest.mark.anyio


def facts(project: str) -> Facts:
    return Facts(
        project=project,
        projects=(project,),
        counts={},
        tasks=(),
        waiting=(),
        events=(),
        event_count=0,
        daemon=daemon_absent(),
    )


@dataclass
class Gathering:
    """Counts how often it is asked, and answers when it is let go."""

    error: Exception | None = None
    asked: list[tuple[str, str]] = field(default_factory=list)
    gate: asyncio.Event = field(default_factory=asyncio.Event)

    async def __call__(self, project: str, focus: str) -> Facts:
        self.asked.append((project, focus))
        await self.gate.wait()
        if self.error is not None:
            raise self.error
        return facts(project)


def open_gathering(error: Exception | None = None) -> Gathering:
    gathering = Gathering(error)
    gathering.gate.set()
    return gathering


async def test_facts_are_gathered_once_a_second_per_project_and_focus(clock: Clock) -> None:
    gathering, monotonic = open_gathering(), Monotonic()
    cache = SnapshotCache(gathering, now=clock, monotonic=monotonic)
    first = await cache.answer("a", "", EVERYTHING)
    monotonic.advance(0.99)
    assert await cache.answer("a", "", EVERYTHING) is first
    assert (await cache.answer("a", "", Question(cap=5))).status.projects is None
    await cache.answer("a", "task", EVERYTHING)
    monotonic.advance(0.01)
    clock.advance(1)
    second = await cache.answer("a", "", EVERYTHING)
    assert gathering.asked == [("a", ""), ("a", "task"), ("a", "")]
    assert second.status == assemble(facts("a"), EVERYTHING, now=clock())


async def test_a_gathering_from_before_a_write_answers_nobody_who_asks_after_it(
    clock: Clock,
) -> None:
    gathering, later = Gathering(), asyncio.Event()
    cache = SnapshotCache(gathering, now=clock)
    before = asyncio.create_task(cache.answer("a", "", EVERYTHING))
    while len(gathering.asked) < 1:
        await asyncio.sleep(0)
    cache.forget()
    first, gathering.gate = gathering.gate, later
    after = asyncio.create_task(cache.answer("a", "", EVERYTHING))
    for _ in range(5):
        await asyncio.sleep(0)
    assert len(gathering.asked) == 2
    first.set()
    await before
    assert not after.done()
    assert cache.kept("a", "", EVERYTHING) is None
    later.set()
    assert cache.kept("a", "", EVERYTHING) is None
    assert await after is cache.kept("a", "", EVERYTHING)
    assert gathering.asked == [("a", ""), ("a", "")]
    cache.forget()
    assert cache.kept("a", "", EVERYTHING) is None


async def test_those_who_ask_together_wait_for_one_gathering(clock: Clock) -> None:
    gathering = Gathering()
    cache = SnapshotCache(gathering, now=clock)
    asking = [asyncio.create_task(cache.answer("a", "", EVERYTHING)) for _ in range(60)]
    await asyncio.sleep(0)
    assert cache.kept("a", "", EVERYTHING) is None
    gathering.gate.set()
    answers = await asyncio.gather(*asking)
    assert len(gathering.asked) == 1
    assert all(answer is answers[0] for answer in answers)
    assert cache.kept("a", "", EVERYTHING) is answers[0]


async def test_one_who_leaves_does_not_take_the_answer_of_the_others(clock: Clock) -> None:
    gathering = Gathering()
    cache = SnapshotCache(gathering, now=clock)
    leaving = asyncio.create_task(cache.answer("a", "", EVERYTHING))
    staying = asyncio.create_task(cache.answer("a", "", EVERYTHING))
    await asyncio.sleep(0)
    leaving.cancel()
    await asyncio.sleep(0)
    gathering.gate.set()
    assert (await staying).status.project == "a"
    assert leaving.cancelled()


async def test_a_failure_is_shared_by_those_who_waited_and_forgotten(clock: Clock) -> None:
    gathering = Gathering(StoreCorrupt("damaged"))
    cache = SnapshotCache(gathering, now=clock, monotonic=Monotonic())
    asking = [asyncio.create_task(cache.answer("a", "", EVERYTHING)) for _ in range(3)]
    await asyncio.sleep(0)
    gathering.gate.set()
    failures = await asyncio.gather(*asking, return_exceptions=True)
    assert {type(failure) for failure in failures} == {StoreCorrupt}
    assert len(gathering.asked) == 1
    gathering.error = None
    assert (await cache.answer("a", "", EVERYTHING)).status.project == "a"


async def test_a_failure_that_nobody_waits_for_is_no_noise(clock: Clock) -> None:
    gathering = Gathering(UnknownProject("a", ()))
    cache = SnapshotCache(gathering, now=clock)
    leaving = asyncio.create_task(cache.answer("a", "", EVERYTHING))
    await asyncio.sleep(0)
    leaving.cancel()
    gathering.gate.set()
    for _ in range(5):
        await asyncio.sleep(0)
    assert leaving.cancelled()


async def test_it_is_bounded_in_scopes_and_in_questions(clock: Clock) -> None:
    gathering = open_gathering()
    cache = SnapshotCache(gathering, now=clock, monotonic=Monotonic())
    for number in range(CAPACITY + 1):
        await cache.answer(f"p{number}", "", EVERYTHING)
    assert cache.kept("p0", "", EVERYTHING) is None
    assert cache.kept("p1", "", EVERYTHING) is not None
    for cap in range(1, QUESTIONS + 2):
        await cache.answer("p1", "", Question(cap=cap))
    assert cache.kept("p1", "", EVERYTHING) is None
    assert cache.kept("p1", "", Question(cap=QUESTIONS + 1)) is not None
    assert len(gathering.asked) == CAPACITY + 1


async def test_an_answer_is_the_same_in_every_form(clock: Clock) -> None:
    """D13: what is sent is JSON."""
    cache = SnapshotCache(open_gathering(), now=clock)
    answer = await cache.answer("a", "", EVERYTHING)
    sent = json.loads(answer.body)
    assert sent == {
        "content": [{"type": "text", "text": answer.text}],
        "structuredContent": answer.structured,
        "isError": False,
    }
    assert sent["structuredContent"] == json.loads(answer.status.model_dump_json())
    assert list(sent["structuredContent"]) == list(answer.structured)
