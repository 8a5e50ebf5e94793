"""`kas task`: what is said, what is stored, and what is refused."""

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from kasmos_plugin.contract.task import LifecycleEvent, SubtaskStatus, Task
from kasmos_plugin.store import Store
from tests.cli.conftest import PLAN, Kas
from tests.conftest import approve, approved_move

E = LifecycleEvent


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    path = tmp_path / "auth.md"
    path.write_text(PLAN, "utf-8")
    return path


def test_a_plan_becomes_a_task_of_the_files_name(
    kas: Kas, plan: Path, cli_store: Store, demo_project: str
) -> None:
    done = kas("task", "create", str(plan), "--topic", "security", "--branch", "feat/auth")
    assert (done.code, done.out, done.err) == (0, "auth: ready, planned, 0/3 done\n", "")
    made = cli_store.tasks.get(demo_project, "auth")
    assert (made.topic, made.branch, made.goal) == ("security", "feat/auth", "Make it work")
    assert cli_store.tasks.plan_text(demo_project, "auth") == PLAN


def test_a_plan_can_come_from_standard_input(kas_process: Kas, demo_project: str) -> None:
    done = kas_process("task", "create", "-", "--name", "auth", "--json", stdin=PLAN)
    assert Task.model_validate_json(done.out).subtasks_total == 3


def test_a_task_needs_no_plan_but_a_name(kas: Kas, demo_project: str) -> None:
    assert kas("task", "create", "--name", "spike").out == "spike: ready, no waves\n"
    refused = kas("task", "create")
    assert (refused.code, refused.err) == (2, "error: A task needs a name.\nhint: --name NAME\n")


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "is empty."),
        (b"\xef\xbb\xbf \n", "is empty."),
        (b"ok\nbad \xff\n", "is not UTF-8: line 2 has the byte 0xff."),
        ("## Wave 1".encode("utf-16"), "is UTF-16, not UTF-8."),
        (b"x" * (1024 * 1024 + 1), "is larger than 1 MiB."),
        (b"## Wave 1\n## Wave 3\n### Task 1: a\n### Task 1: b\n", "The plan was refused:"),
    ],
    ids=["empty", "blank", "not UTF-8", "UTF-16", "huge", "broken"],
)
def test_a_plan_that_cannot_be_used_is_refused_and_nothing_changes(
    kas: Kas, plan: Path, cli_store: Store, task: str, content: bytes, told: str
) -> None:
    before = cli_store.data_version()
    plan.write_bytes(content)
    for command in (("create", str(plan), "--name", "new"), ("update", task, "--plan", str(plan))):
        done = kas("task", *command)
        assert done.code in (1, 2)
        assert done.out == ""
        assert told in done.err
    assert cli_store.data_version() == before


def test_a_broken_plan_names_every_problem_with_its_line(
    kas: Kas, plan: Path, demo_project: str
) -> None:
    plan.write_text("## Wave 1\n## Wave 3\n### Task 1: a\n### Task 1: b\n", "utf-8")
    assert kas("task", "create", str(plan)).err.splitlines() == [
        "error: The plan was refused:",
        "  line 1: wave 1 has no tasks",
        "  line 2: wave 3 stands where wave 2 is due",
        "  line 4: task 1 repeats in wave 2; it first stands on line 3",
        "hint: kas task create --help",
    ]


def test_a_plan_that_is_no_file_is_told_apart(kas: Kas, tmp_path: Path, demo_project: str) -> None:
    assert "is a directory" in kas("task", "create", str(tmp_path)).err
    missing = kas("task", "create", str(tmp_path / "none.md"))
    assert (missing.code, "does not exist" in missing.err) == (2, True)
    hostile = kas("task", "create", str(tmp_path / "\x1b[31mred.md"))
    assert "\x1b" not in hostile.err


def test_a_hostile_name_is_refused_and_told_without_its_escapes(
    kas: Kas, demo_project: str
) -> None:
    """Fault D9."""
    done = kas("task", "create", "--name", "\x1b]0;own\x07red\u202etxt")
    assert done.code == 2
    assert "\x1b" not in done.err
    assert "\u202e" not in done.err


