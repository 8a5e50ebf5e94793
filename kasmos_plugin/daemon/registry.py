"""The agents that the daemon knows: what shims say, what the process table says, what is stored.

Kept in memory; `save` hears of changes of state only, together with their events. Judging is left
to `rules.health`; ages come from the monotonic clock, which no change of the date moves.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal, Protocol

from kasmos_plugin.contract.agent import AgentEnd, AgentRecord, AgentView, ProcessIdentity
from kasmos_plugin.contract.control import ShimBeat, ShimHello, StageReport
from kasmos_plugin.contract.event import EventDraft, EventKind, Level
from kasmos_plugin.errors import Conflict, NotFound
from kasmos_plugin.rules import health
from kasmos_plugin.rules.health import Presence

Word = Literal["ok", "pause", "resume", "stop", "bye"]

SAME_OUTPUT_S = 0.5
"""Two beats tell of the same output when they date it this near to each other."""
LOOKS = 2
"""How often something must be seen to be gone before it is believed."""


class Save(Protocol):
    """Where changes of state go. Called in order; must not wait."""

    def __call__(self, record: AgentRecord, *events: EventDraft) -> object: ...


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """What the registry needs to know of the world, so that tests can be a world."""

    save: Save
    now: Callable[[], datetime]
    monotonic: Callable[[], float]
    look: Callable[[ProcessIdentity], Presence]
    identify: Callable[[int], ProcessIdentity | None]
    boot_id: str
    stored: Callable[[str], AgentRecord | None]
    """An agent's record in the store, whatever became of it."""
    is_task_closed: Callable[[str, str], bool]
    last_words: Callable[[str], ShimBeat | None]
    """What a shim left behind when it ended and no daemon listened; given once."""


@dataclass(eq=False)
class _Agent:
    """One agent's record and what was seen of it; moments ending in `_s` are monotonic."""

    record: AgentRecord
    heard_s: float
    was_heard: bool = False
    send: Callable[[Word], None] | None = None
    output_s: float | None = None
    output_at: datetime | None = None
    output_since: datetime | None = None
    reported_s: float | None = None
    process: Presence = Presence.UNKNOWN
    shim: Presence = Presence.UNKNOWN
    absent_looks: int = 0
    missing_looks: int = 0
    missing_since: datetime | None = None


