"""A model of the real client plans, is refused by the gate, and goes on after a yes.

Codex runs one turn after the other; in between a person answers at a terminal.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from e2e.codex.client import Codex
from e2e.codex.conftest import install
from e2e.codex.responses import Item, Responses, calls, runs, says
from e2e.codex.test_model import OURS, called, turn
from e2e.harness import World

PLAN = "**Goal:** sign in\n\n## Wave 1: base\n### Task 1: model\n"
TASK = {"project": "alpha", "task": "auth"}
START = TASK | {"event": "implement_start"}

Call = Callable[[str, Mapping[str, Any]], Item]


def in_script(tool: str, arguments: Mapping[str, Any]) -> Item:
    """Return a script of the model that calls a tool and reads what came of it."""
    return runs(
        f"const came = await tools.{OURS}__{tool}({json.dumps(arguments)});"
        " text(JSON.stringify(came));"
    )


def direct(tool: str, arguments: Mapping[str, Any]) -> Item:
    return calls(OURS, tool, arguments)


@pytest.fixture
def coordinating(codex: Codex, served: World) -> Codex:
    """A Codex with the plugin, which talks to servers that a test may change."""
    install(codex, served.addresses["mcp"])
    return codex


@pytest.mark.parametrize("mode", ["direct", "code"])
def test_a_model_plans_is_refused_and_goes_on_after_a_yes(
    coordinating: Codex, served: World, mode: str
) -> None:
    call: Call = direct if mode == "direct" else in_script

    def does(tool: str, arguments: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
        """Have the model call a tool in a turn; return the call, and what the model was told."""
        with Responses(call(tool, arguments), says("Done.")) as model:
            options = model.options() if mode == "direct" else model.options(model=None)
            (made,) = called(turn(coordinating, *options))
            assert (made["server"], made["tool"], made["arguments"]) == ("kasmos", tool, arguments)
            return made, json.dumps(model.answered())

    made, _ = does("task_create", TASK | {"plan": PLAN})
    assert made["status"] == "completed", made
    assert made["result"]["structured_content"]["phase"] == "planned"

    refused, told = does("task_transition", START)
    assert refused["status"] == "failed", refused
    assert "approval_required" in told
    assert "kas task approve 'auth' --step implement_start --project 'alpha'" in told
    assert "start wave 1" in served.kas("task", "approvals", "--project", "alpha")

    served.approve("auth", "implement_start", "--project", "alpha")
    started, _ = does("task_transition", START)
    assert started["status"] == "completed", started

    shown, _ = does("open_monitor", TASK)
    snapshot = shown["result"]["structured_content"]
    assert snapshot["focus"]["waves"][0]["active"] is True
    assert snapshot["focus"]["readiness"]["status"] == "implementing"
    assert [item for item in snapshot["attention"] if item["task"] == "auth"] == []


def test_a_model_cannot_give_itself_the_yes(coordinating: Codex, served: World) -> None:
    """No tool approves: what is left is to ask, and the request waits for a person."""
    ask = TASK | {"step": "implement_start", "reason": "the plan is whole"}
    served.kas("task", "create", "-", "--name", "auth", "--project", "alpha", stdin=PLAN)
    with Responses(direct("approval_request", ask), says("Asked.")) as model:
        (made,) = called(turn(coordinating, *model.options()))
    assert made["result"]["structured_content"]["state"] == "pending"
    with Responses(direct("task_transition", START), says("Oh.")) as model:
        (made,) = called(turn(coordinating, *model.options()))
    assert made["status"] == "failed"
    (asked,) = json.loads(served.kas("task", "approvals", "--json", "--project", "alpha"))
    assert (asked["state"], asked["reason"]) == ("pending", "the plan is whole")