def test_tasks_are_listed_in_columns(kas: Kas, cli_store: Store, task: str) -> None:
    cli_store.tasks.create("repo", "a-much-longer-name")
    approved_move(cli_store, "repo", task, E.IMPLEMENT_START)
    cli_store.tasks.block("repo", task, "which API?")
    cli_store.tasks.transition("repo", cli_store.tasks.create("repo", "old").filename, E.CANCEL)
    lines = kas("task", "list").out.splitlines()
    assert [line.split() for line in lines] == [
        ["task", "status", "progress", "since", "branch", "topic"],
        ["○", "a-much-longer-name", "ready", "no", "waves", "now"],
        ["▲", "auth", "implementing,", "wave", "running", "wave", "1/2,", "0/3", "done", "now"],
    ]
    assert (
        len(
            {line.index(word) for line, word in zip(lines, ("status", "ready", "imp"), strict=True)}
        )
        == 1
    )
    assert [t["filename"] for t in kas("task", "list", "--all", "--json").json] == [
        "a-much-longer-name",
        "auth",
        "old",
    ]
    assert len(kas("task", "list", "--status", "cancelled", "--json").json) == 1


def test_a_list_of_nothing_says_how_to_begin(kas: Kas, demo_project: str) -> None:
    assert kas("task", "list").out == "no task in project 'repo' yet: kas task create PLAN.md\n"
    assert kas("task", "list", "--json").json == []


def test_a_task_is_shown_with_its_waves_and_what_is_legal(
    kas: Kas, cli_store: Store, task: str
) -> None:
    approved_move(cli_store, "repo", task, E.IMPLEMENT_START)
    cli_store.tasks.set_subtask("repo", task, 1, SubtaskStatus.DONE)
    shown = kas("task", "show", "auth.md").out
    assert shown.splitlines()[0] == "● auth  implementing, wave running"
    assert "  ✓ 1. One  done" in shown
    assert "next      wave_finished, implement_finished, cancel" in shown
    told = kas("task", "show", task, "--json", "--plan").json
    assert told["plan"] == PLAN
    assert [len(wave["subtasks"]) for wave in told["waves"]] == [2, 1]
    assert told["legal_events"] == ["wave_finished", "implement_finished", "cancel"]


def test_a_plan_is_given_back_as_it_came(kas: Kas, cli_store: Store, demo_project: str) -> None:
    text = "\ufeff# Title\r\n\r\n\tcode \x1b[31m\r\n"
    cli_store.tasks.create(demo_project, "odd", plan_text=text)
    assert kas("task", "show", "odd", "--plan").out == text


def test_what_is_not_given_stays(kas: Kas, cli_store: Store, task: str) -> None:
    kas("task", "update", task, "--topic", "security", "--pr-url", "https://example.org/7")
    done = kas("task", "update", task, "--pr-checks", "failing", "--pr-review", "required")
    assert done.code == 0
    changed = cli_store.tasks.get("repo", task)
    assert (changed.topic, changed.pr_url) == ("security", "https://example.org/7")
    assert (changed.pr_check_status, changed.pr_review_decision) == ("failing", "required")
    assert kas("task", "update", task, "--topic", "").code == 0
    assert cli_store.tasks.get("repo", task).topic == ""
    assert kas("task", "update", task).code == 2
    assert kas("task", "update", task, "--pr-url", "javascript:alert(1)").code == 2


def test_a_whole_life_through_commands(kas: Kas, cli_store: Store, task: str) -> None:
    steps: list[tuple[tuple[str, ...], str]] = [
        (("transition", task, "implement_start"), "implementing, wave running, wave 1/2, 0/3 done"),
        (("subtask", task, "1", "done"), "implementing, wave running, wave 1/2, 1/3 done"),
        (("subtask", task, "2", "done"), "implementing, wave waiting, wave 1/2, 2/3 done"),
        (("transition", task, "advance_wave"), "implementing, wave running, wave 2/2, 2/3 done"),
        (("subtask", task, "3", "done"), "reviewing, 3/3 done"),
        (
            ("transition", task, "review_changes_requested", "--feedback", "name the unit"),
            "implementing, fixing, 3/3 done",
        ),
        (("transition", task, "implement_finished"), "reviewing, 3/3 done"),
        (("transition", task, "review_approved"), "verifying, 3/3 done"),
        (("transition", task, "verify_approved"), "done, 3/3 done"),
    ]
    for command, told in steps:
        if command[-1] in ("implement_start", "advance_wave"):
            assert kas("task", *command).code == 1, "a person has not approved it"
            approve(cli_store, "repo", task, command[-1])
        done = kas("task", *command)
        assert (done.code, done.out) == (0, f"auth: {told}\n"), command


def test_an_illegal_event_names_the_legal_ones_and_changes_nothing(
    kas: Kas, cli_store: Store, task: str
) -> None:
    before = cli_store.data_version()
    done = kas("task", "transition", task, "review_approved")
    assert (done.code, done.out) == (1, "")
    assert "Legal now: plan_start, implement_start, cancel" in done.err
    assert cli_store.data_version() == before
    assert kas("task", "transition", task, "explode").code == 2


