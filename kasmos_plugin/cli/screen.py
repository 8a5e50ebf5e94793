"""The live view as lines: a snapshot fitted into a terminal's size. Pure; knows no terminal.

Who waits for a person stands first, then whether it moves, then where everything is. What does not
fit is counted, never dropped without a word.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from rich.text import Text

from kasmos_plugin.cli.grid import fitted, grid, spread
from kasmos_plugin.cli.look import MENDING
from kasmos_plugin.cli.marks import (
    BROKEN,
    DONE,
    QUIET,
    RUNS,
    UNKNOWN,
    WAITS,
    Mark,
    agent_mark,
    level_mark,
    subtask_mark,
    task_mark,
)
from kasmos_plugin.cli.stack import Section, beside, stack
from kasmos_plugin.contract.live_status import (
    ActiveAgent,
    AttentionItem,
    EventItem,
    FocusSubtask,
    FocusWave,
    LiveStatus,
    TaskFocus,
    TaskSummary,
)
from kasmos_plugin.contract.task import ACTIVE_STATUSES, Phase, SubtaskStatus
from kasmos_plugin.summary import ATTENTION_WORDS, age, agent_count, agent_state, plural
from kasmos_plugin.summary import waiting_count as waiting

TWO_COLUMNS_FROM = 150
_AGENT_WORDS = ("running", "ready", "loading", "quiet", "paused", "needs a look", "unknown")
BAR = 10
"""Marks of a progress bar at most."""


@dataclass(frozen=True, kw_only=True)
class Sight:
    """What is known when the screen is drawn: the last good snapshot, and how it went since."""

    status: LiveStatus | None = None
    age_s: float = 0.0
    """Since the snapshot came, by a clock that nobody sets."""
    problem: str = ""
    """Why the last look failed; empty while all is well."""
    hint: str = ""
    retry_s: float = 0.0


def draw(sight: Sight, *, width: int, height: int) -> list[Text]:
    """Return at most `height` lines of `width` cells."""
    status = sight.status
    if status is None:
        return [fitted(Text("asking …", "dim"), width)]
    lines = [*_head(status, sight, width), *_problem(sight, width), *_notices(status, width)]
    unseen: list[str] = []
    room = height - len(lines) - 1
    now = status.generated_at
    if width >= TWO_COLUMNS_FROM:
        left_width = (width - 4) * 45 // 100
        right_width = width - 4 - left_width
        left = stack(
            [
                _attention(status, left_width),
                _tasks(status, left_width),
                _focus(status, left_width),
            ],
            room,
            left_width,
            unseen,
        )
        right = stack(
            [_agents(status, right_width), _events(status, now, right_width)],
            room,
            right_width,
            unseen,
        )
        lines += beside(left, right, left_width, right_width)
    else:
        sections = [
            _attention(status, width),
            _agents(status, width),
            _tasks(status, width),
            _focus(status, width),
            _events(status, now, width),
        ]
        lines += stack(sections, room, width, unseen)
    lines = lines[: height - 1]
    lines += [Text(" " * width)] * (height - 1 - len(lines))
    return [*lines, _foot(status, unseen, width)][:height]


def headline(status: LiveStatus) -> Text:
    """Return the one sentence that a person looks for: does something wait, does it move."""
    now = status.generated_at
    if count := waiting(status):
        moments = [item.since for item in status.attention if item.since is not None]
        oldest = f" · {age(min(moments), now)}" if moments else ""
        words = "waits for you" if count == 1 else "wait for you"
        return _marked(WAITS, f"{count} {words}{oldest}", bold=True)
    if not status.daemon_running:
        return _marked(UNKNOWN, "agents unknown · store only")
    if any(agent.active for agent in status.active_agents):
        return _marked(RUNS, "all moving")
    latest = status.events[0].at.astimezone() if status.events else None
    return _marked(QUIET, f"idle since {latest:%H:%M}" if latest is not None else "idle")


def _head(status: LiveStatus, sight: Sight, width: int) -> Iterator[Text]:
    is_stale = bool(sight.problem)
    freshness = f"stale · {_seconds(sight.age_s)}" if is_stale else "live"
    right = Text.assemble(
        (status.project or "no project", "bold"),
        "   ",
        (freshness, BROKEN.style if is_stale else "dim"),
        "" if is_stale else (f" · {_seconds(sight.age_s)}", "dim"),
    )
    yield spread(Text.assemble(headline(status), "   ", _agent_counts(status)), right, width)
    counts = [(name.value, getattr(status.lifecycle, name.value)) for name in ACTIVE_STATUSES]
    line = Text()
    for index, (name, count) in enumerate(counts):
        line.append("   " if index else "")
        line.append(f"{name} ", "" if count else "dim")
        line.append(str(count), "bold" if count else "dim")
    yield fitted(line, width)


def _agent_counts(status: LiveStatus) -> Text:
    if not status.daemon_running:
        is_said_already = not waiting(status)
        return Text() if is_said_already else _marked(UNKNOWN, "agents unknown")
    agents = status.active_agents
    if not agents:
        return Text("no agents", "dim")
    if status.truncated.active_agents:
        return Text(plural(agent_count(status), "agent"))
    counts: dict[str, int] = {}
    for agent in agents:
        word = _agent_word(agent)
        counts[word] = counts.get(word, 0) + 1
    return Text(" · ".join(f"{counts[word]} {word}" for word in _AGENT_WORDS if word in counts))


def _agent_word(agent: ActiveAgent) -> str:
    """Return the state in one word or two; `summary` decides it, this only shortens."""
    state = agent_state(agent)
    return {"ready, waits for a person": "ready", "alive, quiet": "quiet"}.get(state, state)


def _problem(sight: Sight, width: int) -> Iterator[Text]:
    if sight.problem:
        line = _marked(BROKEN, sight.problem)
        yield spread(line, Text(f"retrying in {_seconds(sight.retry_s)} · r now", "dim"), width)
        if sight.hint:
            yield fitted(Text(f"  {sight.hint}", "dim"), width)


def _notices(status: LiveStatus, width: int) -> Iterator[Text]:
    for notice in status.notices:
        yield fitted(_marked(UNKNOWN, notice.message), width)


def _attention(status: LiveStatus, width: int) -> Section:
    now = status.generated_at
    tasks = {task.filename: task for task in status.tasks or ()}
    rows = [_attention_row(item, tasks.get(item.task), now) for item in status.attention]
    total = waiting(status)
    return Section(
        Text(f"waiting for you {total}", f"bold {WAITS.style}"),
        grid(rows, width, keep=4, stretch=3),
        status.truncated.attention,
        least=6,
        floor=4,
    )


def _attention_row(item: AttentionItem, task: TaskSummary | None, now: datetime) -> list[Text]:
    is_broken = item.kind == "stale_instance"
    words = ATTENTION_WORDS[item.kind] if item.task else "an agent needs a look"
    detail = f": {item.detail}" if item.detail else ""
    if not detail and task is not None and task.phase is Phase.WAVE_WAITING:
        detail = f": wave {task.active_wave} is done, start wave {task.active_wave + 1}?"
    return [
        _shape(BROKEN if is_broken else WAITS),
        Text((age(item.since, now) if item.since is not None else "").rjust(3), "bold"),
        Text(item.task, "bold"),
        Text(f"{words}{detail}"),
        Text(item.agent, "dim"),
    ]


def _agents(status: LiveStatus, width: int) -> Section:
    now = status.generated_at
    rows = [_agent_row(agent, now) for agent in status.active_agents]
    if not status.daemon_running:
        codes = {notice.code for notice in status.notices}
        mending = next((MENDING[code] for code in MENDING if code in codes), "kas daemon status")
        return Section(Text("agents unknown", "bold dim"), [_teaching(mending, width)])
    title = Text(f"agents {agent_count(status)}", "bold")
    if not rows:
        return Section(title, [_teaching("none: kas agent run --task TASK -- CMD", width)])
    return Section(title, grid(rows, width, keep=5), status.truncated.active_agents)


def _agent_row(agent: ActiveAgent, now: datetime) -> list[Text]:
    place = " ".join(
        word
        for word in (
            f"w{agent.wave}" if agent.wave else "",
            f"t{agent.task_number}" if agent.task_number else "",
        )
        if word
    )
    since = ""
    if agent.stage and agent.stage_since is not None and not agent.health and not agent.paused:
        since = f" {age(agent.stage_since, now)}"
    last = f"{age(agent.last_activity, now)} ago" if agent.last_activity is not None else ""
    mark = agent_mark(agent)
    return [
        _shape(mark),
        Text(agent.role),
        Text(agent.task),
        Text(place),
        Text(f"{_agent_word(agent)}{since}", mark.style if agent.health or agent.ready else ""),
        Text(last.replace("now ago", "now"), "dim"),
        Text(agent.branch, "dim"),
        Text("" if agent.worktree == agent.branch else agent.worktree, "dim"),
        Text(agent.id, "dim"),
    ]


def _tasks(status: LiveStatus, width: int) -> Section:
    tasks = status.tasks or ()
    if status.focus is not None and [task.filename for task in tasks] == [status.focus.filename]:
        return Section(Text(), [])  # The section of the focused task says the same and more.
    rows = [_task_row(task) for task in tasks]
    title = Text(f"tasks {status.lifecycle.total}", "bold")
    if not rows:
        return Section(title, [_teaching("none active: kas task create PLAN.md", width)])
    return Section(title, grid(rows, width, keep=4), status.truncated.tasks)


def _task_row(task: TaskSummary) -> list[Text]:
    wave = f"wave {task.active_wave}/{task.total_waves}" if task.active_wave else ""
    checks = f"checks {task.pr_check_status}" if task.pr_check_status else ""
    return [
        _shape(task_mark(task, is_waiting=task.blocked)),
        Text(task.filename, "bold"),
        Text(_state_words(task)),
        progress_bar(task.subtasks_done, task.subtasks_total, total_waves=task.total_waves),
        Text(wave),
        Text(checks, BROKEN.style if task.pr_check_status == "failing" else "dim"),
        Text(task.branch, "dim"),
        Text(task.topic, "dim"),
    ]


def _state_words(task: TaskSummary) -> str:
    words = (task.phase or task.status).value.replace("_", " ")
    return f"{words} · cycle {task.review_cycle}" if task.review_cycle else words


def progress_bar(done: int, total: int, *, total_waves: int) -> Text:
    """Return `●●●○○ 3/5`; a plan without waves is `no waves`, never a full bar."""
    if not total_waves or not total:
        return Text("no waves", "dim")
    marks = min(total, BAR)
    full = done * marks // total
    return Text.assemble(
        ("●" * full, DONE.style), ("○" * (marks - full), QUIET.style), f" {done}/{total}"
    )


def _focus(status: LiveStatus, width: int) -> Section:
    focus = status.focus
    if focus is None:
        return Section(Text(), [])
    rows = [Text(focus.goal, "dim")] if focus.goal else []
    if not focus.waves:
        rows.append(Text("no waves", "dim"))
    for wave in focus.waves:
        rows += _wave_rows(wave)
    title_line = Text.assemble((f"task {focus.filename}", "bold"), f"  {_readiness(status, focus)}")
    return Section(title_line, [fitted(row, width) for row in rows], least=5)


def _wave_rows(wave: FocusWave) -> Iterator[Text]:
    """Yield a wave with its subtasks; one that is done takes a single row."""
    title = f"wave {wave.wave}" + (f": {wave.title}" if wave.title else "")
    if all(subtask.status is SubtaskStatus.DONE for subtask in wave.tasks):
        count = len(wave.tasks)
        yield Text.assemble((f"{title}  ", "dim"), (f"✓ {count}/{count} done", DONE.style))
        return
    yield Text(title, "bold" if wave.active else "dim")
    yield from (_subtask_row(subtask) for subtask in wave.tasks)


def _subtask_row(subtask: FocusSubtask) -> Text:
    mark = subtask_mark(subtask.status)
    is_quiet = subtask.status in (SubtaskStatus.PENDING, SubtaskStatus.DONE)
    return Text.assemble(
        ("  ", ""),
        (mark.shape, mark.style),
        f" {subtask.number}. {subtask.title}  ",
        (subtask.status.value, "dim" if is_quiet else mark.style),
    )


def _readiness(status: LiveStatus, focus: TaskFocus) -> str:
    ready = focus.readiness
    summary = next((task for task in status.tasks or () if task.filename == focus.filename), None)
    facts = [_state_words(summary) if summary is not None else ready.status.value]
    subtasks = [subtask for wave in focus.waves for subtask in wave.tasks]
    if subtasks:
        done = sum(subtask.status is SubtaskStatus.DONE for subtask in subtasks)
        facts.append(f"{done}/{len(subtasks)} done")
    if ready.has_review_feedback:
        facts.append("review feedback")
    if ready.pr_check_status:
        facts.append(f"checks {ready.pr_check_status}")
    if ready.last_verify_outcome:
        facts.append(f"last verification {ready.last_verify_outcome}")
    return " · ".join(facts)


def _events(status: LiveStatus, now: datetime, width: int) -> Section:
    events = status.events or ()
    rows = [_event_row(event, now) for event in events]
    total = len(events) + status.truncated.events
    return Section(Text(f"events {total}", "bold"), grid(rows, width, keep=4, stretch=3))


def _event_row(event: EventItem, now: datetime) -> list[Text]:
    mark = level_mark(event.level)
    loud = mark.style if event.level in ("warn", "error") else ""
    return [
        _shape(mark),
        Text(age(event.at, now).rjust(3), "dim"),
        Text(event.task or event.agent, "bold" if event.task else "dim"),
        Text(event.message, loud),
    ]


def _foot(status: LiveStatus, unseen: list[str], width: int) -> Text:
    words = ["q quit", "r refresh"]
    if len(status.projects or ()) > 1:
        words.append("p next project")
    if unseen:
        words.append(f"no room for {', '.join(unseen)}")
    about = f"daemon up {status.uptime}" if status.daemon_running and status.uptime else ""
    return spread(Text(" · ".join(words), "dim"), Text(about, "dim"), width)


def _seconds(seconds: float) -> str:
    return f"{max(int(seconds), 0)}s"


def _marked(mark: Mark, words: str, *, bold: bool = False) -> Text:
    style = f"{'bold ' if bold else ''}{mark.style}"
    return Text.assemble((f"{mark.shape} ", style), (words, style))


def _teaching(words: str, width: int) -> Text:
    return fitted(Text(words, "dim"), width)


def _shape(mark: Mark) -> Text:
    return Text(mark.shape, mark.style)
