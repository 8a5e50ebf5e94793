"""`kas agent`: real agents of a real daemon, from the command line."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kasmos_plugin import paths
from kasmos_plugin.cli import logs
from kasmos_plugin.cli.report import WITHIN_S, report
from kasmos_plugin.contract.agent import AgentEnd, AgentRecord
from kasmos_plugin.store import Store, utc_now
from tests.cli.conftest import Kas, until

Detach = Callable[..., str]


@pytest.fixture
def detach(
    daemon: "subprocess.Popen[bytes]", demo_project: str, kas_process: Kas, repo: Path
) -> Iterator[Detach]:
    """Run detached agents; end those that are left."""
    ids: list[str] = []

    def run(*arguments: str) -> str:
        done = kas_process("agent", "run", "--project", demo_project, "--detach", *arguments)
        assert done.code == 0, done.err
        ids.append(done.out.strip())
        return ids[-1]

    yield run
    for agent_id in ids:
        kas_process("agent", "stop", agent_id)


def listed(kas: Kas) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = kas("agent", "list", "--json").json
    return found


def test_an_agent_is_run_seen_paused_resumed_stopped_and_dismissed(
    kas: Kas, detach: Detach
) -> None:
    agent = detach("--role", "reviewer", "--", "sleep", "60")
    assert [(one["id"], one["role"], one["program"]) for one in listed(kas)] == [
        (agent, "reviewer", "sleep")
    ]
    assert agent in kas("agent", "list").out
    assert kas("agent", "pause", agent).err == f"agent '{agent}' paused\n"
    assert "paused" in kas("agent", "show", agent).out
    assert kas("agent", "resume", agent, "--json").json["is_active"]
    refused = kas("agent", "dismiss", agent)
    assert (refused.code, "still runs" in refused.err) == (1, True)
    stopped = kas("agent", "stop", agent)
    assert stopped.err == (
        f"agent '{agent}' stopped, killed by SIGTERM\nhint: kas agent dismiss {agent}\n"
    )
    assert [one["reason"] for one in listed(kas)] == ["killed by SIGTERM"]
    assert kas("agent", "dismiss", agent).code == 0
    assert listed(kas) == []
    assert kas("agent", "show", agent, "--json").json["reason"] == "killed by SIGTERM"


def test_an_agent_in_a_task_takes_its_place_from_the_plan(
    kas: Kas, detach: Detach, task: str, repo: Path
) -> None:
    detach("--task", f"{task}.md", "--number", "3", "--program", "codex", "--", "sleep", "60")
    found = listed(kas)[0]
    assert (found["task"], found["wave"], found["task_number"], found["program"]) == (
        task,
        2,
        3,
        "codex",
    )


def test_a_subtask_of_another_wave_is_refused(kas_process: Kas, task: str) -> None:
    """Numbers run through the plan: wave 2's first is not 1, and no event may claim that it is."""
    asked = ("--project", "repo", "--task", task, "--wave", "2", "--number", "1")
    refused = kas_process("agent", "run", *asked, "--", "true")
    assert (refused.code, refused.out) == (2, "")
    assert "Subtask 1 of task 'auth' is in wave 1, not in wave 2" in refused.err
    assert "hint: kas task show auth\n" in refused.err


def test_a_command_that_is_not_there_comes_with_a_way_out(
    kas: Kas, demo_project: str, tmp_path: Path
) -> None:
    absent = kas("agent", "run", "--", "./no-such-agent")
    assert (absent.code, "hint: " in absent.err) == (127, True)
    script = tmp_path / "an agent"
    script.write_text("#!/bin/sh\n")
    barred = kas("agent", "run", "--", str(script))
    assert (barred.code, f"hint: chmod +x '{script}'\n" in barred.err) == (126, True)


