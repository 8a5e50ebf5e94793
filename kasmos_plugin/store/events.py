"""The audit trail: append-only, read newest first or followed by id. Knows no rule of a task."""

import sqlite3
from collections.abc import Callable
from datetime import datetime

from kasmos_plugin.contract.event import EventDraft, EventRecord, Level
from kasmos_plugin.store.database import Database, Value, from_us, to_us

_COLUMNS = "id, project, at_us, kind, message, task, agent, wave, task_number, level"


class Events:
    """Events of every project; ids grow in the order of writing, which clocks cannot disturb."""

    def __init__(self, database: Database, now: Callable[[], datetime]) -> None:
        self._database = database
        self._now = now

    def append(self, *drafts: EventDraft) -> None:
        """Write events, dated now."""
        with self._database.writing():
            for draft in drafts:
                self._database.write(
                    "INSERT INTO events (project, at_us, kind, message, task, agent, wave,"
                    " task_number, level) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    (
                        draft.project,
                        to_us(self._now()),
                        draft.kind,
                        draft.message,
                        draft.task,
                        draft.agent,
                        draft.wave,
                        draft.task_number,
                        draft.level,
                    ),
                )

    def note(
        self,
        project: str,
        kind: str,
        message: str,
        *,
        task: str = "",
        wave: int = 0,
        task_number: int = 0,
        level: Level = "info",
    ) -> None:
        """Write one event that no agent caused."""
        self.append(
            EventDraft(
                project=project,
                kind=kind,
                message=message,
                task=task,
                wave=wave,
                task_number=task_number,
                level=level,
            )
        )

    def latest(
        self,
        project: str,
        limit: int,
        *,
        task: str = "",
        kind: str = "",
        since: datetime | None = None,
    ) -> tuple[EventRecord, ...]:
        """Return at most `limit` events, newest first, those after `since` only."""
        where, values = _filter(project=project, task=task, kind=kind)
        if since is not None:
            where, values = f"{where} AND at_us > ?", [*values, to_us(since)]
        return self._select(f"WHERE {where} ORDER BY id DESC LIMIT ?", [*values, limit])

    def after(
        self, event_id: int, *, project: str = "", task: str = "", kind: str = "", limit: int = 256
    ) -> tuple[EventRecord, ...]:
        """Return at most `limit` events that follow `event_id`, oldest first."""
        where, values = _filter(project=project, task=task, kind=kind)
        return self._select(
            f"WHERE {where} AND id > ? ORDER BY id LIMIT ?", [*values, event_id, limit]
        )

    def count(self, project: str) -> int:
        """Return how many events the project has, from a kept count."""
        row = self._database.row("SELECT count FROM event_counts WHERE project = ?", (project,))
        return int(row[0]) if row is not None else 0

    def last_id(self) -> int:
        """Return the id of the newest event of any project, 0 when there is none."""
        row = self._database.row("SELECT max(id) FROM events")
        return int(row[0] or 0) if row is not None else 0

    def _select(self, clause: str, values: list[Value]) -> tuple[EventRecord, ...]:
        sql = f"SELECT {_COLUMNS} FROM events {clause}"  # noqa: S608 - own text; values are bound.
        rows = self._database.rows(sql, values)
        return tuple(_record(row) for row in rows)


def _filter(*, project: str, task: str, kind: str) -> tuple[str, list[Value]]:
    given = {"project": project, "task": task, "kind": kind}
    values: list[Value] = [value for value in given.values() if value]
    return " AND ".join(f"{name} = ?" for name, value in given.items() if value) or "1", values


def _record(row: sqlite3.Row) -> EventRecord:
    values = dict(row)
    return EventRecord.model_validate(values | {"at": from_us(values.pop("at_us"))})
