"""Tasks of the store: each change and its event are one transaction. The rules decide the change.

Texts are stored as given, within limits; cleaning happens where they leave.
"""

import sqlite3
from collections.abc import Callable, Mapping
from datetime import datetime

from kasmos_plugin.contract.approval import Step
from kasmos_plugin.contract.event import EventKind, Level
from kasmos_plugin.contract.task import (
    ACTIVE_STATUSES,
    BlockSource,
    LifecycleEvent,
    Plan,
    PrCheckStatus,
    PrReviewDecision,
    SubtaskStatus,
    Task,
    TaskStatus,
)
from kasmos_plugin.errors import ApprovalRequired, BadArgument, Conflict, NotFound
from kasmos_plugin.rules.approval import gate
from kasmos_plugin.rules.lifecycle import (
    RESETTING,
    UNBLOCKING,
    follow_up,
    move,
    new_position,
    position_of,
    told,
)
from kasmos_plugin.rules.plan import parse_plan
from kasmos_plugin.rules.text import clean
from kasmos_plugin.store.agents import Agents
from kasmos_plugin.store.approvals import Approvals
from kasmos_plugin.store.database import Database, Value, to_us
from kasmos_plugin.store.events import Events
from kasmos_plugin.store.projects import Projects
from kasmos_plugin.store.task_limits import check_line, check_name, check_text, check_url
from kasmos_plugin.store.task_reads import TaskReads, task_name, task_of

_FAILING = (SubtaskStatus.FAILED, SubtaskStatus.BLOCKED)


