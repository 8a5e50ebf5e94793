"""The hinge: facts to `LiveStatus`. Pure; every surface shows what this returns.

Order and cuts are decided here, after all is counted, so that no cap hides how much waits.
Every string from a task, plan, agent, branch or event is cleaned here, on its way out.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import get_args

from kasmos_plugin.contract.agent import AgentView
from kasmos_plugin.contract.event import EventRecord
from kasmos_plugin.contract.facts import Facts, FocusFacts
from kasmos_plugin.contract.live_status import (
    DEFAULT_CAP,
    MAX_CAP,
    ActiveAgent,
    AttentionItem,
    AttentionKind,
    EventItem,
    FocusSubtask,
    FocusWave,
    LifecycleCounts,
    LiveStatus,
    Notice,
    Readiness,
    Section,
    TaskFocus,
    TaskSummary,
    Truncation,
)
from kasmos_plugin.contract.task import ACTIVE_STATUSES, Phase, Task
from kasmos_plugin.errors import BadArgument
from kasmos_plugin.rules.approval import step_words
from kasmos_plugin.rules.lifecycle import needs_decision, needs_fixer
from kasmos_plugin.rules.text import GOAL_LIMIT, NAME_LIMIT, basename, clean

_URGENCY: tuple[AttentionKind, ...] = get_args(AttentionKind)
_SECTIONS: tuple[Section, ...] = get_args(Section)
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")


@dataclass(frozen=True, kw_only=True)
class Question:
    """How much of the facts a caller wants."""

    cap: int = DEFAULT_CAP
    include: frozenset[Section] = frozenset()


EVERYTHING = Question(include=frozenset(_SECTIONS))
"""What the monitor asks for."""


def question(cap: object = None, include: Iterable[str] = ()) -> Question:
    """Return the question that untrusted arguments mean.

    `cap` is an integer or its decimal text; 0 and less mean the default of 20, more than 100 means
    100. `include` names sections.

    Raises:
        BadArgument: `cap` is not an integer, or a section is unknown.
    """
    wanted = {name.strip() for name in include} - {""}
    if unknown := sorted(wanted - set(_SECTIONS)):
        raise BadArgument(
            f"Unknown section '{clean(unknown[0], 60)}'.",
            hint=f"the sections are {', '.join(_SECTIONS)}",
        )
    return Question(cap=_cap(cap), include=frozenset(name for name in _SECTIONS if name in wanted))


def assemble(facts: Facts, asked: Question, *, now: datetime) -> LiveStatus:
    """Return the snapshot of `facts` at `now` that answers `asked`."""
    cap = asked.cap
    agents = sorted(
        (agent for agent in facts.daemon.agents if agent.project == facts.project), key=_agent_order
    )
    attention = sorted(_attention(facts, agents, now), key=_attention_order)
    blocked = {item.task for item in attention}
    lifecycle = _lifecycle(facts)
    with_tasks, with_events = "tasks" in asked.include, "events" in asked.include
    return LiveStatus(
        generated_at=now,
        project=clean(facts.project, NAME_LIMIT),
        daemon_running=facts.daemon.is_running,
        uptime=uptime(facts.daemon.uptime_s) if facts.daemon.is_running else "",
        repo_count=facts.daemon.repo_count,
        lifecycle=lifecycle,
        active_agents=tuple(_active_agent(agent, now) for agent in agents[:cap]),
        attention=tuple(attention[:cap]),
        truncated=Truncation(
            active_agents=_cut(len(agents), cap),
            attention=_cut(len(attention), cap),
            tasks=_cut(lifecycle.total, cap) if with_tasks else 0,
            events=_cut(facts.event_count, cap) if with_events else 0,
        ),
        projects=tuple(clean(name, NAME_LIMIT) for name in facts.projects)
        if "projects" in asked.include
        else None,
        tasks=tuple(_summary(task, blocked) for task in facts.tasks[:cap]) if with_tasks else None,
        events=tuple(_event(event, now) for event in facts.events[:cap]) if with_events else None,
        focus=_focus(facts.focus) if facts.focus is not None else None,
        notices=tuple(
            Notice(code=notice.code, message=clean(notice.message))
            for notice in (*facts.daemon.notices, *facts.notices)
        ),
    )


def uptime(seconds: int) -> str:
    """Return whole seconds as `45s`, `3m0s`, `1h0m5s` or `49h3m10s`; "" for none."""
    minutes, rest = divmod(max(seconds, 0), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}h{minutes}m{rest}s"
    if minutes:
        return f"{minutes}m{rest}s"
    return f"{rest}s" if rest else ""


def _cap(value: object) -> int:
    if value is None:
        return DEFAULT_CAP
    text = str(value) if isinstance(value, int | str) and not isinstance(value, bool) else ""
    if not _INTEGER.fullmatch(text):
        raise BadArgument(f"cap '{clean(str(value), 60)}' is not an integer.", hint="cap=20")
    number = int(text)
    return DEFAULT_CAP if number <= 0 else min(number, MAX_CAP)


def _cut(total: int, cap: int) -> int:
    return max(total - cap, 0)


def _lifecycle(facts: Facts) -> LifecycleCounts:
    counts = {status.value: facts.counts.get(status, 0) for status in ACTIVE_STATUSES}
    return LifecycleCounts(**counts, total=sum(counts.values()))


def _agent_order(agent: AgentView) -> tuple[str, str, int, int, str]:
    return (agent.task, agent.role, agent.wave, agent.task_number, agent.id)


def _active_agent(agent: AgentView, now: datetime) -> ActiveAgent:
    return ActiveAgent(
        task=clean(agent.task, NAME_LIMIT),
        role=clean(agent.role, NAME_LIMIT),
        wave=agent.wave,
        stage=agent.stage,
        ready=agent.is_ready,
        active=agent.is_active,
        worktree=basename(agent.worktree),
        branch=clean(agent.branch, NAME_LIMIT),
        task_number=agent.task_number,
        last_activity=_past(agent.last_activity, now),
        paused=agent.is_paused,
        id=clean(agent.id, NAME_LIMIT),
        program=basename(agent.program),
        stage_since=_past(agent.stage_since, now),
        health=agent.health,
        evidence=agent.evidence,
    )


def _attention(facts: Facts, agents: Sequence[AgentView], now: datetime) -> Iterable[AttentionItem]:
    for task in facts.waiting:
        name = clean(task.filename, NAME_LIMIT)
        if needs_decision(task):
            moments = [task.phase_at] if task.phase is Phase.WAVE_WAITING else []
            moments += [at for at in (task.blocked_at, task.pending_at) if at is not None]
            yield AttentionItem(
                task=name,
                kind="needs_decision",
                detail=clean("; ".join(_reasons(task))),
                since=_past(min(moments, default=None), now),
            )
        if needs_fixer(task):
            yield AttentionItem(
                task=name, kind="review_feedback", since=_past(task.feedback_at, now)
            )
    for agent in agents:
        if agent.reason:
            yield AttentionItem(
                task=clean(agent.task, NAME_LIMIT),
                kind="stale_instance",
                detail=clean(agent.reason),
                since=_past(agent.reason_since, now),
                agent=clean(agent.id, NAME_LIMIT),
            )


def _reasons(task: Task) -> Iterable[str]:
    if task.block_reason:
        yield task.block_reason
    if task.pending_step is not None:
        yield f"approve: {step_words(task.pending_step, task.pending_wave)}"


def _attention_order(item: AttentionItem) -> tuple[int, float, str, str]:
    since = item.since.timestamp() if item.since is not None else float("inf")
    return (_URGENCY.index(item.kind), since, item.task, item.agent)


def _summary(task: Task, blocked: set[str]) -> TaskSummary:
    name = clean(task.filename, NAME_LIMIT)
    return TaskSummary(
        filename=name,
        status=task.status,
        phase=task.phase,
        topic=clean(task.topic, NAME_LIMIT),
        branch=clean(task.branch, NAME_LIMIT),
        active_wave=task.active_wave,
        total_waves=task.total_waves,
        subtasks_done=task.subtasks_done,
        subtasks_total=task.subtasks_total,
        review_cycle=task.review_cycle,
        pr_url=clean(task.pr_url, 2_000),
        pr_check_status=task.pr_check_status,
        pr_review_decision=task.pr_review_decision,
        blocked=name in blocked,
    )


def _event(event: EventRecord, now: datetime) -> EventItem:
    return EventItem(
        at=min(event.at, now),
        kind=clean(event.kind, NAME_LIMIT),
        message=clean(event.message),
        task=clean(event.task, NAME_LIMIT),
        agent=clean(event.agent, NAME_LIMIT),
        wave=event.wave,
        task_number=event.task_number,
        level=event.level,
    )


def _focus(focus: FocusFacts) -> TaskFocus:
    task = focus.task
    return TaskFocus(
        filename=clean(task.filename, NAME_LIMIT),
        goal=clean(task.goal, GOAL_LIMIT),
        waves=tuple(
            FocusWave(
                wave=wave.wave,
                title=clean(wave.title, NAME_LIMIT),
                active=wave.wave == task.active_wave,
                tasks=tuple(
                    FocusSubtask(
                        number=subtask.number,
                        title=clean(subtask.title, NAME_LIMIT),
                        status=subtask.status,
                    )
                    for subtask in focus.subtasks
                    if subtask.wave == wave.wave
                ),
            )
            for wave in focus.waves
        ),
        readiness=Readiness(
            status=task.status,
            review_cycle=task.review_cycle,
            has_review_feedback=bool(task.feedback.strip()),
            pr_check_status=task.pr_check_status,
            pr_review_decision=task.pr_review_decision,
            last_verify_outcome=task.last_verify_outcome,
        ),
    )


def _past(at: datetime | None, now: datetime) -> datetime | None:
    return None if at is None else min(at, now)
