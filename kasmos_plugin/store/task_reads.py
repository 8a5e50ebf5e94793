"""Tasks as they stand: the questions that the store answers about them. Changes nothing."""

import sqlite3
from collections.abc import Collection

from kasmos_plugin.contract.task import Feedback, Subtask, Task, TaskStatus, Wave
from kasmos_plugin.errors import UnknownTask
from kasmos_plugin.rules.text import NAME_LIMIT, clean
from kasmos_plugin.store.database import Database, from_us
from kasmos_plugin.store.migrations import ACTIVE, WAITING

_TASK = """SELECT tasks.*, coalesce(feedback.text, '') AS feedback, feedback.at_us AS feedback_us
    FROM tasks LEFT JOIN feedback ON feedback.id = tasks.feedback_id"""


def task_name(given: str) -> str:
    """Return the name that `given` means: trimmed, without `.md` at its end."""
    return given.strip().removesuffix(".md")


class TaskReads:
    """What can be asked about the tasks of every project."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, project: str, filename: str) -> Task:
        """Return one task.

        Raises:
            UnknownTask: the project has no such task.
        """
        return task_of(self.require_row(project, filename))

    def list(
        self, project: str, *, statuses: Collection[TaskStatus] | None = None
    ) -> tuple[Task, ...]:
        """Return the project's tasks sorted by name, those in `statuses` only when it is given."""
        rows = self._database.rows(f"{_TASK} WHERE project = ? ORDER BY filename", (project,))
        tasks = (task_of(row) for row in rows)
        return tuple(task for task in tasks if statuses is None or task.status in statuses)

    def active(self, project: str, limit: int) -> tuple[Task, ...]:
        """Return the first `limit` tasks in an active status, sorted by name."""
        rows = self._database.rows(
            f"{_TASK} WHERE project = ? AND {ACTIVE} ORDER BY filename LIMIT ?", (project, limit)
        )
        return tuple(task_of(row) for row in rows)

    def waiting(self, project: str) -> tuple[Task, ...]:
        """Return the active tasks that wait for a decision, are blocked, or have feedback."""
        rows = self._database.rows(
            f"{_TASK} WHERE project = ? AND {ACTIVE} AND {WAITING} ORDER BY filename", (project,)
        )
        return tuple(task_of(row) for row in rows)

    def counts(self, project: str) -> dict[TaskStatus, int]:
        """Return how many tasks stand in each status; a status without tasks may be missing."""
        rows = self._database.rows(
            "SELECT status, count FROM lifecycle_counts WHERE project = ?", (project,)
        )
        return {TaskStatus(status): int(count) for status, count in rows}

    def waves(self, project: str, filename: str) -> tuple[Wave, ...]:
        """Return the waves of a task's plan in order."""
        task_id = self.require_row(project, filename)["id"]
        rows = self._database.rows(
            "SELECT wave, title FROM waves WHERE task_id = ? ORDER BY wave", (task_id,)
        )
        return tuple(Wave.model_validate(dict(row)) for row in rows)

    def subtasks(self, project: str, filename: str) -> tuple[Subtask, ...]:
        """Return the subtasks of a task's plan by number."""
        return self._subtasks(self.require_row(project, filename)["id"])

    def plan_text(self, project: str, filename: str) -> str:
        """Return the plan as it was given."""
        task_id = self.require_row(project, filename)["id"]
        row = self._database.row("SELECT body FROM plans WHERE task_id = ?", (task_id,))
        return str(row[0]) if row is not None else ""

    def feedback(self, project: str, filename: str) -> tuple[Feedback, ...]:
        """Return every feedback that reviews gave, newest first; at most the first is current."""
        task = self.require_row(project, filename)
        rows = self._database.rows(
            "SELECT id, review_cycle, text, at_us FROM feedback WHERE task_id = ? ORDER BY id DESC",
            (task["id"],),
        )
        return tuple(
            Feedback(
                review_cycle=row["review_cycle"],
                text=row["text"],
                at=from_us(row["at_us"]),
                is_current=row["id"] == task["feedback_id"],
            )
            for row in rows
        )

    def _subtasks(self, task_id: int) -> tuple[Subtask, ...]:
        rows = self._database.rows(
            "SELECT wave, number, title, status FROM subtasks WHERE task_id = ? ORDER BY number",
            (task_id,),
        )
        return tuple(Subtask.model_validate(dict(row)) for row in rows)

    def _find(self, project: str, name: str) -> sqlite3.Row | None:
        return self._database.row(f"{_TASK} WHERE project = ? AND filename = ?", (project, name))

    def require_row(self, project: str, filename: str) -> sqlite3.Row:
        """Return the row of one task, for changes within the caller's transaction.

        Raises:
            UnknownTask: the project has no such task.
        """
        name = task_name(filename)
        row = self._find(project, name)
        if row is None:
            raise UnknownTask(project, clean(name, NAME_LIMIT))
        return row

    def _by_id(self, task_id: int) -> sqlite3.Row:
        row = self._database.row(f"{_TASK} WHERE tasks.id = ?", (task_id,))
        if row is None:
            raise RuntimeError(f"task {task_id} went away inside its transaction")
        return row


def task_of(row: sqlite3.Row) -> Task:
    """Return the task that a row of this module's query holds."""
    values = dict(row)
    for name in ("phase", "created", "updated", "blocked", "feedback", "pending"):
        moment = values.pop(f"{name}_us")
        values[f"{name}_at"] = None if moment is None else from_us(moment)
    return Task.model_validate(values)
