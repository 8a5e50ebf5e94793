"""rules.health: from evidence to words."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kasmos_plugin.contract.agent import AgentEnd, AgentRecord, ProcessIdentity
from kasmos_plugin.rules.health import (
    Presence,
    Traces,
    duration,
    end_reason,
    is_lost,
    judge,
    why_unlisted,
)

NOW = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
STARTED = NOW - timedelta(minutes=10)
IDENTITY = ProcessIdentity(pid=7, start="70", boot_id="b")


def record(**changes: object) -> AgentRecord:
    base = AgentRecord(
        id="a", project="p", started_at=STARTED, shim=IDENTITY, process=IDENTITY, worktree="/x/wt"
    )
    return AgentRecord.model_validate(base.model_dump() | changes)


def words(traces: Traces) -> dict[str, object]:
    """Return what is said, without what only names the agent."""
    said = judge(traces, now=NOW).model_dump(exclude_defaults=True)
    for name in ("id", "project", "role", "started_at", "pid", "worktree"):
        said.pop(name, None)
    return said


def test_a_spawned_agent_without_report_or_output_is_loading() -> None:
    assert words(Traces(record=record())) == {
        "stage": "loading",
        "stage_since": STARTED,
        "is_active": True,
        "evidence": "process",
    }


def test_fresh_output_says_running() -> None:
    at, since = NOW - timedelta(seconds=3), NOW - timedelta(seconds=60)
    traces = Traces(record=record(), output_age_s=3.0, output_at=at, output_since=since)
    assert words(traces) == {
        "stage": "running",
        "stage_since": since,
        "is_active": True,
        "last_activity": at,
        "evidence": "output",
    }


def test_alive_and_quiet_is_active_without_a_stage() -> None:
    at = NOW - timedelta(seconds=11)
    traces = Traces(record=record(), output_age_s=11.0, output_at=at, output_since=at)
    assert words(traces) == {"is_active": True, "last_activity": at, "evidence": "process"}


@pytest.mark.parametrize("age_s", [0.0, 60.0, 86_400.0])
def test_a_reported_ready_never_ages(age_s: float) -> None:
    at = NOW - timedelta(seconds=age_s)
    traces = Traces(
        record=record(stage="ready", stage_at=at), report_age_s=age_s, output_age_s=age_s + 1
    )
    assert words(traces) == {
        "stage": "ready",
        "stage_since": at,
        "is_ready": True,
        "is_active": True,
        "last_activity": at,
        "evidence": "report",
    }


def test_the_prompt_drawn_with_a_report_does_not_contradict_it() -> None:
    traces = Traces(
        record=record(stage="ready", stage_at=NOW), report_age_s=20.0, output_age_s=19.5
    )
    assert judge(traces, now=NOW).is_ready


def test_output_after_a_reported_ready_says_running_and_then_nothing() -> None:
    ready = record(stage="ready", stage_at=STARTED)
    fresh = Traces(record=ready, report_age_s=60.0, output_age_s=2.0)
    assert (judge(fresh, now=NOW).stage, judge(fresh, now=NOW).evidence) == ("running", "output")
    quiet = Traces(record=ready, report_age_s=90.0, output_age_s=32.0)
    assert (judge(quiet, now=NOW).stage, judge(quiet, now=NOW).is_ready) == (None, False)


def test_a_reported_running_is_kept_through_silence() -> None:
    traces = Traces(
        record=record(stage="running", stage_at=STARTED), report_age_s=600.0, output_age_s=500.0
    )
    assert (judge(traces, now=NOW).stage, judge(traces, now=NOW).evidence) == ("running", "report")


@pytest.mark.parametrize(
    ("stage", "said"), [("ready", "ready"), ("running", None), ("loading", None), (None, None)]
)
def test_a_paused_agent_is_not_active_and_neither_loads_nor_runs(
    stage: str | None, said: str | None
) -> None:
    traces = Traces(record=record(is_paused=True, stage=stage, stage_at=STARTED), report_age_s=9.0)
    view = judge(traces, now=NOW)
    assert (view.is_paused, view.is_active, view.stage, view.health) == (True, False, said, None)


def test_a_silent_shim_of_a_living_process_is_a_reason() -> None:
    traces = Traces(
        record=record(), silence_s=45.4, presence=Presence.PRESENT, is_linked=False, output_age_s=60
    )
    assert words(traces) == {
        "is_active": True,
        "health": "stale",
        "evidence": "process",
        "reason": "no heartbeat for 45s",
        "reason_since": NOW - timedelta(seconds=45.4),
    }


def test_a_process_that_cannot_be_seen_is_unknown_and_never_lost() -> None:
    traces = Traces(record=record(), silence_s=45.0, is_linked=False)
    assert words(traces) == {
        "health": "unknown",
        "reason": "no heartbeat for 45s",
        "reason_since": NOW - timedelta(seconds=45),
    }
    assert not is_lost(traces)


def test_a_remembered_agent_is_unknown_in_the_grace_after_a_restart_then_judged() -> None:
    ready = record(stage="ready", stage_at=STARTED)
    present = {"record": ready, "presence": Presence.PRESENT, "is_linked": False, "silence_s": 5.0}
    assert words(Traces(**present, was_heard=False, in_grace=True)) == {  # type: ignore[arg-type]  # one dict for both
        "health": "unknown",
        "last_activity": STARTED,
    }
    later = judge(Traces(**present, was_heard=False, report_age_s=60.0), now=NOW)  # type: ignore[arg-type]  # as above
    assert (later.is_ready, later.is_active, later.health) == (True, True, None)


def test_a_remembered_agent_is_not_loading_only_because_nothing_was_heard_of_it() -> None:
    traces = Traces(record=record(), presence=Presence.PRESENT, is_linked=False, was_heard=False)
    assert (judge(traces, now=NOW).stage, judge(traces, now=NOW).is_active) == (None, True)


@pytest.mark.parametrize("in_grace", [True, False])
def test_shim_and_process_gone_is_lost_once_the_grace_is_over(in_grace: bool) -> None:
    traces = Traces(
        record=record(),
        presence=Presence.ABSENT,
        is_linked=False,
        was_heard=False,
        in_grace=in_grace,
    )
    assert is_lost(traces) is not in_grace


def test_a_hook_session_that_runs_is_unknown_after_five_minutes_and_a_ready_one_is_not() -> None:
    session = {"shim": None, "process": None, "stage_at": STARTED}
    running = Traces(record=record(**session, stage="running"), report_age_s=301.0)
    ready = Traces(record=record(**session, stage="ready"), report_age_s=301.0)
    assert (judge(running, now=NOW).health, judge(ready, now=NOW).is_ready) == ("unknown", True)


@pytest.mark.parametrize(
    ("end", "reason"),
    [
        ({"end": AgentEnd.EXITED, "exit_code": 3}, "exited with code 3"),
        ({"end": AgentEnd.KILLED, "signal": 9}, "killed by SIGKILL"),
        ({"end": AgentEnd.KILLED, "signal": 77}, "killed by signal 77"),
        ({"end": AgentEnd.LOST}, "lost"),
    ],
)
def test_an_end_is_its_reason(end: dict[str, object], reason: str) -> None:
    traces = Traces(record=record(**end, ended_at=NOW, stage="ready", stage_at=STARTED))
    assert words(traces) == {
        "health": "stale",
        "evidence": "process",
        "reason": reason,
        "reason_since": NOW,
        "last_activity": STARTED,
    }


def test_a_clean_end_has_no_reason() -> None:
    assert end_reason(record(end=AgentEnd.EXITED, exit_code=0)) == ""


def test_a_missing_worktree_is_a_reason_and_leaves_the_rest() -> None:
    """F3."""
    since = NOW - timedelta(seconds=9)
    assert words(Traces(record=record(), worktree_missing_since=since)) == {
        "stage": "loading",
        "stage_since": STARTED,
        "is_active": True,
        "health": "stale",
        "evidence": "process",
        "reason": "worktree missing",
        "reason_since": since,
    }


def test_times_from_the_future_are_shown_as_now() -> None:
    """B8."""
    future = NOW + timedelta(hours=1)
    traces = Traces(
        record=record(started_at=future, stage="ready", stage_at=future),
        output_at=future,
        output_since=future,
        output_age_s=0.0,
        report_age_s=0.0,
        worktree_missing_since=future,
    )
    view = judge(traces, now=NOW)
    shown = (view.started_at, view.stage_since, view.last_activity, view.reason_since)
    assert shown == (NOW, NOW, NOW, NOW)


@pytest.mark.parametrize(
    ("changes", "closed", "why"),
    [
        ({}, True, ""),
        ({"end": AgentEnd.LOST, "ended_at": NOW}, False, ""),
        ({"end": AgentEnd.LOST, "ended_at": NOW}, True, "its task is closed"),
        ({"end": AgentEnd.LOST, "ended_at": NOW - timedelta(hours=24)}, False, "a day ago"),
        ({"end": AgentEnd.LOST, "ended_at": NOW + timedelta(hours=24)}, False, ""),
    ],
)
def test_a_bad_end_stays_listed_until_its_task_closes_or_a_day_has_passed(
    changes: dict[str, object], closed: bool, why: str
) -> None:
    said = why_unlisted(record(**changes), is_task_closed=closed, now=NOW)
    assert said.endswith(why)
    assert bool(said) is bool(why)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(-1, "0s"), (0.9, "0s"), (45.9, "45s"), (60, "1m"), (3599, "59m"), (7200, "2h")],
)
def test_an_age_is_short(seconds: float, text: str) -> None:
    assert duration(seconds) == text


moments = st.one_of(
    st.none(), st.timedeltas(timedelta(days=-2), timedelta(days=2)).map(lambda ago: NOW - ago)
)
ages = st.one_of(st.none(), st.floats(0, 200_000))
traces_of_all_kinds = st.builds(
    Traces,
    record=st.builds(
        record,
        stage=st.sampled_from([None, "loading", "ready", "running"]),
        stage_at=moments,
        is_paused=st.booleans(),
        end=st.sampled_from([None, *AgentEnd]),
        exit_code=st.sampled_from([None, 0, 3]),
        signal=st.sampled_from([None, 9]),
        ended_at=moments,
        shim=st.sampled_from([None, IDENTITY]),
    ),
    presence=st.sampled_from(Presence),
    silence_s=st.floats(0, 200_000),
    was_heard=st.booleans(),
    in_grace=st.booleans(),
    is_linked=st.booleans(),
    report_age_s=ages,
    output_age_s=ages,
    output_at=moments,
    output_since=moments,
    worktree_missing_since=moments,
)


@given(traces_of_all_kinds)
def test_whatever_the_evidence_the_words_agree_with_each_other(traces: Traces) -> None:
    view = judge(traces, now=NOW)
    if view.health == "unknown" or traces.record.end is not None:
        assert (view.stage, view.is_ready, view.is_active, view.is_paused) == (
            None,
            False,
            False,
            False,
        )
    assert view.is_ready == (view.stage == "ready")
    assert not (view.is_active and view.is_paused)
    if view.is_ready:
        assert view.evidence == "report"
    if view.reason:
        assert view.health is not None
    for moment in (view.stage_since, view.last_activity, view.reason_since, view.started_at):
        assert moment is None or moment <= NOW
    if is_lost(traces):
        assert traces.presence is Presence.ABSENT
        assert not traces.is_linked
