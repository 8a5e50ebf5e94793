"""Agents as stored: written at changes of state, never by a heartbeat. Judges nothing."""

from kasmos_plugin.contract.agent import AgentRecord
from kasmos_plugin.contract.event import EventDraft
from kasmos_plugin.errors import NotFound
from kasmos_plugin.rules.health import has_ended_well
from kasmos_plugin.store.database import Database
from kasmos_plugin.store.events import Events


class Agents:
    """One record an agent, with the events that its change of state caused."""

    def __init__(self, database: Database, events: Events) -> None:
        self._database = database
        self._events = events

    def save(self, record: AgentRecord, *events: EventDraft) -> None:
        """Write the record and its events in one transaction; replaces one of the same id."""
        with self._database.writing():
            self._database.write(
                "INSERT INTO agents VALUES (?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET"
                " project = excluded.project, task = excluded.task,"
                " is_listed = excluded.is_listed, record = excluded.record",
                (
                    record.id,
                    record.project,
                    record.task,
                    int(is_listed(record)),
                    record.model_dump_json(),
                ),
            )
            self._events.append(*events)

    def get(self, agent_id: str) -> AgentRecord:
        """Return one agent, whatever became of it.

        Raises:
            NotFound: there is no such agent.
        """
        row = self._database.row("SELECT record FROM agents WHERE id = ?", (agent_id,))
        if row is None:
            raise NotFound(f"There is no agent '{agent_id}'.", hint="kas agent list")
        return AgentRecord.model_validate_json(row[0])

    def listed(self, project: str | None = None) -> tuple[AgentRecord, ...]:
        """Return the agents that still concern someone: not dismissed, not ended cleanly."""
        where = "is_listed = 1" if project is None else "is_listed = 1 AND project = ?"
        rows = self._database.rows(
            f"SELECT record FROM agents WHERE {where} ORDER BY id",  # noqa: S608 - own text.
            () if project is None else (project,),
        )
        return tuple(AgentRecord.model_validate_json(row[0]) for row in rows)

    def running(self, project: str, task: str) -> tuple[AgentRecord, ...]:
        """Return the agents of one task whose end was not seen."""
        rows = self._database.rows(
            "SELECT record FROM agents WHERE project = ? AND task = ? AND is_listed = 1",
            (project, task),
        )
        records = (AgentRecord.model_validate_json(row[0]) for row in rows)
        return tuple(record for record in records if record.end is None)


def is_listed(record: AgentRecord) -> bool:
    """Return whether an agent stays in lists: a clean exit and a dismissal leave them."""
    return not (record.is_dismissed or has_ended_well(record))