def test_feedback_is_shown_current_first_then_historical(
    kas: Kas, cli_store: Store, task: str
) -> None:
    assert kas("task", "feedback", task).out == "no review has asked for changes\n"
    move = cli_store.tasks.transition
    approved_move(cli_store, "repo", task, E.IMPLEMENT_START)
    move("repo", task, E.IMPLEMENT_FINISHED)
    move("repo", task, E.REVIEW_CHANGES_REQUESTED, feedback="first\n\x1b[31mline")
    move("repo", task, E.IMPLEMENT_FINISHED)
    move("repo", task, E.REVIEW_CHANGES_REQUESTED, feedback="second")
    assert kas("task", "feedback", task).out.splitlines() == [
        "review cycle 2, current, now",
        "second",
        "",
        "review cycle 1, historical, now",
        "first",
        "line",
    ]
    told = kas("task", "feedback", task, "--json").json
    assert [(said["is_current"], said["text"]) for said in told] == [
        (True, "second"),
        (False, "first\nline"),
    ]


def test_feedback_can_come_from_standard_input(
    kas_process: Kas, cli_store: Store, task: str
) -> None:
    approved_move(cli_store, "repo", task, E.IMPLEMENT_START)
    cli_store.tasks.transition("repo", task, E.IMPLEMENT_FINISHED)
    done = kas_process(
        *("task", "transition", task, "review_changes_requested", "--feedback", "-"),
        stdin="two\nlines\n",
    )
    assert done.code == 0, done.err
    assert cli_store.tasks.get("repo", task).feedback == "two\nlines"


def test_a_block_is_told_until_it_is_decided(kas: Kas, task: str) -> None:
    assert kas("task", "block", task, " ").code == 2
    assert kas("task", "block", task, "which API?").out.endswith("blocked: which API?\n")
    assert kas("task", "unblock", task).out == "auth: ready, planned, 0/3 done\n"
    assert kas("task", "unblock", task).code == 1


def test_deleting_needs_an_approval(kas: Kas, cli_store: Store, task: str) -> None:
    refused = kas("task", "delete", task)
    assert refused.code == 1
    assert "kas task approve 'auth' --step task_delete" in refused.err
    assert cli_store.tasks.list("repo")
    approve(cli_store, "repo", task, "task_delete")
    assert kas("task", "delete", task).out == "deleted auth\n"
    assert not cli_store.tasks.list("repo")


def test_an_unknown_task_or_project_is_told(kas: Kas, task: str) -> None:
    done = kas("task", "show", "nope")
    assert (done.code, done.err) == (
        1,
        "error: Project 'repo' has no task 'nope'.\nhint: kas task list --project repo\n",
    )
    assert kas("task", "list", "--project", "nope").code == 1


def test_with_several_projects_one_must_be_chosen(
    kas: Kas,
    cli_store: Store,
    task: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    make_repo: Callable[[str], Path],
) -> None:
    other = cli_store.projects.add(make_repo("other")).project
    monkeypatch.chdir(tmp_path)
    done = kas("task", "list")
    assert (done.code, "'other', 'repo'" in done.err) == (2, True)
    assert kas("task", "list", "--project", "repo", "--json").json[0]["filename"] == task
    monkeypatch.setenv("KASMOS_PROJECT", other)
    assert kas("task", "list", "--json").json == []
    monkeypatch.delenv("KASMOS_PROJECT")
    monkeypatch.chdir(tmp_path / "repo")
    assert kas("task", "list", "--json").json[0]["filename"] == task


def test_another_store_is_another_world(kas: Kas, task: str, tmp_path: Path) -> None:
    missing = tmp_path / "typo.db"
    done = kas("task", "list", "--db", str(missing))
    assert (done.code, missing.exists()) == (1, False)
    assert f"There is no store at '{missing}'." in done.err
    assert kas("task", "list", "--db", str(tmp_path)).code == 1


def test_a_store_of_a_newer_version_is_refused_with_both_named(
    kas: Kas, cli_store: Store, task: str
) -> None:
    """Faults B4 and B5."""
    path = cli_store.path
    cli_store.close()
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    done = kas("task", "list")
    assert done.code == 1
    assert "schema version 99" in done.err
    assert "Traceback" not in done.err


def test_json_is_one_line_that_hides_no_control_characters(
    kas: Kas, cli_store: Store, task: str
) -> None:
    cli_store.tasks.block("repo", task, "reason \x9b31m red\x1b[0m")
    out = kas("task", "show", task, "--json").out
    assert out.count("\n") == 1
    assert "\x9b" not in out
    assert json.loads(out)["block_reason"] == "reason  red"