def test_the_command_learns_who_it_is(
    kas: Kas, detach: Detach, task: str, monkeypatch: pytest.MonkeyPatch, repo: Path
) -> None:
    monkeypatch.chdir(repo)
    agent = detach("--task", task, "--number", "1", "--", "sh", "-c", "env | grep ^KASMOS_; pwd")
    until(lambda: kas("agent", "show", agent).out.count("exited with code 0"), what="the end")
    said = kas("agent", "logs", agent).out.splitlines()
    assert set(said) >= {
        f"KASMOS_AGENT_ID={agent}",
        f"KASMOS_SOCKET={paths.socket()}",
        "KASMOS_PROJECT=repo",
        f"KASMOS_TASK={task}",
        "KASMOS_WAVE=1",
        str(repo),
    }
    assert kas("agent", "show", agent, "--json").json["branch"] == "main"


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["run"], 2, "Missing argument"),
        (["run", "--", "no-such-command"], 127, "there is no command 'no-such-command'"),
        (["run", "--", "/etc/passwd"], 126, "cannot be executed"),
        (["run", "--task", "nobody", "--", "true"], 1, "has no task 'nobody'"),
        (["run", "--task", "auth", "--number", "9", "--", "true"], 1, "has no subtask 9"),
        (["run", "--number", "1", "--", "true"], 2, "needs its task"),
        (["run", "--role", "a\nb", "--", "true"], 2, "cannot be a role"),
        (["run", "--project", "nobody", "--", "true"], 1, "Unknown project 'nobody'"),
        (["logs", "nobody"], 1, "no agent 'nobody'"),
        (["report", "--stage", "flying"], 2, "Usage: kas agent report"),
    ],
)
def test_what_cannot_be_done_is_refused_before_anything_runs(
    kas: Kas, task: str, arguments: list[str], code: int, said: str
) -> None:
    done = kas("agent", *arguments)
    assert done.code == code
    assert said in done.err


def test_a_place_for_logs_that_cannot_be_made_is_named(kas: Kas, demo_project: str) -> None:
    paths.state_dir().mkdir(parents=True)
    paths.logs_dir().write_text("in the way")
    done = kas("agent", "run", "--detach", "--", "true")
    assert (done.code, "cannot be made" in done.err) == (1, True)


@pytest.mark.parametrize("verb", ["list", "show a", "pause a", "resume a", "stop a", "dismiss a"])
def test_without_a_daemon_the_code_is_three(kas: Kas, demo_project: str, verb: str) -> None:
    done = kas("agent", *verb.split())
    assert (done.code, done.out) == (3, "")
    assert "hint: kas daemon start" in done.err


def test_an_agent_without_a_daemon_runs_all_the_same(kas_process: Kas, demo_project: str) -> None:
    done = kas_process("agent", "run", "--", "sh", "-c", "cat; exit 3", stdin="keys")
    assert (done.code, done.out) == (3, "keys")
    assert done.err.startswith("kas: no daemon (")


def test_a_detached_agent_is_announced_as_json(
    kas_process: Kas, demo_project: str, daemon: "subprocess.Popen[bytes]", kas: Kas
) -> None:
    done = kas_process("agent", "run", "--detach", "--json", "--", "sleep", "60")
    agent = done.json["id"]
    # It is listed by the time its id is known.
    assert [one["id"] for one in listed(kas)] == [agent]
    assert kas("agent", "stop", agent).code == 0


def test_an_agent_of_another_store_is_not_listed_as_one_of_ours(
    kas: Kas, daemon: "subprocess.Popen[bytes]", demo_project: str, tmp_path: Path, repo: Path
) -> None:
    other = str(tmp_path / "other.db")
    assert kas("daemon", "add", str(repo), "--db", other).code == 0
    done = kas("agent", "list", "--db", other)
    assert (done.code, "watches another store" in done.err) == (1, True)


def test_a_report_reaches_the_daemon_and_says_nothing(
    kas: Kas, kas_process: Kas, detach: Detach
) -> None:
    agent = detach("--", "sleep", "60")
    done = kas_process("agent", "report", "--stage", "ready", KASMOS_AGENT_ID=agent)
    assert (done.code, done.out, done.err) == (0, "", "")
    assert listed(kas)[0]["is_ready"]
    assert kas("agent", "report", "--stage=running", f"--agent={agent}").code == 0
    assert listed(kas)[0]["stage"] == "running"


def test_a_report_that_nobody_takes_is_silent(kas: Kas) -> None:
    assert kas("agent", "report", "--stage", "ready", "--agent", "a").err == ""
    assert kas("agent", "report", "--stage", "ready", "--agent", "a").code == 3
    told = kas("agent", "report", "--stage", "ready", "--agent", "a", "--verbose")
    assert (told.code, "hint: kas daemon start" in told.err) == (3, True)
    unnamed = kas("agent", "report", "--stage", "ready")
    assert (unnamed.code, unnamed.out, unnamed.err) == (1, "", "")


