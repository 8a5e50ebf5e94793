"""Tasks, events and approvals as a coordinating agent reads them: cleaned, bounded, plain JSON."""

from pydantic import BaseModel, JsonValue

from kasmos_plugin.contract.approval import Approval
from kasmos_plugin.contract.event import EventRecord
from kasmos_plugin.contract.task import Subtask, Task, Wave
from kasmos_plugin.rules.approval import step_words
from kasmos_plugin.rules.lifecycle import legal_events, position_of
from kasmos_plugin.rules.text import GOAL_LIMIT, NAME_LIMIT, clean, clean_block
from kasmos_plugin.store import Store

FEEDBACK_LIMIT = 4_000
"""Characters of a review's feedback."""

Shown = dict[str, JsonValue]


def plain(model: BaseModel) -> Shown:
    """Return a model as JSON values."""
    values: Shown = model.model_dump(mode="json")
    return values


def task_row(task: Task) -> Shown:
    """Return one task in a few keys; empty ones are left out."""
    row: Shown = {
        "project": clean(task.project, NAME_LIMIT),
        "task": clean(task.filename, NAME_LIMIT),
        "status": task.status.value,
        "subtasks_done": task.subtasks_done,
        "subtasks_total": task.subtasks_total,
    }
    optional: Shown = {
        "phase": task.phase.value if task.phase is not None else "",
        "topic": clean(task.topic, NAME_LIMIT),
        "branch": clean(task.branch, NAME_LIMIT),
        "active_wave": task.active_wave,
        "total_waves": task.total_waves,
        "review_cycle": task.review_cycle,
        "blocked": clean(task.block_reason),
        "waits_for_approval": asked_words(task),
    }
    return row | {name: value for name, value in optional.items() if value}


def asked_words(task: Task) -> str:
    """Return the step that a person is asked to approve, in words."""
    return "" if task.pending_step is None else step_words(task.pending_step, task.pending_wave)


def task_whole(store: Store, task: Task) -> Shown:
    """Return one task with its waves, its feedback, its open approvals and its legal events."""
    project, name = task.project, task.filename
    subtasks = store.tasks.subtasks(project, name)
    shown = task_row(task) | {
        "goal": clean(task.goal, GOAL_LIMIT),
        "waves": [_wave(wave, subtasks, task) for wave in store.tasks.waves(project, name)],
        "legal_events": [event.value for event in legal_events(position_of(task))],
        "approvals": [approval(one) for one in store.approvals.list(project, name, is_open=True)],
    }
    if task.feedback:
        shown["feedback"] = cut(clean_block(task.feedback), FEEDBACK_LIMIT)
    return shown


def approval(one: Approval) -> Shown:
    """Return one approval, its reason cleaned."""
    return plain(one.model_copy(update={"reason": clean(one.reason)}))


def event(one: EventRecord) -> Shown:
    """Return one event; empty keys are left out."""
    shown = plain(one) | {"kind": clean(one.kind, NAME_LIMIT), "message": clean(one.message)}
    for name in ("project", "task", "agent"):
        shown[name] = clean(str(shown[name]), NAME_LIMIT)
    return {name: value for name, value in shown.items() if value}


def cut(text: str, limit: int) -> str:
    """Return at most `limit` characters of a text, with `…` where it was cut."""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def _wave(wave: Wave, subtasks: tuple[Subtask, ...], task: Task) -> Shown:
    return {
        "wave": wave.wave,
        "title": clean(wave.title, NAME_LIMIT),
        "active": wave.wave == task.active_wave,
        "tasks": [
            {
                "number": one.number,
                "title": clean(one.title, NAME_LIMIT),
                "status": one.status.value,
            }
            for one in subtasks
            if one.wave == wave.wave
        ],
    }
