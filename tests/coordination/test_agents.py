"""coordination.agents: a real daemon and a real agent, told what to do by the operations."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from kasmos_plugin.coordination.desk import Desk, OtherStore, without_places
from kasmos_plugin.coordination.operations import OPERATIONS
from kasmos_plugin.errors import Conflict, KasmosError, NotFound
from kasmos_plugin.store import Store, open_store
from tests.coordination.conftest import Call
from tests.daemon.harness import RunningDaemon, eventually

ENDLESS = "import time\nprint('begun', flush=True)\nwhile True: time.sleep(60)"


@pytest.fixture
def agent(daemon: RunningDaemon, store: Store, project: str, repo: Path) -> str:
    """An agent of task `auth` that runs until it is stopped."""
    store.tasks.create(project, "auth", plan_text="## Wave 1\n### Task 1: a\n")
    done = subprocess.run(
        [
            *(sys.executable, "-m", "kasmos_plugin", "agent", "run", "--detach", "--json"),
            *("--project", project, "--task", "auth", "--", sys.executable, "-c", ENDLESS),
        ],
        cwd=repo,
        check=True,
        capture_output=True,
        text=True,
    )
    return str(json.loads(done.stdout)["id"])


def test_an_agent_is_seen_read_paused_resumed_and_stopped(
    call: Call, agent: str, store: Store, project: str
) -> None:
    (seen,) = rows(call("agent_list", task="auth").data["agents"])
    assert (seen["id"], seen["role"], seen["project"]) == (agent, "coder", project)
    assert rows(call("agent_list", task="other").data["agents"]) == []
    eventually(lambda: is_stored(store, agent))
    eventually(lambda: call("agent_output", agent=agent).data["lines"] == ["begun"])
    one = {"project": project, "agent": agent}
    assert call("agent_pause", **one).data["is_paused"] is True
    assert call("agent_pause", **one).data["is_paused"] is True
    assert call("agent_resume", **one).data["is_paused"] is False
    with pytest.raises(Conflict, match="running agents"):
        call("task_delete", project=project, task="auth")
    call("agent_stop", **one)
    eventually(lambda: store.agents.get(agent).end is not None, within_s=10)
    status = call("daemon_status").data
    assert (status["is_running"], status["is_same_store"]) == (True, True)
    assert "socket" not in status


def test_an_agent_of_another_project_is_not_touched(call: Call, agent: str) -> None:
    for name in ("agent_pause", "agent_resume", "agent_stop"):
        with pytest.raises(KasmosError) as caught:
            call(name, project="other", agent=agent)
        assert caught.value.code == "not_found"
        assert "has no agent" in caught.value.message
    (seen,) = rows(call("agent_list").data["agents"])
    assert "is_paused" not in seen


def test_a_daemon_of_another_store_is_told_nothing(
    agent: str, daemon: RunningDaemon, project: str, repo: Path, tmp_path: Path
) -> None:
    other = open_store(tmp_path / "other.db")
    other.projects.add(repo)
    desk = Desk(store=other, socket=daemon.socket_path)
    with pytest.raises(OtherStore):
        OPERATIONS["agent_list"](desk, {})
    with pytest.raises(OtherStore):
        OPERATIONS["agent_stop"](desk, {"project": project, "agent": agent})
    assert OPERATIONS["daemon_status"](desk, {}).data["is_same_store"] is False
    other.close()


def test_no_place_leaves() -> None:
    assert without_places("at '/home/ann/kas/auth' on 'kas/auth'") == "at 'auth' on 'kas/auth'"


def is_stored(store: Store, agent: str) -> bool:
    try:
        return bool(store.agents.get(agent))
    except NotFound:
        return False


def rows(value: object) -> list[dict[str, object]]:
    assert isinstance(value, list)
    return value
