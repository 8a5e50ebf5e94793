"""Agents: paused, resumed and stopped, all by the daemon."""

from kasmos_plugin.contract.agent import AgentView
from kasmos_plugin.coordination import shown
from kasmos_plugin.coordination.arguments import OneAgent
from kasmos_plugin.coordination.desk import Desk, Result
from kasmos_plugin.daemon.client import segment
from kasmos_plugin.rules.text import NAME_LIMIT, clean


def agent_pause(desk: Desk, asked: OneAgent) -> Result:
    """Stop every process of an agent's session until it is resumed."""
    return _ordered(desk, asked, "pause", "paused")


def agent_resume(desk: Desk, asked: OneAgent) -> Result:
    """Let a paused agent go on."""
    return _ordered(desk, asked, "resume", "goes on")


def agent_stop(desk: Desk, asked: OneAgent) -> Result:
    """End an agent: it is asked to end, and killed after 5 s."""
    return _ordered(desk, asked, "stop", "is being stopped")


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
