"""Evidence about one agent to the words that the monitor says. Pure; looks at nothing itself.

The evidence, strongest first: what the agent reported, what its shim saw of its output, what the
process table says of its pid, start and boot. Never the text on a terminal.

                     heartbeat              silent > 30 s
     loading ─────────────────────> alive ───────────────> stale: no heartbeat for 45s
        │  report, or output          │  process and shim gone, seen twice
        v                             v
     running / ready                 lost          (an exit report says: exited, killed)

Ages are the caller's monotonic ones, so that a clock set back or forward changes no judgement; the
instants beside them are only shown, and never lie in the future.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from signal import Signals

from kasmos_plugin.contract.agent import AgentEnd, AgentRecord, AgentView, Evidence, Stage
from kasmos_plugin.rules.text import basename

OUTPUT_IS_FRESH_S = 10.0
"""Output younger than this says that the agent runs."""
HEARTBEAT_LIMIT_S = 30.0
"""A shim that is silent for longer is a health reason."""
SETTLE_S = 1.0
"""Output this soon after a report belongs to it: a prompt is drawn while a hook still reports."""
SESSION_LIMIT_S = 300.0
"""A reported `running` without a shim to back it is believed for this long."""
LISTED_AFTER_END = timedelta(hours=24)
"""A bad end stays listed for this long when nobody dismisses it."""


class Presence(StrEnum):
    """What the process table says, after as many looks as it takes."""

    PRESENT = "present"
    ABSENT = "absent"
    """Shim and process are both gone; seen twice."""
    UNKNOWN = "unknown"
    """It cannot be told, or was seen to be gone only once."""


@dataclass(frozen=True, kw_only=True)
class Traces:
    """Everything that is known of one agent at one moment."""

    record: AgentRecord
    presence: Presence = Presence.UNKNOWN
    silence_s: float = 0.0
    """Since the shim was last heard, or since the daemon began to listen for it."""
    was_heard: bool = True
    """The shim has spoken to this daemon."""
    in_grace: bool = False
    """The daemon started so recently that the shim may not have found it yet."""
    is_linked: bool = True
    """The shim's connection is open."""
    report_age_s: float | None = None
    output_age_s: float | None = None
    output_at: datetime | None = None
    output_since: datetime | None = None
    """When the present spell of output began."""
    worktree_missing_since: datetime | None = None


def judge(traces: Traces, *, now: datetime) -> AgentView:
    """Return what may be said of the agent at `now`."""
    record = traces.record
    view = AgentView(
        id=record.id,
        project=record.project,
        task=record.task,
        role=record.role,
        wave=record.wave,
        task_number=record.task_number,
        program=basename(record.program),
        branch=record.branch,
        worktree=basename(record.worktree),
        last_activity=_latest(traces.output_at, record.stage_at, now=now),
        started_at=min(record.started_at, now),
        pid=record.process.pid if record.process is not None else 0,
    )
    if record.end is not None:
        reason = end_reason(record)
        return view.model_copy(
            update={
                "health": "stale" if reason else None,
                "evidence": "process",
                "reason": reason,
                "reason_since": _past(record.ended_at, now) if reason else None,
                "pid": 0,
            }
        )
    if is_unknown(traces):
        return view.model_copy(update={"health": "unknown"} | _silent(traces, now))
    stage, since, evidence = _stage(traces)
    words: dict[str, object] = {
        "stage": stage,
        "stage_since": _past(since, now),
        "is_ready": stage == "ready",
        "is_active": not record.is_paused,
        "is_paused": record.is_paused,
        "evidence": evidence,
    }
    return view.model_copy(update=words | (_silent(traces, now) or _misplaced(traces, now)))


def is_unknown(traces: Traces) -> bool:
    """Return whether nothing can be said of the agent but that it was there."""
    if traces.is_linked and traces.silence_s <= HEARTBEAT_LIMIT_S:
        return traces.record.shim is None and _is_stale_session(traces)
    if traces.in_grace and not traces.was_heard:
        return True
    return traces.presence is not Presence.PRESENT