class Tasks(TaskReads):
    """The tasks of every project, and every change that can be made to one."""

    def __init__(
        self,
        database: Database,
        projects: Projects,
        events: Events,
        agents: Agents,
        now: Callable[[], datetime],
    ) -> None:
        super().__init__(database)
        self._projects = projects
        self._events = events
        self._agents = agents
        self._now = now
        self.approvals = Approvals(database, self, events, now)

    def create(
        self, project: str, filename: str, *, plan_text: str = "", topic: str = "", branch: str = ""
    ) -> Task:
        """Store a new task: ready, and planned when its plan has waves.

        Raises:
            PlanProblems: the plan is broken; nothing was stored.
            BadArgument: a name is empty, too long, or holds control characters.
            Conflict: the project has a task of this name.
            UnknownProject: there is no such project.
        """
        name = task_name(filename)
        check_name("A task's name", name)
        check_line("The topic", topic)
        check_line("The branch", branch)
        plan = parse_plan(plan_text)
        position = new_position(total_waves=len(plan.waves))
        with self._database.writing():
            self._projects.require(project)
            if self._find(project, name) is not None:
                raise Conflict(
                    f"Project '{project}' has a task '{name}' already.",
                    hint=f"kas task show '{name}' --project '{project}'",
                )
            now = to_us(self._now())
            task_id = self._database.write(
                "INSERT INTO tasks (project, filename, status, phase, topic, branch, phase_us,"
                " created_us, updated_us) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (project, name, position.status, position.phase, topic, branch, now, now, now),
            )
            self._put_plan(task_id, plan, plan_text)
            self._note(project, name, EventKind.TASK_CREATED, f"task created, {_extent(plan)}")
        return self.get(project, name)

    def transition(
        self, project: str, filename: str, event: LifecycleEvent, *, feedback: str = ""
    ) -> Task:
        """Apply one lifecycle event, and those that it makes due, in one transaction.

        Raises:
            IllegalEvent: the event is not legal now; the message lists the legal ones.
            ApprovalRequired: a person has not approved the step; it has been asked for.
            BadArgument: feedback was given with another event than `review_changes_requested`.
        """
        if feedback and event is not LifecycleEvent.REVIEW_CHANGES_REQUESTED:
            raise BadArgument(f"Only {LifecycleEvent.REVIEW_CHANGES_REQUESTED} takes feedback.")
        check_text("The feedback", feedback)
        with self._database.writing():
            row = self.require_row(project, filename)
            missing = self._ask_first(row, event)
            if missing is None:
                self._apply(row, event, feedback=feedback)
                self._settle(row["id"])
        if missing is not None:
            raise missing
        return self.get(project, filename)

    def set_subtask(self, project: str, filename: str, number: int, status: SubtaskStatus) -> Task:
        """Set a subtask's status; record the end of its wave when this was the last one.

        A failed or blocked subtask blocks the task until the subtask has another status or the
        task is unblocked.

        Raises:
            NotFound: the task has no such subtask.
            Conflict: the task is done or cancelled.
        """
        with self._database.writing():
            row = self.require_row(project, filename)
            name = row["filename"]
            if row["status"] not in ACTIVE_STATUSES:
                raise Conflict(
                    f"Task '{name}' is {row['status']} already.", hint=f"kas task show '{name}'"
                )
            before = {subtask.number: subtask for subtask in self._subtasks(row["id"])}
            if number not in before:
                raise NotFound(
                    f"Task '{name}' has no subtask {number}; it has {len(before)}.",
                    hint=f"kas task show '{name}'",
                )
            subtask = before[number]
            if subtask.status is status:
                return task_of(row)
            self._database.write(
                "UPDATE subtasks SET status = ? WHERE task_id = ? AND number = ?",
                (status, row["id"], number),
            )
            done = sum(1 for other in self._subtasks(row["id"]) if other.status == "done")
            self._update(row["id"], {"subtasks_done": done})
            self._note(
                project,
                name,
                EventKind.SUBTASK_CHANGED,
                f"subtask {number} is {status}: {subtask.title}",
                wave=subtask.wave,
                task_number=number,
                level="error" if status is SubtaskStatus.FAILED else "info",
            )
            self._block_by_subtasks(row)
            self._settle(row["id"])
        return self.get(project, filename)

    def block(self, project: str, filename: str, reason: str) -> Task:
        """Store a person's block reason, in place of any other.

        Raises:
            BadArgument: the reason is blank or too long.
            Conflict: the task is done or cancelled.
        """
        check_text("The reason", reason)
        if not clean(reason):
            raise BadArgument("A block needs a reason.", hint='kas task block TASK "which API?"')
        with self._database.writing():
            row = self.require_row(project, filename)
            if row["status"] not in ACTIVE_STATUSES:
                raise Conflict(f"Task '{row['filename']}' is {row['status']} already.")
            self._set_block(row, reason.strip(), "person")
        return self.get(project, filename)

    def unblock(self, project: str, filename: str) -> Task:
        """Clear the block reason: a person's decision, also over failed subtasks.

        Raises:
            Conflict: the task is not blocked.
        """
        with self._database.writing():
            row = self.require_row(project, filename)
            if not row["block_reason"]:
                raise Conflict(f"Task '{row['filename']}' is not blocked.")
            self._set_block(row, "", None)
        return self.get(project, filename)

    def update(
        self,
        project: str,
        filename: str,
        *,
        plan_text: str | None = None,
        topic: str | None = None,
        branch: str | None = None,
        pr_url: str | None = None,
        pr_check_status: PrCheckStatus | None = None,
        pr_review_decision: PrReviewDecision | None = None,
    ) -> Task:
        """Change what is given and leave the rest; an empty text clears.

        A new plan is taken while the task is planning or ready, and its subtasks begin as pending.

        Raises:
            PlanProblems: the plan is broken; nothing was changed.
            BadArgument: a text cannot be stored, or the address is not http(s).
            Conflict: a new plan for a task that is past `ready`.
        """
        check_line("The topic", topic or "")
        check_line("The branch", branch or "")
        if pr_url:
            check_url(pr_url)
        plan = parse_plan(plan_text) if plan_text is not None else None
        given: dict[str, Value] = {
            "topic": topic,
            "branch": branch,
            "pr_url": pr_url,
            "pr_check_status": pr_check_status,
            "pr_review_decision": pr_review_decision,
        }
        changes = {name: value for name, value in given.items() if value is not None}
        with self._database.writing():
            row = self.require_row(project, filename)
            if plan is not None and plan_text is not None:
                self._replace_plan(row, plan, plan_text)
            if changes:
                self._update(row["id"], changes)
            words = [*(["plan"] if plan is not None else []), *changes]
            if words:
                shown = ", ".join(word.replace("_", " ") for word in words)
                self._note(
                    project, row["filename"], EventKind.TASK_UPDATED, f"task updated: {shown}"
                )
        return self.get(project, filename)

    def delete(self, project: str, filename: str) -> None:
        """Delete a task with its plan and feedback; its events stay.

        Raises:
            Conflict: agents still work on it.
            ApprovalRequired: a person has not approved it; it has been asked for.
        """
        with self._database.writing():
            row = self.require_row(project, filename)
            name = row["filename"]
            if running := self._agents.running(project, name):
                raise Conflict(
                    f"Task '{name}' has {len(running)} running agents.",
                    hint=f"kas agent stop {running[0].id}",
                )
            missing = self.approvals.spend(row, Step.TASK_DELETE)
            if missing is None:
                self._update(row["id"], {"feedback_id": None})
                self._database.write("DELETE FROM tasks WHERE id = ?", (row["id"],))
                self._note(project, name, EventKind.TASK_DELETED, "task deleted", level="warn")
        if missing is not None:
            raise missing

    def _ask_first(self, row: sqlite3.Row, event: LifecycleEvent) -> ApprovalRequired | None:
        """Use the approval that a legal event needs; return what is missing, None for nothing."""
        step = gate(event)
        if step is None:
            return None
        move(position_of(task_of(row)), event, name=row["filename"])
        return self.approvals.spend(row, step)

    def _apply(self, row: sqlite3.Row, event: LifecycleEvent, *, feedback: str = "") -> None:
        at = position_of(task_of(row))
        to = move(at, event, name=row["filename"])
        if event is LifecycleEvent.REVIEW_CHANGES_REQUESTED and not feedback.strip():
            feedback_id = None
        elif event is LifecycleEvent.REVIEW_CHANGES_REQUESTED:
            feedback_id = self._database.write(
                "INSERT INTO feedback (task_id, review_cycle, text, at_us) VALUES (?, ?, ?, ?)",
                (row["id"], to.review_cycle, feedback.strip(), to_us(self._now())),
            )
        else:
            feedback_id = row["feedback_id"] if to.has_feedback else None
        self._update(
            row["id"],
            {
                "status": to.status,
                "phase": to.phase,
                "active_wave": to.active_wave,
                "review_cycle": to.review_cycle,
                "last_verify_outcome": to.last_verify_outcome,
                "feedback_id": feedback_id,
                "phase_us": to_us(self._now()),
            },
        )
        if event in RESETTING:
            self._database.write(
                "UPDATE subtasks SET status = 'pending' WHERE task_id = ?", (row["id"],)
            )
            self._update(row["id"], {"subtasks_done": 0})
        if event in UNBLOCKING and row["block_reason"]:
            self._set_block(row, "", None)
        message, level = told(event, to)
        wave = to.active_wave or at.active_wave
        self._note(row["project"], row["filename"], event, message, wave=wave, level=level)

    def _settle(self, task_id: int) -> None:
        """Record what the subtasks' state makes due, until nothing is."""
        while True:
            row = self._by_id(task_id)
            due = follow_up(position_of(task_of(row)), self._subtasks(task_id))
            if due is None:
                return
            self._apply(row, due)

    def _block_by_subtasks(self, row: sqlite3.Row) -> None:
        if row["block_source"] == "person":
            return
        failing = [s for s in self._subtasks(row["id"]) if s.status in _FAILING]
        reason = "; ".join(f"subtask {s.number} {s.status}: {s.title}" for s in failing)
        if reason != row["block_reason"]:
            self._set_block(row, reason, "subtask" if reason else None)

    def _set_block(self, row: sqlite3.Row, reason: str, source: BlockSource | None) -> None:
        now = to_us(self._now())
        since = (row["blocked_us"] or now) if source == "subtask" else now
        self._update(
            row["id"],
            {
                "block_reason": reason,
                "block_source": source,
                "blocked_us": since if reason else None,
            },
        )
        kind = EventKind.TASK_BLOCKED if reason else EventKind.TASK_UNBLOCKED
        message = f"blocked: {clean(reason)}" if reason else "unblocked"
        level: Level = "warn" if reason else "info"
        self._note(row["project"], row["filename"], kind, message, level=level)

    def _replace_plan(self, row: sqlite3.Row, plan: Plan, text: str) -> None:
        if row["status"] not in (TaskStatus.PLANNING, TaskStatus.READY):
            raise Conflict(
                f"Task '{row['filename']}' is {row['status']}: its plan is being carried out.",
                hint=f"kas task show '{row['filename']}'",
            )
        self._put_plan(row["id"], plan, text)
        if row["status"] == TaskStatus.READY:
            position = new_position(total_waves=len(plan.waves))
            self._update(row["id"], {"phase": position.phase, "phase_us": to_us(self._now())})
        self._block_by_subtasks(row)

    def _put_plan(self, task_id: int, plan: Plan, text: str) -> None:
        self._database.write(
            "INSERT INTO plans VALUES (?, ?)"
            " ON CONFLICT (task_id) DO UPDATE SET body = excluded.body",
            (task_id, text),
        )
        self._database.write("DELETE FROM waves WHERE task_id = ?", (task_id,))
        self._database.write("DELETE FROM subtasks WHERE task_id = ?", (task_id,))
        for wave in plan.waves:
            self._database.write(
                "INSERT INTO waves VALUES (?, ?, ?)", (task_id, wave.wave, wave.title)
            )
        for subtask in plan.subtasks:
            self._database.write(
                "INSERT INTO subtasks VALUES (?, ?, ?, ?, ?)",
                (task_id, subtask.number, subtask.wave, subtask.title, subtask.status),
            )
        self._update(
            task_id,
            {
                "goal": plan.goal,
                "total_waves": len(plan.waves),
                "subtasks_done": 0,
                "subtasks_total": len(plan.subtasks),
            },
        )

    def _update(self, task_id: int, changes: Mapping[str, Value]) -> None:
        values = {**changes, "updated_us": to_us(self._now())}
        assignments = ", ".join(f"{name} = ?" for name in values)
        self._database.write(
            f"UPDATE tasks SET {assignments} WHERE id = ?",  # noqa: S608 - own names.
            [*values.values(), task_id],
        )

    def _note(
        self,
        project: str,
        task: str,
        kind: str,
        message: str,
        *,
        wave: int = 0,
        task_number: int = 0,
        level: Level = "info",
    ) -> None:
        self._events.note(
            project, kind, message, task=task, wave=wave, task_number=task_number, level=level
        )


def _extent(plan: Plan) -> str:
    if not plan.waves:
        return "no waves"
    waves, subtasks = len(plan.waves), len(plan.subtasks)
    return f"{waves} wave{'s' * (waves != 1)}, {subtasks} subtask{'s' * (subtasks != 1)}"
