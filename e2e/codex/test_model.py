"""What a model gets of kasmos in a turn of the real client, and what comes of its calls."""

import json
import re
import socket
from typing import Any

import pytest

from e2e.codex.client import Codex
from e2e.codex.conftest import PLUGIN, install
from e2e.codex.responses import Responses, calls, runs, says
from e2e.harness import World
from e2e.test_surfaces import steady
from kasmos_plugin.coordination.operations import OPERATIONS
from kasmos_plugin.serve import tools
from kasmos_plugin.widget.document import widget_hash

OURS = "mcp__kasmos"
QUESTION = "What are my agents doing?"
SCOPE = {"project": "alpha"}


def turn(codex: Codex, *options: str) -> list[dict[str, Any]]:
    """Let Codex run one turn by itself, and return the items that it was made of."""
    how = ("--json", "--ephemeral", "--skip-git-repo-check")
    done = codex.run("exec", *how, *options, QUESTION)
    events = [json.loads(line) for line in done.out.splitlines()]
    assert events[-1]["type"] == "turn.completed", done.out
    return [event["item"] for event in events if event["type"] == "item.completed"]


def called(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [item for item in items if item["type"] == "mcp_tool_call"]


def test_the_model_gets_every_tool_but_that_of_the_widget(watching: Codex) -> None:
    with Responses(says("Done.")) as model:
        turn(watching, *model.options())
    assert model.tools(OURS) == {tools.OPEN_MONITOR, tools.LIVE_STATUS, *OPERATIONS}
    assert tools.REFRESH_MONITOR not in json.dumps(model.bodies)


def test_a_model_that_guesses_the_widgets_tool_is_refused(watching: Codex) -> None:
    with Responses(calls(OURS, tools.REFRESH_MONITOR, SCOPE), says("Oh.")) as model:
        items = turn(watching, *model.options())
    assert called(items) == []
    assert model.answered() == f"unsupported call: {OURS}{tools.REFRESH_MONITOR}"


def test_a_model_opens_the_monitor_without_asking_anyone(watching: Codex, calm: World) -> None:
    with Responses(calls(OURS, tools.OPEN_MONITOR, SCOPE), says("Look.")) as model:
        (call,) = called(turn(watching, *model.options()))
    assert (call["server"], call["tool"], call["arguments"], call["status"], call["error"]) == (
        "kasmos",
        tools.OPEN_MONITOR,
        SCOPE,
        "completed",
        None,
    )
    snapshot = call["result"]["structured_content"]
    assert steady(snapshot) == steady(calm.snapshot(**SCOPE))
    (text,) = call["result"]["content"]
    assert text["text"].startswith("project alpha: ")
    # The model reads the snapshot itself, below a line about the time that the call took.
    answered = model.answered()
    assert isinstance(answered, str)
    assert json.loads(answered.partition("Output:\n")[2]) == snapshot


def test_the_app_is_told_which_widget_belongs_to_the_call(watching: Codex) -> None:
    item = calls(OURS, tools.OPEN_MONITOR, SCOPE)
    with (
        Responses(item, says("Look.")) as model,
        watching.app_server(*model.options()) as app,
    ):
        thread = app.start_thread()
        app.request(
            "turn/start", {"threadId": thread, "input": [{"type": "text", "text": QUESTION}]}
        )
        app.notified("turn/completed", threadId=thread)
    (call,) = (
        seen["params"]["item"]
        for seen in app.notifications
        if seen["method"] == "item/completed" and seen["params"]["item"]["type"] == "mcpToolCall"
    )
    assert call["status"] == "completed"
    assert call["mcpAppResourceUri"] == f"{tools.WIDGET_URI}.{widget_hash()}.html"
    assert call["mcpAppUi"]["preferredModelDisplayMode"] == "inline"
    assert app.asked == []


def test_a_model_of_codex_reads_when_to_call_and_finds_the_tools_in_a_script(
    watching: Codex,
) -> None:
    script = f"""
        await tools.{OURS}__{tools.OPEN_MONITOR}({json.dumps(SCOPE)});
        text(Object.keys(tools).filter(name => name.startsWith('{OURS}')).sort().join());
    """
    with Responses(runs(script), says("Look.")) as model:
        (call,) = called(turn(watching, *model.options(model=None)))
    assert (call["tool"], call["status"]) == (tools.OPEN_MONITOR, "completed")
    assert f"\n- {OURS}: {tools.INSTRUCTIONS.splitlines()[0]}\n" in model.told()
    answered = model.answered()
    assert isinstance(answered, list)
    names = sorted([tools.LIVE_STATUS, tools.OPEN_MONITOR, *OPERATIONS])
    assert answered[-1]["text"] == ",".join(f"{OURS}__{name}" for name in names)


@pytest.mark.parametrize("name", ["coordinate-kasmos", "monitor-kasmos-task"])
def test_a_model_is_told_in_full_when_to_use_a_skill(watching: Codex, name: str) -> None:
    skill = (PLUGIN / "skills" / name / "SKILL.md").read_text(encoding="utf-8")
    (description,) = re.findall("^description: (.+)$", skill, re.MULTILINE)
    with Responses(says("Done.")) as model:
        turn(watching, *model.options(model=None))
    assert f"\n- kasmos:{name}: {description} (file: " in model.told()


def test_a_turn_without_serve_has_no_tools_and_no_word_about_it(codex: Codex) -> None:
    # A port that is taken, and at which nobody answers.
    with socket.socket() as taken, Responses(says("I cannot see them.")) as model:
        taken.bind(("127.0.0.1", 0))
        install(codex, f"http://127.0.0.1:{taken.getsockname()[1]}/mcp")
        items = turn(codex, *model.options())
    assert model.tools(OURS) == set()
    assert "kasmos" not in json.dumps(items)