def is_lost(traces: Traces) -> bool:
    """Return whether shim and process are gone without an exit report.

    A process that lives is never lost, whoever is silent; one that cannot be seen is not either.
    """
    return (
        traces.record.end is None
        and traces.presence is Presence.ABSENT
        and not traces.is_linked
        and not (traces.in_grace and not traces.was_heard)
    )


def end_reason(record: AgentRecord) -> str:
    """Return how the agent ended, as a health reason; empty while it has not, or ended cleanly."""
    match record.end:
        case AgentEnd.LOST:
            return "lost"
        case AgentEnd.KILLED:
            return f"killed by {signal_name(record.signal or 0)}"
        case AgentEnd.EXITED if record.exit_code != 0:
            return f"exited with code {record.exit_code if record.exit_code is not None else '?'}"
        case _:
            return ""


def has_ended_well(record: AgentRecord) -> bool:
    """Return whether the agent ended by itself with code 0."""
    return record.end is AgentEnd.EXITED and record.exit_code == 0


def why_unlisted(record: AgentRecord, *, is_task_closed: bool, now: datetime) -> str:
    """Return why an ended agent no longer concerns anyone, empty while it does."""
    if record.end is None:
        return ""
    if is_task_closed:
        return "its task is closed"
    ended_at = record.ended_at or record.started_at
    return "it ended a day ago" if now - ended_at >= LISTED_AFTER_END else ""


def signal_name(number: int) -> str:
    """Return a signal's name, such as `SIGKILL`, or `signal 77` when it has none."""
    try:
        return Signals(number).name
    except ValueError:
        return f"signal {number}"


def duration(seconds: float) -> str:
    """Return an age as `45s`, `3m` or `2h`."""
    whole = max(int(seconds), 0)
    if whole < 60:
        return f"{whole}s"
    return f"{whole // 60}m" if whole < 3600 else f"{whole // 3600}h"


def _stage(traces: Traces) -> tuple[Stage | None, datetime | None, Evidence]:
    """Return the stage, since when, and what it rests on.

    A stopped process neither loads nor runs; it can still be the one that waits for a person.
    """
    record = traces.record
    stage, since, evidence = _moving_stage(traces)
    if record.is_paused and stage != "ready":
        return None, None, "process"
    return stage, since, evidence


def _moving_stage(traces: Traces) -> tuple[Stage | None, datetime | None, Evidence]:
    record = traces.record
    is_fresh = traces.output_age_s is not None and traces.output_age_s <= OUTPUT_IS_FRESH_S
    if record.stage is not None and not is_contradicted(traces):
        return record.stage, record.stage_at, "report"
    if is_fresh:
        return "running", traces.output_since, "output"
    if record.stage is None and traces.output_age_s is None and traces.was_heard:
        return "loading", record.started_at, "process"
    return None, None, "process"


def is_contradicted(traces: Traces) -> bool:
    """Return whether output came after a report that there would be none."""
    if traces.record.stage == "running" or traces.output_age_s is None:
        return False
    if traces.report_age_s is None:
        return False
    return traces.report_age_s - traces.output_age_s > SETTLE_S


def _is_stale_session(traces: Traces) -> bool:
    age = traces.report_age_s
    return traces.record.stage == "running" and age is not None and age > SESSION_LIMIT_S


def _silent(traces: Traces, now: datetime) -> dict[str, object]:
    """Return the health of an agent whose shim says nothing, empty while it speaks."""
    if traces.record.shim is None or traces.silence_s <= HEARTBEAT_LIMIT_S:
        return {}
    if traces.in_grace and not traces.was_heard:
        return {}
    words: dict[str, object] = {
        "reason": f"no heartbeat for {duration(traces.silence_s)}",
        "reason_since": now - timedelta(seconds=traces.silence_s),
    }
    return words if is_unknown(traces) else words | {"health": "stale"}


def _misplaced(traces: Traces, now: datetime) -> dict[str, object]:
    if traces.worktree_missing_since is None:
        return {}
    return {
        "health": "stale",
        "reason": "worktree missing",
        "reason_since": _past(traces.worktree_missing_since, now),
    }


def _latest(*moments: datetime | None, now: datetime) -> datetime | None:
    known = [min(moment, now) for moment in moments if moment is not None]
    return max(known, default=None)


def _past(at: datetime | None, now: datetime) -> datetime | None:
    return None if at is None else min(at, now)
