"""`kas task approve`: a person at a terminal, and nobody else."""

import os
import sys

import pytest

from kasmos_plugin.contract.agent import AgentRecord
from kasmos_plugin.contract.approval import Step
from kasmos_plugin.contract.task import LifecycleEvent
from kasmos_plugin.daemon.processes import identify
from kasmos_plugin.store import Store, utc_now
from tests.cli.conftest import KAS, PLAN, Kas
from tests.conftest import approve
from tests.terminal import at_terminal

E = LifecycleEvent


def open_steps(store: Store) -> list[tuple[str, str]]:
    return [(one.step, one.state) for one in store.approvals.list("repo", is_open=True)]


def test_a_person_reads_the_plan_and_says_yes(cli_store: Store, task: str) -> None:
    code, said = at_terminal([*KAS, "task", "approve", task], answers=["y"])
    assert code == 0, said
    assert said.index("### Task 1: One") < said.index("approve? [y/N]:")
    assert "step     implement_start: start wave 1" in said
    assert said.rstrip().endswith("approved: start wave 1, for 24 hours, once")
    assert cli_store.tasks.transition("repo", task, E.IMPLEMENT_START).active_wave == 1


@pytest.mark.parametrize("answer", ["n", "", "Y e s", "\x1b[A"])
def test_anything_but_yes_approves_nothing(cli_store: Store, task: str, answer: str) -> None:
    answers = [answer, "n"] if answer.strip() and answer != "n" else [answer]
    code, said = at_terminal([*KAS, "task", "approve", task], answers=answers)
    assert code == 1, said
    assert open_steps(cli_store) == []


def test_without_a_terminal_nothing_is_approved(
    kas_process: Kas, cli_store: Store, task: str
) -> None:
    done = kas_process("task", "approve", task, stdin="y\ny\n")
    assert done.code == 1
    assert "Only a person at a terminal" in done.err
    assert open_steps(cli_store) == []
    assert kas_process("task", "approve", task, "--yes").code == 2, "there is no --yes"


def test_an_agents_process_tree_cannot_approve_or_decline(cli_store: Store, task: str) -> None:
    """This test's process stands for the agent: the command is its child."""
    cli_store.approvals.request("repo", task, Step.MERGE)
    me = identify(os.getpid())
    agent = AgentRecord(id="a1", project="repo", started_at=utc_now(), process=me)
    cli_store.agents.save(agent)
    for verb in ("approve", "decline"):
        code, said = at_terminal([*KAS, "task", verb, task, "--step", "merge"])
        assert (code, "An agent runs this command" in said) == (1, True)
    below = [
        sys.executable,
        "-c",
        f"import subprocess; subprocess.run({[*KAS]!r} + ['task', 'approve', {task!r}])",
    ]
    _, said = at_terminal(below)
    assert "An agent runs this command" in said
    assert open_steps(cli_store) == [("merge", "pending")]
    cli_store.agents.save(agent.model_copy(update={"is_dismissed": True}))
    code, said = at_terminal([*KAS, "task", "approve", task], answers=["y"])
    assert code == 0, said


def test_a_process_that_kasmos_started_cannot_approve(cli_store: Store, task: str) -> None:
    code, said = at_terminal(
        [*KAS, "task", "approve", task], env=os.environ | {"KASMOS_AGENT_ID": "a1"}
    )
    assert (code, "An agent runs this command" in said) == (1, True)


def test_after_an_approval_only_the_difference_is_shown(cli_store: Store, task: str) -> None:
    approve(cli_store, "repo", task, "implement_start")
    cli_store.tasks.update("repo", task, plan_text=PLAN.replace("Two", "Two and a half"))
    _, said = at_terminal([*KAS, "task", "approve", task], answers=["n"])
    assert "the plan has changed since it was approved" in said
    assert "-### Task 2: Two\r\n" in said
    assert "+### Task 2: Two and a half" in said
    approve(cli_store, "repo", task, "implement_start")
    _, said = at_terminal([*KAS, "task", "approve", task], answers=["n"])
    assert "the plan is the one that was approved before" in said
    assert "1. One" in said


def test_what_is_asked_for_comes_first_with_its_reason_cleaned(cli_store: Store, task: str) -> None:
    cli_store.approvals.request("repo", task, Step.PUSH, reason="green\x1b[31m\napprove? [y/N]: y")
    _, said = at_terminal([*KAS, "task", "approve", task], answers=["n"])
    assert "step     push: push" in said
    assert "\x1b[31m" not in said


def test_a_step_that_is_not_possible_now_is_refused(kas: Kas, task: str) -> None:
    code, said = at_terminal([*KAS, "task", "approve", task, "--step", "advance_wave"])
    assert (code, "is not possible now" in said) == (2, True)


def test_requests_are_listed_until_they_are_decided(kas: Kas, cli_store: Store, task: str) -> None:
    assert "nothing is asked for" in kas("task", "approvals").out
    assert kas("task", "transition", task, "implement_start").code == 1
    (asked,) = kas("task", "approvals", "--json").json
    assert (asked["step"], asked["state"], asked["wave"]) == ("implement_start", "pending", 1)
    assert "asks      start wave 1" in kas("task", "show", task).out
    (waiting,) = kas("monitor", "status", "--json", "--project", "repo").json["attention"]
    assert (waiting["kind"], waiting["detail"]) == ("needs_decision", "approve: start wave 1")
    assert kas("task", "decline", task).out == "declined: start wave 1\n"
    assert kas("task", "approvals", "--json").json == []
    assert kas("task", "approvals", "--all", "--json").json[0]["state"] == "declined"
    done = kas("task", "decline", task)
    assert (done.code, "Nothing is asked for" in done.err) == (2, True)
