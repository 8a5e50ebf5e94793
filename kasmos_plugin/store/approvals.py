"""Approvals of the store: asked for, decided by a person, used once. The rules say what holds."""

import sqlite3
from collections.abc import Callable
from datetime import datetime
from typing import Literal

from kasmos_plugin.contract.approval import Approval, ApprovalState, Step
from kasmos_plugin.contract.event import EventKind, Level
from kasmos_plugin.contract.task import ACTIVE_STATUSES
from kasmos_plugin.errors import ApprovalRequired, Conflict, NotFound
from kasmos_plugin.rules import approval as rules
from kasmos_plugin.rules.lifecycle import position_of
from kasmos_plugin.rules.text import clean
from kasmos_plugin.store.database import Database, from_us, to_us
from kasmos_plugin.store.events import Events
from kasmos_plugin.store.task_limits import check_text
from kasmos_plugin.store.task_reads import TaskReads, task_of

Decision = Literal["approved", "declined"]

_APPROVAL = """SELECT approvals.*, tasks.project, tasks.filename AS task,
    coalesce(plans.body, '') AS body
    FROM approvals JOIN tasks ON tasks.id = approvals.task_id
    LEFT JOIN plans ON plans.task_id = tasks.id"""


class Approvals:
    """The requests and approvals of every task."""

    def __init__(
        self, database: Database, tasks: TaskReads, events: Events, now: Callable[[], datetime]
    ) -> None:
        self._database = database
        self._tasks = tasks
        self._events = events
        self._now = now

    def list(
        self, project: str, filename: str | None = None, *, is_open: bool = False
    ) -> tuple[Approval, ...]:
        """Return the approvals of a project or of one task, the newest first.

        `is_open` leaves those that were declined, used or have lapsed out.
        """
        where, values = "tasks.project = ?", [project]
        if filename is not None:
            where, values = (
                "tasks.id = ?",
                [str(self._tasks.require_row(project, filename)["id"])],
            )
        rows = self._database.rows(f"{_APPROVAL} WHERE {where} ORDER BY approvals.id DESC", values)
        found = tuple(self._approval(row) for row in rows)
        return tuple(one for one in found if not is_open or one.state in ("pending", "approved"))

    def request(self, project: str, filename: str, step: Step, *, reason: str = "") -> Approval:
        """Ask a person for a yes; one that is asked for already is not asked twice.

        Raises:
            BadArgument: the reason is too long.
            Conflict: the task is done or cancelled, or it holds already.
        """
        check_text("The reason", reason)
        with self._database.writing():
            row = self._tasks.require_row(project, filename)
            if row["status"] not in ACTIVE_STATUSES and step is not Step.TASK_DELETE:
                raise Conflict(f"Task '{row['filename']}' is {row['status']} already.")
            return self._ask(row, step, reason.strip())

    def decide(
        self,
        project: str,
        filename: str,
        step: Step,
        decision: Decision,
        *,
        by: str,
        plan_hash: str,
    ) -> Approval:
        """Record a person's decision about a step that was, or was not yet, asked for.

        `plan_hash` is that of the plan which the person has read.

        Raises:
            Conflict: the plan is another one now; nothing was recorded.
            NotFound: a request that was not made cannot be declined.
        """
        with self._database.writing():
            row = self._tasks.require_row(project, filename)
            present = self._plan_hash(row)
            if decision == "approved" and present != plan_hash:
                raise Conflict(
                    f"The plan of task '{row['filename']}' changed while it was read.",
                    hint=f"kas task approve '{row['filename']}' --step {step}",
                )
            asked = self._pending(row, step)
            if asked is None and decision == "declined":
                raise NotFound(
                    f"Nobody asks to {rules.step_words(step, self._wave(row, step))}.",
                    hint=f"kas task approvals --project '{project}'",
                )
            now = to_us(self._now())
            approval_id = asked or self._insert(row, step, "")
            self._database.write(
                "UPDATE approvals SET decision = ?, decided_us = ?, decided_by = ?, plan_hash = ?"
                " WHERE id = ?",
                (decision, now, by, present, approval_id),
            )
            if decision == "approved":
                self._database.write(
                    "INSERT OR IGNORE INTO approved_plans SELECT ?, ?, body FROM plans"
                    " WHERE task_id = ?",
                    (row["id"], present, row["id"]),
                )
            self._note_pending(row["id"])
            is_yes = decision == "approved"
            kind = EventKind.APPROVAL_GIVEN if is_yes else EventKind.APPROVAL_DECLINED
            words = rules.step_words(step, self._wave(row, step))
            self._note(row, kind, f"{by} {decision}: {words}", "info" if is_yes else "warn")
            return self._get(approval_id)

    def last_plan(self, project: str, filename: str) -> str | None:
        """Return the plan that was approved last, None when none was."""
        task_id = self._tasks.require_row(project, filename)["id"]
        row = self._database.row(
            "SELECT approved_plans.body FROM approvals JOIN approved_plans"
            " ON approved_plans.task_id = approvals.task_id"
            " AND approved_plans.hash = approvals.plan_hash"
            " WHERE approvals.task_id = ? AND decision = 'approved'"
            " ORDER BY decided_us DESC, id DESC LIMIT 1",
            (task_id,),
        )
        return None if row is None else str(row[0])

    def take(self, project: str, filename: str, step: Step) -> None:
        """Use the approval of a step that is carried out elsewhere: a coder's start, a message.

        Raises:
            ApprovalRequired: a person has not approved it; it has been asked for.
            Conflict: the task is done or cancelled.
        """
        with self._database.writing():
            row = self._tasks.require_row(project, filename)
            if row["status"] not in ACTIVE_STATUSES:
                raise Conflict(f"Task '{row['filename']}' is {row['status']} already.")
            missing = self.spend(row, step)
        if missing is not None:
            raise missing

    def spend(self, row: sqlite3.Row, step: Step) -> ApprovalRequired | None:
        """Use the approval of a step, inside the transaction that takes it.

        Without one the step is asked for, and the error is returned: the caller commits the request
        before it raises.
        """
        plan = self._plan_hash(row)
        rows = self._database.rows(
            "SELECT * FROM approvals WHERE task_id = ? AND step = ? AND wave = ?"
            " AND decision = 'approved' AND used_us IS NULL ORDER BY id DESC",
            (row["id"], step, self._wave(row, step)),
        )
        for found in rows:
            if self._state(found, plan) == "approved":
                self._database.write(
                    "UPDATE approvals SET used_us = ? WHERE id = ?",
                    (to_us(self._now()), found["id"]),
                )
                return None
        self._ask(row, step, "")
        words = rules.step_words(step, self._wave(row, step))
        return ApprovalRequired(row["project"], row["filename"], step, words)

    def _ask(self, row: sqlite3.Row, step: Step, reason: str) -> Approval:
        pending = self._pending(row, step)
        if pending is not None:
            return self._get(pending)
        approval_id = self._insert(row, step, reason)
        self._note_pending(row["id"])
        words = rules.step_words(step, self._wave(row, step))
        said = f"approval asked: {words}" + (f": {clean(reason)}" if reason else "")
        self._note(row, EventKind.APPROVAL_REQUESTED, said, "warn")
        return self._get(approval_id)

    def _insert(self, row: sqlite3.Row, step: Step, reason: str) -> int:
        return self._database.write(
            "INSERT INTO approvals (task_id, step, wave, reason, plan_hash, requested_us)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            (
                row["id"],
                step,
                self._wave(row, step),
                reason,
                self._plan_hash(row),
                to_us(self._now()),
            ),
        )

    def _pending(self, row: sqlite3.Row, step: Step) -> int | None:
        found = self._database.row(
            "SELECT id FROM approvals WHERE task_id = ? AND step = ? AND wave = ?"
            " AND decision IS NULL",
            (row["id"], step, self._wave(row, step)),
        )
        return None if found is None else int(found[0])

    def _note_pending(self, task_id: int) -> None:
        """Keep the oldest open request in the task's row, where a poll finds it."""
        self._database.write(
            "UPDATE tasks SET (pending_step, pending_wave, pending_us) = (SELECT"
            " min(step), coalesce(min(wave), 0), min(requested_us) FROM ("
            " SELECT step, wave, requested_us FROM approvals WHERE task_id = ?"
            " AND decision IS NULL ORDER BY id LIMIT 1)) WHERE id = ?",
            (task_id, task_id),
        )

    def _wave(self, row: sqlite3.Row, step: Step) -> int:
        return rules.wave_of(step, position_of(task_of(row)))

    def _plan_hash(self, row: sqlite3.Row) -> str:
        return rules.plan_hash(self._tasks.plan_text(row["project"], row["filename"]))

    def _get(self, approval_id: int) -> Approval:
        row = self._database.row(f"{_APPROVAL} WHERE approvals.id = ?", (approval_id,))
        if row is None:
            raise RuntimeError(f"approval {approval_id} went away inside its transaction")
        return self._approval(row)

    def _approval(self, row: sqlite3.Row) -> Approval:
        return Approval(
            id=row["id"],
            project=row["project"],
            task=row["task"],
            step=row["step"],
            wave=row["wave"],
            reason=row["reason"],
            state=self._state(row, rules.plan_hash(row["body"])),
            plan_hash=row["plan_hash"],
            requested_at=from_us(row["requested_us"]),
            decided_at=_moment(row["decided_us"]),
            decided_by=row["decided_by"],
            used_at=_moment(row["used_us"]),
        )

    def _state(self, row: sqlite3.Row, plan: str) -> ApprovalState:
        return rules.state(
            decision=row["decision"],
            decided_at=_moment(row["decided_us"]),
            used_at=_moment(row["used_us"]),
            approved_plan=row["plan_hash"],
            plan=plan,
            now=self._now(),
        )

    def _note(self, row: sqlite3.Row, kind: EventKind, message: str, level: Level) -> None:
        self._events.note(row["project"], kind, message, task=row["filename"], level=level)


def _moment(value: int | None) -> datetime | None:
    return None if value is None else from_us(value)