def test_a_hung_daemon_keeps_no_hook_for_longer_than_a_second(
    daemon: "subprocess.Popen[bytes]",
) -> None:
    assert WITHIN_S < 1
    os.kill(daemon.pid, 19)
    try:
        assert report(["--stage", "ready", "--agent", "a"]) == 3
    finally:
        os.kill(daemon.pid, 18)


@pytest.mark.parametrize(
    "arguments",
    [[], ["--stage"], ["--stage", "ready", "--agent"], ["--stage", "ready", "now"], ["--x"]],
)
def test_a_report_that_is_used_wrongly_says_so(
    capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    assert report(arguments) == 2
    assert capsys.readouterr().err.startswith("Usage: kas agent report")


def test_a_report_imports_nothing_heavy() -> None:
    code = (
        "import sys\n"
        "sys.argv = ['kas', 'agent', 'report', '--stage', 'ready', '--agent', 'a']\n"
        "from kasmos_plugin.cli.main import main\n"
        "try:\n    main()\nexcept SystemExit as end:\n    print(end.code)\n"
        "heavy = {'click', 'pydantic', 'platformdirs', 'socket', 'http.client', 'json', 'datetime',"
        " 'subprocess', 'asyncio', 'sqlite3'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-S", "-c", code],
        env=os.environ | {"PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        timeout=20,
    )
    assert (done.stdout, done.stderr) == ("3\n[]\n", "")


def test_a_log_is_shown_without_what_would_move_a_cursor(kas: Kas, detach: Detach) -> None:
    script = r"printf '\033[31mred\033[0m\r\nnext \033]0;title\007line\r\n'"
    agent = detach("--", "sh", "-c", script)
    until(lambda: "exited" in kas("agent", "show", agent).out, what="the end")
    assert kas("agent", "logs", agent).out == "red\nnext line\n"
    assert kas("agent", "logs", agent, "--raw").out.startswith("\x1b[31mred")


def test_a_log_is_followed_to_the_agents_end(kas: Kas, detach: Detach) -> None:
    agent = detach("--", "sh", "-c", "for i in 1 2 3; do echo line $i; sleep 0.2; done")
    done = kas("agent", "logs", agent, "--follow")
    assert (done.code, done.out) == (0, "line 1\nline 2\nline 3\n")


def test_a_log_is_found_while_the_daemon_still_waits_for_the_store(
    kas: Kas, detach: Detach, cli_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = ExitStack()
    held.enter_context(cli_store.writing())
    agent = detach("--", "sleep", "60")
    turns: list[float] = []

    def pause(seconds: float) -> None:
        turns.append(seconds)
        held.close()
        time.sleep(seconds)

    clock = SimpleNamespace(sleep=pause, monotonic=time.monotonic)
    monkeypatch.setattr("kasmos_plugin.cli.agent.time", clock)
    with held:
        done = kas("agent", "logs", agent)
    assert (done.code, done.err) == (0, "")
    assert turns


def test_an_agent_in_a_terminal_has_no_log(kas: Kas, cli_store: Store, demo_project: str) -> None:
    cli_store.agents.save(AgentRecord(id="a", project=demo_project, started_at=utc_now()))
    done = kas("agent", "logs", "a")
    assert (done.code, "only detached ones have a log" in done.err) == (1, True)


def test_a_log_is_followed_over_its_rotation(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.log"
    path.with_name("a.log.1").write_text("one\n")
    path.write_text("two\nthr")
    turns = iter(range(3))

    def turn() -> None:
        number = next(turns)
        if number == 0:
            with path.open("a") as file:
                file.write("ee\n")
            path.replace(path.with_name("a.log.1"))
            path.write_text("four\n")
        else:
            with path.open("a") as file:
                file.write(f"more {number}\n")

    over = iter([False, False, False, False, True])
    logs.print_log(path, is_raw=False, is_over=lambda: next(over), pause=turn)
    assert capsys.readouterr().out == "one\ntwo\nthree\nfour\nmore 1\nmore 2\n"


def test_an_agent_that_ended_well_is_shown_as_what_it_was(
    kas: Kas, cli_store: Store, demo_project: str, daemon: "subprocess.Popen[bytes]"
) -> None:
    cli_store.agents.save(
        AgentRecord(
            id="a", project=demo_project, started_at=utc_now(), end=AgentEnd.EXITED, exit_code=0
        )
    )
    done = kas("agent", "show", "a")
    assert (done.code, "exited with code 0" in done.out) == (0, True)
    assert "health" not in json.loads(kas("agent", "show", "a", "--json").out)
