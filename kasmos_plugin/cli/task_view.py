"""A stored task in words and marks for the terminal. Knows no command and no store."""

import shlex
from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING

from kasmos_plugin.cli.marks import Mark, subtask_mark, task_mark
from kasmos_plugin.contract.task import (
    ACTIVE_STATUSES,
    Feedback,
    LifecycleEvent,
    Subtask,
    Task,
    Wave,
)
from kasmos_plugin.rules.approval import step_words
from kasmos_plugin.rules.lifecycle import legal_events, needs_decision, needs_fixer, position_of
from kasmos_plugin.rules.text import clean, clean_block
from kasmos_plugin.summary import age, pull_request_facts, status_words

if TYPE_CHECKING:
    from rich.text import Text


def is_waiting(task: Task) -> bool:
    """Return whether the stored task waits for a person; the health of its agents is not asked."""
    return task.status in ACTIVE_STATUSES and (needs_decision(task) or needs_fixer(task))


def legal_now(task: Task) -> tuple[LifecycleEvent, ...]:
    """Return the events that the task's present state allows."""
    return legal_events(position_of(task))


def cleaned(task: Task) -> Task:
    """Return the task with the texts cleaned that are stored as they were given."""
    return task.model_copy(
        update={
            "feedback": clean_block(task.feedback),
            "block_reason": clean(task.block_reason),
        }
    )


def progress_words(task: Task) -> str:
    """Return how far it is; a plan without waves is `no waves`, never complete."""
    if not task.total_waves:
        return "no waves"
    done = f"{task.subtasks_done}/{task.subtasks_total} done"
    return f"wave {task.active_wave}/{task.total_waves}, {done}" if task.active_wave else done


def feedback_head(said: Feedback, now: datetime) -> str:
    """Return the line above the text of a feedback."""
    state = "current" if said.is_current else "historical"
    return f"review cycle {said.review_cycle}, {state}, {age(said.at, now)}"


def shape(mark: Mark) -> "Text":
    """Return a mark as a cell of a table."""
    from rich.text import Text

    return Text(mark.shape, style=mark.style)


def task_lines(
    task: Task, waves: tuple[Wave, ...], subtasks: tuple[Subtask, ...], now: datetime
) -> Iterator["Text"]:
    """Yield a task in full, line by line: state, facts, then its waves."""
    from rich.text import Text

    mark = task_mark(task, is_waiting=is_waiting(task))
    yield Text.assemble(
        (mark.shape, mark.style), " ", (clean(task.filename), "bold"), f"  {status_words(task)}"
    )
    for name, value in _facts(task, now):
        yield Text.assemble((f"{name:<10}", "dim"), value)
    for wave in waves:
        yield Text("")
        title = f"wave {wave.wave}" + (f": {clean(wave.title)}" if wave.title else "")
        yield Text.assemble((title, "bold"), " (active)" if wave.wave == task.active_wave else "")
        for one in (one for one in subtasks if one.wave == wave.wave):
            its = subtask_mark(one.status)
            yield Text.assemble(
                "  ",
                (its.shape, its.style),
                f" {one.number}. {clean(one.title)}",
                (f"  {one.status.value}", "dim"),
            )


def _facts(task: Task, now: datetime) -> Iterator[tuple[str, str]]:
    yield "progress", progress_words(task)
    yield "since", age(task.phase_at, now)
    if task.block_reason and task.blocked_at is not None:
        yield "blocked", f"{clean(task.block_reason)} ({age(task.blocked_at, now)})"
    if task.pending_step is not None and task.pending_at is not None:
        asked = f"{step_words(task.pending_step, task.pending_wave)} ({age(task.pending_at, now)})"
        yield "asks", f"{asked}: kas task approve {shlex.quote(clean(task.filename))}"
    if task.feedback.strip():
        yield "feedback", f"{clean(task.feedback, 100)}  (kas task feedback {task.filename})"
    if task.review_cycle:
        yield "review", f"cycle {task.review_cycle}"
    if task.last_verify_outcome:
        yield "verified", task.last_verify_outcome
    if pull_request := " · ".join(_pull_request(task)):
        yield "pr", pull_request
    for name in ("goal", "topic", "branch"):
        if value := clean(getattr(task, name), 500):
            yield name, value
    yield "next", ", ".join(legal_now(task)) or "nothing"


def _pull_request(task: Task) -> Iterator[str]:
    if task.pr_url:
        yield clean(task.pr_url, 2_000)
    yield from pull_request_facts(task)
