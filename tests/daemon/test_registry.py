"""daemon.registry: what is remembered, what is written, and what is concluded of whom."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from kasmos_plugin.contract.agent import AgentEnd, AgentRecord, AgentView, ProcessIdentity
from kasmos_plugin.contract.control import ShimBeat, ShimHello, StageReport
from kasmos_plugin.contract.event import EventDraft
from kasmos_plugin.daemon.registry import Registry, Surroundings, Word
from kasmos_plugin.errors import Conflict, NotFound
from kasmos_plugin.rules.health import Presence

START = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)


class World:
    """Everything around a registry, in memory; its clocks stand until they are moved."""

    def __init__(self) -> None:
        self.at = START
        self.tick_s = 1000.0
        self.stored: dict[str, AgentRecord] = {}
        self.events: list[str] = []
        self.saves = 0
        self.processes: dict[int, Presence] = {}
        self.closed: set[str] = set()
        self.words: dict[str, ShimBeat] = {}
        self.said: list[Word] = []
        self.registry = self.restarted()

    def restarted(self, *, boot_id: str = "boot") -> Registry:
        """Return a new registry that remembers what is stored."""
        self.registry = Registry(
            Surroundings(
                save=self.save,
                now=lambda: self.at,
                monotonic=lambda: self.tick_s,
                look=lambda known: self.processes.get(known.pid, Presence.ABSENT),
                identify=lambda pid: ProcessIdentity(pid=pid, start="found", boot_id="boot"),
                boot_id=boot_id,
                stored=self.stored.get,
                is_task_closed=lambda project, task: task in self.closed,
                last_words=lambda agent_id: self.words.pop(agent_id, None),
            )
        )
        kept = (record for record in self.stored.values() if not record.is_dismissed)
        self.registry.restore(*(one for one in kept if one.exit_code != 0))
        return self.registry

    def save(self, record: AgentRecord, *events: EventDraft) -> None:
        self.saves += 1
        self.stored[record.id] = record
        self.events += [f"{event.kind}: {event.message}" for event in events]

    def advance(self, seconds: float) -> None:
        self.at += timedelta(seconds=seconds)
        self.tick_s += seconds

    def look(self, times: int = 1) -> None:
        for _ in range(times):
            self.registry.tick()

    def lives(self, *pids: int) -> None:
        self.processes = dict.fromkeys(pids, Presence.PRESENT)

    def link(self, **changes: object) -> Callable[[Word], None]:
        send = self.said.append
        self.registry.link(hello(**changes), send)
        return send

    def view(self) -> AgentView:
        return self.registry.view("a")


def identity(pid: int, boot_id: str = "boot", start: str = "1") -> ProcessIdentity:
    return ProcessIdentity(pid=pid, start=start, boot_id=boot_id)


def hello(**changes: object) -> ShimHello:
    base = ShimHello(
        id="a", project="p", shim=identity(1), process=identity(2), started_at=START, worktree="/w"
    )
    return base.model_copy(update=changes)


@pytest.fixture
def world() -> World:
    return World()


def test_a_new_agent_is_stored_with_its_event_and_greeted(world: World) -> None:
    world.link(task="t", task_number=3)
    assert (world.events, world.saves, world.said) == (
        ["agent_started: coder 3 started"],
        1,
        ["ok"],
    )
    assert world.view().stage == "loading"


def test_heartbeats_and_looks_write_nothing(world: World) -> None:
    world.link()
    world.lives(1, 2)
    for _ in range(100):
        world.advance(10)
        world.registry.beat("a", ShimBeat(output_age_ms=50))
        world.look()
        world.registry.views("p")
    assert world.saves == 1


def test_an_end_is_told_once_however_often_it_is_said(world: World) -> None:
    send = world.link()
    world.registry.beat("a", ShimBeat(end=AgentEnd.EXITED, exit_code=0))
    world.registry.unlink("a", send)
    world.link()
    world.registry.beat("a", ShimBeat(end=AgentEnd.EXITED, exit_code=0))
    assert world.events == ["agent_started: coder started", "agent_exited: coder finished"]
    assert world.said == ["ok", "bye", "ok", "bye"]
    assert world.registry.views() == ()


@pytest.mark.parametrize(
    ("beat", "reason"),
    [
        (ShimBeat(end=AgentEnd.EXITED, exit_code=3), "exited with code 3"),
        (ShimBeat(end=AgentEnd.KILLED, signal=9), "killed by SIGKILL"),
    ],
)
def test_a_bad_end_stays_listed_until_it_is_dismissed(
    world: World, beat: ShimBeat, reason: str
) -> None:
    world.link()
    world.registry.beat("a", beat)
    assert world.view().reason == reason
    world.restarted()
    assert world.view().reason == reason
    world.registry.dismiss("a")
    assert world.events[1:] == [f"agent_failed: coder {reason}", "agent_dismissed: coder dismissed"]
    with pytest.raises(NotFound):
        world.view()


@pytest.mark.parametrize("closed", [True, False])
def test_a_bad_end_leaves_with_its_task_or_after_a_day(world: World, closed: bool) -> None:
    world.link(task="t")
    world.registry.beat("a", ShimBeat(end=AgentEnd.EXITED, exit_code=3))
    world.registry.tidy()
    assert world.registry.views()
    if closed:
        world.closed.add("t")
    else:
        world.advance(86_400)
    world.registry.tidy()
    assert world.registry.views() == ()
    assert world.stored["a"].is_dismissed


def test_a_running_agent_of_a_closed_task_stays_listed(world: World) -> None:
    world.link(task="t")
    world.closed.add("t")
    world.registry.tidy()
    assert world.view().is_active


def test_a_remembered_agent_is_unknown_for_the_grace_and_then_lost(world: World) -> None:
    world.link()
    world.restarted()
    world.look(3)
    assert (world.view().health, world.view().reason) == ("unknown", "")
    world.advance(15)
    world.look(2)
    assert world.view().reason == "lost"
    assert world.events[-1] == "agent_lost: coder is lost"


def test_a_living_process_is_never_lost_even_when_its_shim_is(world: World) -> None:
    world.link()
    world.lives(2)
    world.restarted()
    world.advance(3600)
    world.look(5)
    view = world.view()
    assert (view.reason, view.is_active, view.health) == ("no heartbeat for 1h", True, "stale")


def test_what_cannot_be_seen_is_never_lost(world: World) -> None:
    send = world.link()
    world.processes = {1: Presence.UNKNOWN, 2: Presence.UNKNOWN}
    world.registry.unlink("a", send)
    world.advance(20)
    world.look(5)
    assert (world.view().health, world.view().reason) == ("unknown", "")


def test_one_look_is_not_enough_and_one_sight_begins_again(world: World) -> None:
    send = world.link()
    world.registry.unlink("a", send)
    assert world.view().health == "unknown"
    world.lives(2)
    world.look()
    world.processes = {}
    world.look()
    assert world.view().health == "unknown"
    world.look()
    assert world.view().reason == "lost"


def test_a_reboot_loses_every_old_agent_at_once(world: World) -> None:
    world.link()
    world.lives(1, 2)
    world.restarted(boot_id="another")
    assert world.view().reason == "lost"


def test_a_shim_that_comes_back_keeps_its_agent_and_its_report(world: World) -> None:
    world.link()
    world.registry.report("a", StageReport(stage="ready"))
    world.advance(5)
    world.restarted()
    assert world.view().health == "unknown"
    world.link()
    assert (world.view().is_ready, world.view().stage_since) == (True, START)
    assert world.events == [
        "agent_started: coder started",
        "agent_ready: coder waits for a person",
    ]


def test_a_lost_agent_that_comes_back_is_back(world: World) -> None:
    send = world.link()
    world.registry.unlink("a", send)
    world.look(2)
    world.link()
    assert (world.view().is_active, world.events[-1]) == (True, "agent_started: coder is back")


def test_a_second_link_outlives_the_end_of_the_first(world: World) -> None:
    first: list[Word] = []
    old = first.append
    world.registry.link(hello(), old)
    world.link()
    world.registry.unlink("a", old)
    world.registry.command("a", "pause")
    assert world.said == ["ok", "pause"]


def test_last_words_left_while_no_daemon_listened_are_the_end(world: World) -> None:
    world.link()
    world.words["a"] = ShimBeat(end=AgentEnd.EXITED, exit_code=0)
    world.restarted()
    assert world.registry.views() == ()
    assert world.events[-1] == "agent_exited: coder finished"


def test_another_daemons_word_of_an_end_is_believed_over_absence(world: World) -> None:
    send = world.link()
    ended = world.stored["a"].model_copy(update={"end": AgentEnd.EXITED, "exit_code": 0})
    world.stored["a"] = ended
    world.registry.unlink("a", send)
    world.look(2)
    assert world.stored["a"] == ended
    assert world.registry.views() == ()


def test_an_older_report_changes_nothing_and_the_same_writes_nothing(world: World) -> None:
    world.link()
    world.registry.report("a", StageReport(stage="ready", at=START + timedelta(seconds=0)))
    world.advance(10)
    world.registry.report("a", StageReport(stage="running", at=START - timedelta(seconds=5)))
    world.registry.report("a", StageReport(stage="ready"))
    assert (world.view().stage, world.saves) == ("ready", 2)


def test_a_report_from_the_future_counts_as_now(world: World) -> None:
    """B8."""
    world.link()
    world.registry.report("a", StageReport(stage="ready", at=START + timedelta(days=1)))
    world.advance(5)
    world.registry.report("a", StageReport(stage="running"))
    assert world.view().stage == "running"


def test_ready_again_after_output_is_news(world: World) -> None:
    world.link()
    world.registry.report("a", StageReport(stage="ready"))
    world.advance(30)
    world.registry.beat("a", ShimBeat(output_age_ms=0))
    assert world.view().stage == "running"
    world.registry.report("a", StageReport(stage="ready"))
    assert world.view().is_ready
    assert len(world.events) == 3


def test_a_report_of_an_ended_or_unknown_agent_is_refused(world: World) -> None:
    with pytest.raises(NotFound):
        world.registry.report("a", StageReport(stage="ready"))
    world.link()
    world.registry.beat("a", ShimBeat(end=AgentEnd.EXITED, exit_code=3))
    with pytest.raises(Conflict, match="has ended: exited with code 3"):
        world.registry.report("a", StageReport(stage="ready"))


def test_a_clock_set_back_changes_no_judgement(world: World) -> None:
    """B8."""
    world.link()
    world.registry.beat("a", ShimBeat(output_age_ms=0))
    world.at -= timedelta(hours=3)
    world.tick_s += 11
    view = world.view()
    assert (view.stage, view.health, view.last_activity) == (None, None, world.at)


def test_a_machine_that_slept_does_not_make_old_output_new(world: World) -> None:
    """A sleep moves the date, and neither the monotonic clock nor the ages."""
    world.link()
    world.registry.beat("a", ShimBeat(output_age_ms=0))
    world.at += timedelta(hours=1)
    world.tick_s += 5
    world.registry.beat("a", ShimBeat(output_age_ms=5_000))
    assert world.view().last_activity == START


def test_beats_that_waited_for_a_stopped_daemon_do_not_make_old_output_new(world: World) -> None:
    world.link()
    world.advance(60)
    for age_ms in (0, 10_000, 60_000):
        world.registry.beat("a", ShimBeat(output_age_ms=age_ms))
    assert (world.view().stage, world.view().last_activity) == (None, START)


def test_a_spell_of_output_is_one_stage(world: World) -> None:
    world.link()
    for _ in range(5):
        world.advance(4)
        world.registry.beat("a", ShimBeat(output_age_ms=0))
    assert world.view().stage_since == START + timedelta(seconds=4)


def test_pause_and_resume_are_told_when_the_shim_confirms_them(world: World) -> None:
    world.link()
    world.registry.command("a", "pause")
    assert not world.view().is_paused
    for is_paused in (True, True, False):
        world.registry.beat("a", ShimBeat(is_paused=is_paused))
    assert world.events[1:] == ["agent_paused: coder paused", "agent_resumed: coder resumed"]


def test_a_command_needs_a_connected_shim_of_a_running_agent(world: World) -> None:
    send = world.link()
    world.registry.unlink("a", send)
    with pytest.raises(Conflict, match="not connected"):
        world.registry.command("a", "pause")
    world.link()
    world.registry.beat("a", ShimBeat(end=AgentEnd.KILLED, signal=15))
    with pytest.raises(Conflict, match="killed by SIGTERM"):
        world.registry.command("a", "pause")


def test_an_agent_that_runs_cannot_be_dismissed(world: World) -> None:
    send = world.link()
    with pytest.raises(Conflict, match="still runs"):
        world.registry.dismiss("a")
    world.lives(2)
    world.registry.unlink("a", send)
    with pytest.raises(Conflict, match="still runs"):
        world.registry.dismiss("a")


def test_a_worktree_is_missing_after_two_looks_and_back_after_one(world: World) -> None:
    """F3."""
    world.link()
    assert world.registry.worktrees() == {"a": "/w"}
    world.registry.note_worktrees({"a": False})
    world.registry.note_worktrees({"a": None})
    assert world.view().reason == ""
    world.registry.note_worktrees({"a": False})
    assert (world.view().reason, world.view().reason_since) == ("worktree missing", START)
    world.registry.note_worktrees({"a": True})
    assert world.view().reason == ""


def test_a_shim_that_cannot_tell_its_start_is_identified_here(world: World) -> None:
    world.link(shim=identity(1, start=""), process=identity(2, start=""))
    stored = world.stored["a"]
    assert (stored.shim, stored.process) == (identity(1, start="found"), identity(2, start="found"))


def test_ages_of_the_future_and_below_zero_are_now(world: World) -> None:
    """B8."""
    world.link(started_at=START + timedelta(hours=1))
    world.registry.beat("a", ShimBeat(output_age_ms=-5_000))
    view = world.view()
    assert (view.started_at, view.last_activity) == (START, START)
