"""Agents: started, told something, paused and stopped, all by the daemon, which holds the gate."""

import json

from pydantic import BaseModel, Field, JsonValue

from kasmos_plugin.contract.agent import AgentView
from kasmos_plugin.coordination import shown
from kasmos_plugin.coordination.arguments import Message, NewAgent, OneAgent, OneTask
from kasmos_plugin.coordination.desk import STARTS_WITHIN_S, Desk, Result
from kasmos_plugin.coordination.reads import agent_record
from kasmos_plugin.daemon.client import segment
from kasmos_plugin.rules.text import NAME_LIMIT, clean
from kasmos_plugin.summary import plural


class _Started(BaseModel):
    id: str
    role: str = ""
    task: str = ""
    wave: int = 0
    task_number: int = 0


class _StartedAgents(BaseModel):
    agents: tuple[_Started, ...] = Field(default=())


class _Anything(BaseModel):
    """An answer of which nothing is read."""


def wave_start(desk: Desk, asked: OneTask) -> Result:
    """Start the agents of the active wave, or of the next one when that waits and is approved."""
    task = desk.store.tasks.get(asked.project, asked.task)
    target = f"/v1/repos/{segment(asked.project)}/tasks/{segment(task.filename)}/wave"
    return _start(desk, target, {})


def agent_start(desk: Desk, asked: NewAgent) -> Result:
    """Start one agent for a task."""
    task = desk.store.tasks.get(asked.project, asked.task)
    body: dict[str, JsonValue] = {"task": task.filename, "role": asked.role}
    if asked.number:
        body["task_number"] = asked.number
    if asked.prompt:
        body["prompt"] = asked.prompt
    return _start(desk, f"/v1/repos/{segment(asked.project)}/agents", body)


def agent_send(desk: Desk, asked: Message) -> Result:
    """Type text into an agent."""
    record = agent_record(desk, asked.project, asked.agent)
    body = json.dumps({"text": asked.text}).encode()
    desk.order(_of(record.id, "send", asked.project), _Anything, body=body)
    return Result(
        text=f"sent to agent '{clean(record.id)}'", data={"agent": record.id, "sent": True}
    )


def agent_pause(desk: Desk, asked: OneAgent) -> Result:
    """Stop every process of an agent's session until it is resumed."""
    return _ordered(desk, asked, "pause", "paused")


def agent_resume(desk: Desk, asked: OneAgent) -> Result:
    """Let a paused agent go on."""
    return _ordered(desk, asked, "resume", "goes on")


def agent_stop(desk: Desk, asked: OneAgent) -> Result:
    """End an agent: it is asked to end, and killed after 5 s."""
    return _ordered(desk, asked, "stop", "is being stopped")


def _start(desk: Desk, target: str, body: dict[str, JsonValue]) -> Result:
    reply = desk.order(
        target, _StartedAgents, body=json.dumps(body).encode(), within_s=STARTS_WITHIN_S
    )
    rows: list[shown.Shown] = [
        {
            "id": clean(one.id, NAME_LIMIT),
            "role": clean(one.role, NAME_LIMIT),
            "task": clean(one.task, NAME_LIMIT),
            "wave": one.wave,
            "task_number": one.task_number,
        }
        for one in reply.agents
    ]
    names = ", ".join(str(row["id"]) for row in rows)
    return Result(text=f"started {plural(len(rows), 'agent')}: {names}", data={"agents": [*rows]})


def _ordered(desk: Desk, asked: OneAgent, verb: str, word: str) -> Result:
    view = desk.order(_of(asked.agent, verb, asked.project), AgentView)
    data: shown.Shown = {
        "agent": clean(view.id, NAME_LIMIT),
        "task": clean(view.task, NAME_LIMIT),
        "is_paused": view.is_paused,
        "is_active": view.is_active,
    }
    return Result(text=f"agent '{data['agent']}' {word}", data=data)


def _of(agent_id: str, verb: str, project: str) -> str:
    return f"/v1/agents/{segment(agent_id)}/{verb}?project={segment(project)}"
