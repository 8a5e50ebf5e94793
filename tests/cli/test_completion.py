"""What a shell is told when a person presses tab."""

import json
import os
import subprocess

import pytest

from kasmos_plugin.store import Store
from tests.cli.conftest import KAS, Kas


def complete(*words: str, **environment: str) -> list[str]:
    """Return what bash would be offered for the last of `words`."""
    done = subprocess.run(
        KAS,
        env=os.environ
        | environment
        | {
            "_KAS_COMPLETE": "bash_complete",
            "COMP_WORDS": " ".join(["kas", *words]),
            "COMP_CWORD": str(len(words)),
        },
        capture_output=True,
        text=True,
        timeout=20,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return [line.partition(",")[2] for line in done.stdout.splitlines() if line]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_a_script_that_calls_back(kas: Kas, shell: str) -> None:
    done = kas("completion", shell)
    assert done.code == 0
    assert f"_KAS_COMPLETE={shell}_complete" in done.out
    assert kas("completion", "tcsh").code == 2


def test_commands_are_offered() -> None:
    assert complete("m") == ["monitor"]
    assert complete("monitor", "e") == ["events"]


def test_projects_tasks_and_statuses_are_offered(cli_store: Store, task: str) -> None:
    cli_store.tasks.create("repo", "billing")
    assert complete("task", "list", "--project", "r") == ["repo"]
    assert complete("task", "show", "") == ["auth", "billing"]
    assert complete("task", "show", "--project", "repo", "a") == ["auth"]
    assert complete("task", "subtask", "auth", "1", "d") == ["done"]


def test_only_legal_events_are_offered(task: str) -> None:
    assert complete("task", "transition", "auth", "") == [
        "plan_start",
        "implement_start",
        "cancel",
    ]


def test_without_a_store_nothing_is_offered_and_nothing_is_said(kas: Kas) -> None:
    assert complete("task", "show", "") == []
    assert complete("task", "show", "", KASMOS_DB="/nowhere/kasmos.db") == []


def test_the_script_is_valid_bash(kas: Kas) -> None:
    script = kas("completion", "bash").out
    checked = subprocess.run(["bash", "-n"], input=script, text=True, capture_output=True)
    assert (checked.returncode, json.dumps(checked.stderr)) == (0, '""')
