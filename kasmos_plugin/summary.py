"""A snapshot in words: the same facts for a reader that draws nothing. Pure; adds no judgement.

Used as the text of tool results and by the terminal. It never says that something was drawn.
"""

from collections.abc import Iterator
from datetime import datetime

from kasmos_plugin.contract.live_status import (
    ActiveAgent,
    AttentionItem,
    LiveStatus,
    Readiness,
    TaskFocus,
    TaskSummary,
)
from kasmos_plugin.contract.task import ACTIVE_STATUSES, Task
from kasmos_plugin.rules.text import clean

EVENT_LIMIT = 100
"""Graphemes of an event in the text, which stays under 8 kB with twenty of everything."""

ATTENTION_WORDS = {
    "needs_decision": "needs a decision",
    "review_feedback": "has review feedback",
    "stale_instance": "has an agent that needs a look",
}


def age(since: datetime, now: datetime) -> str:
    """Return how long ago `since` was as `now`, `12s`, `4m`, `2h` or `3d`; never in the future."""
    seconds = max(int((now - since).total_seconds()), 0)
    for unit, size in (("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1)):
        if seconds >= size:
            return f"{seconds // size}{unit}"
    return "now"


def plural(count: int, noun: str) -> str:
    """Return `1 agent`, `2 agents`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def waiting_count(status: LiveStatus) -> int:
    """Return how many attention items there are, those cut off included."""
    return len(status.attention) + status.truncated.attention


def agent_count(status: LiveStatus) -> int:
    """Return how many agents are listed, those cut off included."""
    return len(status.active_agents) + status.truncated.active_agents


def headline(status: LiveStatus) -> str:
    """Return the state in one line, such as `3 implementing, 4 agents, 1 waiting for you`."""
    counts = [(getattr(status.lifecycle, name.value), name.value) for name in ACTIVE_STATUSES]
    parts = [f"{count} {name}" for count, name in counts if count] or ["no active tasks"]
    parts.append(
        plural(agent_count(status), "agent") if status.daemon_running else "agents unknown"
    )
    if waiting := waiting_count(status):
        parts.append(f"{waiting} waiting for you")
    return ", ".join(parts)


def describe(status: LiveStatus, *, link: str = "") -> str:
    """Return the whole snapshot as lines of text, ending with `link` when it is given."""
    return "\n".join(_lines(status, link))


def agent_line(agent: ActiveAgent, now: datetime) -> str:
    """Return one agent as `coder on auth wave 1 task 2: running for 4m, branch b, worktree w`."""
    who = agent.role
    if agent.program:
        who += f" ({agent.program})"
    if agent.task:
        who += f" on {agent.task}"
    if agent.wave:
        who += f" wave {agent.wave}"
    if agent.task_number:
        who += f" task {agent.task_number}"
    facts = [agent_state(agent)]
    if agent.stage and agent.stage_since is not None and not agent.paused:
        facts[0] += f" for {age(agent.stage_since, now)}"
    if agent.last_activity is not None:
        facts.append(f"last activity {age(agent.last_activity, now)}")
    if agent.branch:
        facts.append(f"branch {agent.branch}")
    if agent.worktree:
        facts.append(f"worktree {agent.worktree}")
    if agent.id:
        facts.append(f"id {agent.id}")
    return f"{who}: {', '.join(facts)}"


def agent_state(agent: ActiveAgent) -> str:
    """Return an agent's state in a word or two; each state that differs has its own."""
    if agent.health == "unknown":
        return "unknown"
    if agent.health == "stale":
        return "needs a look"
    if agent.paused:
        return "paused"
    if agent.stage == "ready":
        return "ready, waits for a person"
    return agent.stage or ("alive, quiet" if agent.active else "unknown")


def attention_line(item: AttentionItem, now: datetime) -> str:
    """Return one attention item as `auth needs a decision: reason (12m)`."""
    words = f"{item.task or 'an agent'} {ATTENTION_WORDS[item.kind]}"
    if not item.task and item.kind == "stale_instance":
        words = "an agent needs a look"
    if item.detail:
        words += f": {item.detail}"
    if item.agent:
        words += f" [{item.agent}]"
    return f"{words} ({age(item.since, now)})" if item.since is not None else words


def task_line(task: TaskSummary) -> str:
    """Return one task as `auth: implementing, wave running, wave 1 of 2, 3 of 5 done`."""
    facts = [status_words(task), progress(task)]
    if task.review_cycle:
        facts.append(f"review cycle {task.review_cycle}")
    facts += pull_request_facts(task)
    if task.branch:
        facts.append(f"branch {task.branch}")
    if task.blocked:
        facts.append("waits for you")
    return f"{task.filename}: {', '.join(facts)}"


def status_words(task: Task | TaskSummary) -> str:
    """Return status and phase, such as `implementing, wave running`."""
    if task.phase is None or task.phase.value == task.status.value:
        return task.status.value
    return f"{task.status.value}, {task.phase.value.replace('_', ' ')}"


def pull_request_facts(of: Task | TaskSummary | Readiness) -> Iterator[str]:
    """Yield what is known of the pull request, such as `checks passing`, `review approved`."""
    if of.pr_check_status:
        yield f"checks {of.pr_check_status}"
    if of.pr_review_decision:
        yield f"review {of.pr_review_decision.replace('_', ' ')}"


def progress(task: TaskSummary) -> str:
    """Return how far a task is; a plan without waves is `no waves`, never complete."""
    if not task.total_waves:
        return "no waves"
    wave = (
        f"wave {task.active_wave} of {task.total_waves}, "
        if task.active_wave
        else f"{plural(task.total_waves, 'wave')}, "
    )
    return f"{wave}{task.subtasks_done} of {task.subtasks_total} done"


def _lines(status: LiveStatus, link: str) -> Iterator[str]:
    now = status.generated_at
    name = f"project {status.project}: " if status.project else ""
    yield f"{name}{headline(status)}"
    for notice in status.notices:
        yield f"note: {notice.message} ({notice.code})"
    if status.projects is not None and len(status.projects) > 1:
        yield f"projects: {', '.join(status.projects)}"
    if status.attention:
        yield "waiting for you:"
        yield from (f"- {attention_line(item, now)}" for item in status.attention)
        yield from _more(status.truncated.attention)
    elif status.daemon_running:
        yield "waiting for you: nothing"
    else:
        yield "waiting for you: nothing in the store; the health of agents is unknown"
    if status.active_agents:
        yield "agents:"
        yield from (f"- {agent_line(agent, now)}" for agent in status.active_agents)
        yield from _more(status.truncated.active_agents)
    else:
        yield "agents: none" if status.daemon_running else "agents: unknown"
    if status.tasks is not None:
        yield "tasks:" if status.tasks else "tasks: none active"
        yield from (f"- {task_line(task)}" for task in status.tasks)
        yield from _more(status.truncated.tasks)
    if status.focus is not None:
        yield from _focus_lines(status.focus)
    if status.events:
        yield "events, newest first:"
        for event in status.events:
            subject = f"{event.task}: " if event.task else ""
            level = f"{event.level}: " if event.level not in (None, "info") else ""
            message = clean(event.message, EVENT_LIMIT)
            yield f"- {age(event.at, now)} {level}{subject}{message}"
        yield from _more(status.truncated.events)
    if status.daemon_running and status.uptime:
        yield f"daemon up {status.uptime}"
    if link:
        yield f"monitor in a browser: {link}"


def _focus_lines(focus: TaskFocus) -> Iterator[str]:
    ready = focus.readiness
    facts = [ready.status.value]
    if ready.review_cycle:
        facts.append(f"review cycle {ready.review_cycle}")
    if ready.has_review_feedback:
        facts.append("review feedback to address")
    facts += pull_request_facts(ready)
    if ready.last_verify_outcome:
        facts.append(f"last verification {ready.last_verify_outcome}")
    yield f"task {focus.filename}: {', '.join(facts)}"
    if focus.goal:
        yield f"goal: {focus.goal}"
    if not focus.waves:
        yield "no waves"
    for wave in focus.waves:
        title = f": {wave.title}" if wave.title else ""
        yield f"wave {wave.wave}{title}{' (active)' if wave.active else ''}"
        yield from (f"- {task.number}. {task.title}: {task.status}" for task in wave.tasks)


def _more(count: int) -> Iterator[str]:
    if count:
        yield f"- and {count} more"