class Registry:
    """Every agent that still concerns someone."""

    def __init__(self, world: Surroundings, *, grace_s: float = 15.0) -> None:
        self._world = world
        self._grace_s = grace_s
        self._started_s = world.monotonic()
        self._agents: dict[str, _Agent] = {}

    def __len__(self) -> int:
        return sum(agent.record.end is None for agent in self._agents.values())

    def restore(self, *records: AgentRecord) -> None:
        """Take what the store remembers; agents of an earlier boot are lost at once."""
        for record in records:
            agent = self._agents[record.id] = self._remembered(record)
            process = record.process or record.shim
            if record.end is None and process and process.boot_id != self._world.boot_id:
                self._conclude(agent)
            else:
                self._look(agent)

    def link(self, hello: ShimHello, send: Callable[[Word], None]) -> None:
        """Take a shim's hello: a new agent, or one that is back."""
        agent = self._agents.get(hello.id)
        if agent is None:
            remembered = self._world.stored(hello.id)
            agent = self._remembered(remembered or self._record(hello, None))
            is_new = remembered is None
        else:
            is_new = False
        before = agent.record
        self._agents[hello.id] = agent
        agent.heard_s, agent.was_heard, agent.send = self._world.monotonic(), True, send
        agent.process = agent.shim = Presence.PRESENT
        agent.absent_looks = 0
        if before.end in (None, AgentEnd.LOST):
            record = self._record(hello, before)
            if is_new:
                self._change(agent, record, EventKind.AGENT_STARTED, "started")
            elif before.end is not None or before.is_dismissed:
                self._change(agent, record, EventKind.AGENT_STARTED, "is back")
            elif before != record:
                agent.record = record
                self._world.save(record)
        send("ok")

    def unlink(self, agent_id: str, send: Callable[[Word], None]) -> None:
        """Note that a shim's connection is gone, unless it has another by now."""
        agent = self._agents.get(agent_id)
        if agent is not None and agent.send is send:
            agent.send = None
            self._look(agent)

    def beat(self, agent_id: str, beat: ShimBeat) -> None:
        """Take a heartbeat; one that tells of an end is answered with `bye`."""
        agent = self._agents.get(agent_id)
        if agent is None:
            return
        agent.heard_s = self._world.monotonic()
        self._take_output(agent, beat)
        record = agent.record
        if beat.end is not None:
            send, agent.send = agent.send, None
            self._end(agent, beat)
            if send is not None:
                send("bye")
        elif record.end is None and beat.is_paused != record.is_paused:
            kind = EventKind.AGENT_PAUSED if beat.is_paused else EventKind.AGENT_RESUMED
            changed = record.model_copy(update={"is_paused": beat.is_paused})
            self._change(agent, changed, kind, "paused" if beat.is_paused else "resumed")

    def report(self, agent_id: str, report: StageReport) -> None:
        """Take what an agent says of itself; one that is older than the last changes nothing.

        Raises:
            NotFound: there is no such agent.
            Conflict: it has ended.
        """
        agent = self._require(agent_id)
        record, now = agent.record, self._world.now()
        if record.end is not None:
            raise _has_ended(record)
        at = min(report.at or now, now)
        if record.stage_at is not None and at < min(record.stage_at, now):
            return
        is_news = record.stage != report.stage or health.is_contradicted(self._traces(agent))
        agent.reported_s = self._world.monotonic() - (now - at).total_seconds()
        changed = record.model_copy(update={"stage": report.stage, "stage_at": at})
        if not is_news:
            agent.record = changed
        elif report.stage == "ready":
            self._change(agent, changed, EventKind.AGENT_READY, "waits for a person", "warn")
        elif report.stage == "running":
            self._change(agent, changed, EventKind.AGENT_RUNNING, "is running")
        else:
            agent.record = changed
            self._world.save(changed)

    def command(self, agent_id: str, word: Word) -> None:
        """Send a word down to the agent's shim.

        Raises:
            NotFound: there is no such agent.
            Conflict: it has ended, or its shim is not connected.
        """
        agent = self._require(agent_id)
        if agent.record.end is not None:
            raise _has_ended(agent.record)
        if agent.send is None:
            raise Conflict(
                f"The shim of agent '{agent_id}' is not connected.",
                hint=f"kas agent show {agent_id}",
            )
        agent.send(word)

    def dismiss(self, agent_id: str) -> AgentRecord:
        """Take an agent that has ended, or of which nothing is known, off every list.

        Raises:
            NotFound: there is no such agent.
            Conflict: it still runs.
        """
        agent = self._require(agent_id)
        lives = agent.send is not None or Presence.PRESENT in (agent.process, agent.shim)
        if agent.record.end is None and lives:
            raise Conflict(f"Agent '{agent_id}' still runs.", hint=f"kas agent stop {agent_id}")
        return self._dismiss(agent, "dismissed")

    def views(self, project: str | None = None) -> tuple[AgentView, ...]:
        """Return what may be said of every listed agent, of one project or of all."""
        now = self._world.now()
        return tuple(
            health.judge(self._traces(agent), now=now)
            for agent in self._agents.values()
            if project is None or agent.record.project == project
        )

    def view(self, agent_id: str) -> AgentView:
        """Return what may be said of one agent.

        Raises:
            NotFound: there is no such agent, or it concerns nobody any more.
        """
        return health.judge(self._traces(self._require(agent_id)), now=self._world.now())

    def projects(self) -> frozenset[str]:
        """Return the projects of every listed agent."""
        return frozenset(agent.record.project for agent in self._agents.values())

    def worktrees(self) -> dict[str, str]:
        """Return the working tree of each agent that has not ended."""
        return {
            agent.record.id: agent.record.worktree
            for agent in self._agents.values()
            if agent.record.end is None and agent.record.worktree
        }

    def note_worktrees(self, seen: Mapping[str, bool | None]) -> None:
        """Take whether each working tree is there; None says that it could not be told."""
        for agent_id, is_there in seen.items():
            agent = self._agents.get(agent_id)
            if agent is None or is_there is None:
                continue
            agent.missing_looks = 0 if is_there else agent.missing_looks + 1
            if is_there:
                agent.missing_since = None
            elif agent.missing_since is None:
                agent.missing_since = self._world.now()

    def tick(self) -> None:
        """Look at those whose shim is silent, and conclude what two looks have shown."""
        for agent in list(self._agents.values()):
            is_silent = agent.send is None or self._silence_s(agent) > health.HEARTBEAT_LIMIT_S
            if agent.record.end is None and is_silent:
                self._look(agent)

    def tidy(self) -> None:
        """Let go of ended agents that concern nobody: a day old, or of a task that is closed."""
        now = self._world.now()
        for agent in list(self._agents.values()):
            record = agent.record
            if record.end is None:
                continue
            is_closed = bool(record.task) and self._world.is_task_closed(
                record.project, record.task
            )
            if why := health.why_unlisted(record, is_task_closed=is_closed, now=now):
                self._dismiss(agent, f"dismissed: {why}")

    def _record(self, hello: ShimHello, before: AgentRecord | None) -> AgentRecord:
        """Return the record of a hello, with what reports have said before."""
        said = hello.model_dump() | {
            "started_at": min(hello.started_at, self._world.now()),
            "shim": self._completed(hello.shim),
            "process": self._completed(hello.process),
        }
        if before is not None:
            said |= {
                "stage": before.stage,
                "stage_at": before.stage_at,
                "is_paused": before.is_paused,
            }
        return AgentRecord.model_validate(said)

    def _completed(self, identity: ProcessIdentity) -> ProcessIdentity:
        """Return an identity with its start, also where a shim cannot tell it."""
        if identity.start:
            return identity
        return self._world.identify(identity.pid) or identity

    def _remembered(self, record: AgentRecord) -> _Agent:
        agent = _Agent(record=record, heard_s=self._world.monotonic())
        if record.stage_at is not None:
            age_s = (self._world.now() - record.stage_at).total_seconds()
            agent.reported_s = agent.heard_s - max(age_s, 0.0)
        return agent

    def _take_output(self, agent: _Agent, beat: ShimBeat) -> None:
        """Date the newest output.

        Once, because ages stand still while a machine sleeps. A beat that waited for a daemon that
        was stopped dates it too late: a later beat that dates it earlier is right.
        """
        if beat.output_age_ms is None:
            return
        age_s = max(beat.output_age_ms, 0) / 1000
        output_s = agent.heard_s - age_s
        before_s = agent.output_s
        if before_s is not None and abs(output_s - before_s) <= SAME_OUTPUT_S:
            return
        agent.output_s = output_s
        agent.output_at = self._world.now() - timedelta(seconds=age_s)
        if before_s is None or output_s - before_s > health.OUTPUT_IS_FRESH_S:
            agent.output_since = agent.output_at

    def _look(self, agent: _Agent) -> None:
        record = agent.record
        if record.end is not None:
            return
        agent.process = self._world.look(record.process) if record.process else Presence.UNKNOWN
        agent.shim = self._world.look(record.shim) if record.shim else Presence.ABSENT
        is_gone = agent.process is agent.shim is Presence.ABSENT
        agent.absent_looks = agent.absent_looks + 1 if is_gone else 0
        if is_gone and agent.send is None and self._has_left_word(agent):
            return
        if health.is_lost(self._traces(agent)):
            self._conclude(agent)

    def _conclude(self, agent: _Agent) -> None:
        """Write down the end of an agent that is gone: what another has seen of it, else lost."""
        record = agent.record
        agent.send = None
        if self._has_left_word(agent):
            return
        stored = self._world.stored(record.id)
        if stored is not None and stored.end is not None:
            self._settle(agent, stored)
            return
        lost = record.model_copy(
            update={"end": AgentEnd.LOST, "ended_at": self._world.now(), "is_paused": False}
        )
        self._change(agent, lost, EventKind.AGENT_LOST, "is lost", "error")

    def _has_left_word(self, agent: _Agent) -> bool:
        """Take the end that the shim left behind, if it did: it is an exit report all the same."""
        last = self._world.last_words(agent.record.id)
        if last is None or last.end is None:
            return False
        self._end(agent, last)
        return True

    def _end(self, agent: _Agent, beat: ShimBeat) -> None:
        if agent.record.end in (AgentEnd.EXITED, AgentEnd.KILLED):
            self._settle(agent, agent.record)
            return
        record = agent.record.model_copy(
            update={
                "end": beat.end,
                "exit_code": beat.exit_code,
                "signal": beat.signal,
                "ended_at": self._world.now(),
                "is_paused": False,
            }
        )
        if health.has_ended_well(record):
            self._change(agent, record, EventKind.AGENT_EXITED, "finished")
        else:
            why = health.end_reason(record)
            self._change(agent, record, EventKind.AGENT_FAILED, why, "error")
        self._settle(agent, record)

    def _settle(self, agent: _Agent, record: AgentRecord) -> None:
        """Keep a bad end listed, let go of a good one."""
        agent.record = record
        if health.has_ended_well(record) or record.is_dismissed:
            self._agents.pop(record.id, None)
        elif record.task and self._world.is_task_closed(record.project, record.task):
            self._dismiss(agent, "dismissed: its task is closed")

    def _dismiss(self, agent: _Agent, message: str) -> AgentRecord:
        record = agent.record.model_copy(update={"is_dismissed": True})
        self._change(agent, record, EventKind.AGENT_DISMISSED, message)
        self._agents.pop(record.id, None)
        return record

    def _change(
        self,
        agent: _Agent,
        record: AgentRecord,
        kind: EventKind,
        message: str,
        level: Level = "info",
    ) -> None:
        agent.record = record
        draft = EventDraft(
            project=record.project,
            kind=kind,
            message=f"{_who(record)} {message}",
            task=record.task,
            agent=record.id,
            wave=record.wave,
            task_number=record.task_number,
            level=level,
        )
        self._world.save(record, draft)

    def _traces(self, agent: _Agent) -> health.Traces:
        now_s = self._world.monotonic()
        return health.Traces(
            record=agent.record,
            presence=_presence(agent),
            silence_s=self._silence_s(agent),
            was_heard=agent.was_heard,
            in_grace=now_s - self._started_s < self._grace_s,
            is_linked=agent.send is not None,
            report_age_s=None if agent.reported_s is None else max(now_s - agent.reported_s, 0.0),
            output_age_s=None if agent.output_s is None else max(now_s - agent.output_s, 0.0),
            output_at=agent.output_at,
            output_since=agent.output_since,
            worktree_missing_since=agent.missing_since if agent.missing_looks >= LOOKS else None,
        )

    def _silence_s(self, agent: _Agent) -> float:
        return max(self._world.monotonic() - agent.heard_s, 0.0)

    def _require(self, agent_id: str) -> _Agent:
        agent = self._agents.get(agent_id)
        if agent is None:
            raise NotFound(f"There is no agent '{agent_id}' now.", hint="kas agent list")
        return agent


def _presence(agent: _Agent) -> Presence:
    if agent.process is Presence.PRESENT:
        return Presence.PRESENT
    return Presence.ABSENT if agent.absent_looks >= LOOKS else Presence.UNKNOWN


def _has_ended(record: AgentRecord) -> Conflict:
    why = health.end_reason(record) or "exited with code 0"
    return Conflict(f"Agent '{record.id}' has ended: {why}.", hint=f"kas agent dismiss {record.id}")


def _who(record: AgentRecord) -> str:
    return f"{record.role} {record.task_number}" if record.task_number else record.role
