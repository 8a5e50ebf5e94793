"""`kas monitor`: the snapshot and the events as commands print them, and the page as a file."""

import json
import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from kasmos_plugin import paths
from kasmos_plugin.cli.follow import streamed
from kasmos_plugin.cli.input import read_since
from kasmos_plugin.contract.event import EventDraft
from kasmos_plugin.contract.live_status import LiveStatus
from kasmos_plugin.errors import BadArgument
from kasmos_plugin.serve.secret import preview_secret
from kasmos_plugin.store import Store
from tests.cli.conftest import KAS, Kas

NOW = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)


def test_without_a_daemon_the_store_is_read_and_agents_are_unknown(kas: Kas, task: str) -> None:
    """Never a false all-clear."""
    told = kas("monitor", "status", "--json", "--include", "tasks", "--focus", task).json
    assert told["daemon_running"] is False
    assert [notice["code"] for notice in told["notices"]] == ["daemon_unreachable"]
    assert [task["filename"] for task in told["tasks"]] == ["auth"]
    assert told["focus"]["filename"] == "auth"
    said = kas("monitor", "status")
    assert (said.code, "agents: unknown" in said.out) == (0, True)
    assert "nothing in the store; the health of agents is unknown" in said.out
    assert said.err == "hint: kas daemon start\n"


def test_a_wrong_word_is_answered_with_those_that_are_right(kas: Kas, task: str) -> None:
    section = kas("monitor", "status", "--include", "logs")
    assert (section.code, "hint: the sections are projects, tasks, events\n" in section.err) == (
        2,
        True,
    )
    kind = kas("monitor", "events", "--kind", "logs")
    assert (kind.code, "is not one of 'task_created'" in kind.err) == (2, True)


@pytest.mark.parametrize("group", ["daemon", "task", "agent", "monitor"])
def test_the_line_of_a_command_in_the_help_is_whole(kas: Kas, group: str) -> None:
    told = kas(group, "--help")
    lines = told.out.partition("Commands:\n")[2]
    assert (told.code, "..." in lines, lines.count("\n") > 1) == (0, False, True)


def test_a_daemon_of_another_store_is_told_and_the_store_read(
    kas: Kas, task: str, daemon: "subprocess.Popen[bytes]", tmp_path: Path
) -> None:
    other = tmp_path / "other.db"
    assert (
        kas("daemon", "add", str(tmp_path / "repo"), "--project", "o", "--db", str(other)).code == 0
    )
    told = kas("monitor", "status", "--json", "--db", str(other)).json
    assert (told["project"], told["daemon_running"]) == ("o", False)
    assert [notice["code"] for notice in told["notices"]] == ["daemon_other_store"]
    assert str(tmp_path) not in json.dumps(told)


def test_looking_makes_no_store(kas: Kas) -> None:
    told = kas("monitor", "status", "--json").json
    assert (told["project"], [n["code"] for n in told["notices"]]) == (
        "",
        ["daemon_unreachable", "no_projects"],
    )
    assert kas("monitor", "status", "--project", "p").code == 1
    assert kas("task", "list").code == 1
    assert kas("monitor", "events").code == 1
    assert not paths.database().exists()


@pytest.mark.parametrize("with_daemon", [False, True])
def test_wrong_options_end_alike_with_and_without_a_daemon(
    kas: Kas, task: str, with_daemon: bool, request: pytest.FixtureRequest
) -> None:
    if with_daemon:
        request.getfixturevalue("daemon")
    for options, code in (
        (("--cap", "abc"), 2),
        (("--cap", "1.5"), 2),
        (("--cap", "1e9"), 2),
        (("--include", "secrets"), 2),
        (("--project", "nope"), 1),
        (("--cap", "-1"), 0),
        (("--focus", "nope"), 0),
    ):
        for form in ((), ("--json",)):
            done = kas("monitor", "status", *options, *form)
            assert done.code == code, (options, done)
            assert done.err.startswith("error: ") is bool(code)


@pytest.mark.parametrize("with_daemon", [False, True])
def test_several_projects_are_named_where_one_must_be_chosen(
    kas: Kas,
    cli_store: Store,
    task: str,
    with_daemon: bool,
    request: pytest.FixtureRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cli_store.projects.add(request.getfixturevalue("make_repo")("other"))
    if with_daemon:
        request.getfixturevalue("daemon")
    monkeypatch.chdir(tmp_path)
    done = kas("monitor", "status", "--json")
    assert (done.code, done.out) == (2, "")
    assert "'other', 'repo'" in done.err
    monkeypatch.chdir(tmp_path / "repo")
    assert kas("monitor", "status", "--json").json["project"] == "repo"


@pytest.mark.parametrize("damage", ["directory", "newer", "corrupt"])
def test_a_store_that_cannot_be_read_is_an_error_not_an_empty_snapshot(
    kas: Kas, cli_store: Store, task: str, tmp_path: Path, damage: str
) -> None:
    """Faults B3 and B5."""
    path = tmp_path / "bad.db"
    if damage == "directory":
        path.mkdir()
    elif damage == "newer":
        path.write_bytes(cli_store.path.read_bytes()[:60] + (99).to_bytes(4, "big"))
    else:
        path.write_bytes(b"SQLite format 3\0" + b"rubbish" * 1_000)
    for command in (("monitor", "status", "--json"), ("monitor", "events"), ("task", "list")):
        done = kas(*command, "--db", str(path))
        assert (done.code, done.out) == (1, ""), command
        assert done.err.startswith("error: ")


def _note(store: Store, message: str, **fields: str) -> None:
    store.events.append(EventDraft(project="repo", kind="task_updated", message=message, **fields))


def test_events_are_told_oldest_first_and_filtered(kas: Kas, cli_store: Store, task: str) -> None:
    _note(cli_store, "one", task=task)
    _note(cli_store, "two")
    lines = kas("monitor", "events").out.splitlines()
    assert [line.split("·")[-1].split() for line in lines] == [
        ["project_added", "project", "added"],
        ["task_created", "auth:", "task", "created,", "2", "waves,", "3", "subtasks"],
        ["task_updated", "auth:", "one"],
        ["task_updated", "two"],
    ]
    ask = ("monitor", "events", "--json")
    assert [json.loads(line)["message"] for line in kas(*ask, "--limit", "1").out.splitlines()] == [
        "two"
    ]
    for options in (("--task", "auth.md"), ("--task", task, "--kind", "task_updated")):
        found = [json.loads(line) for line in kas(*ask, *options).out.splitlines()]
        assert {event["task"] for event in found} == {"auth"}
    assert kas(*ask, "--kind", "nonsense").code == 2
    assert kas(*ask, "--since", "1h").out.count("\n") == 4
    assert kas(*ask, "--since", "2999-01-01T00:00:00Z").out == ""
    assert kas(*ask, "--since", "yesterday").code == 2


def test_events_with_hostile_text_are_told_without_it(
    kas: Kas, cli_store: Store, demo_project: str
) -> None:
    """Fault D9."""
    _note(cli_store, "\x1b]0;own\x07red\x9b31m \u202etxt", task="\x1b[31mt")
    for options in ((), ("--json",)):
        out = kas("monitor", "events", *options).out
        assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(out)


@pytest.mark.parametrize(
    ("given", "at"),
    [
        ("10m", NOW - timedelta(minutes=10)),
        ("45s", NOW - timedelta(seconds=45)),
        ("3d", NOW - timedelta(days=3)),
        ("2026-01-31T14:00:00+02:00", datetime(2026, 1, 31, 12, tzinfo=UTC)),
        ("2026-01-31T14:00:00Z", datetime(2026, 1, 31, 14, tzinfo=UTC)),
        ("999999999d", datetime.min.replace(tzinfo=UTC)),
    ],
)
def test_a_time_is_an_age_or_an_instant(given: str, at: datetime) -> None:
    assert read_since(given, NOW) == at


@pytest.mark.parametrize("given", ["", "10", "m", "-5m", "10 m", "soon", "2026-13-01", "1.5h"])
def test_what_is_no_time_is_refused(given: str) -> None:
    with pytest.raises(BadArgument):
        read_since(given, NOW)


@pytest.mark.parametrize("with_daemon", [False, True])
def test_events_are_followed_each_once_until_ctrl_c(
    cli_store: Store, task: str, with_daemon: bool, request: pytest.FixtureRequest
) -> None:
    daemon = request.getfixturevalue("daemon") if with_daemon else None
    process = subprocess.Popen(
        [*KAS, "monitor", "events", "--follow", "--json", "--limit", "1"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        heard = [json.loads(process.stdout.readline())["message"]]
        for number in range(3):
            _note(cli_store, f"event {number}", task=task)
            heard.append(json.loads(process.stdout.readline())["message"])
        if daemon is not None:
            daemon.send_signal(signal.SIGKILL)
            daemon.wait(10)
        _note(cli_store, "after", task=task)
        heard.append(json.loads(process.stdout.readline())["message"])
    finally:
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=10)
    assert heard == ["task created, 2 waves, 3 subtasks", "event 0", "event 1", "event 2", "after"]
    assert (process.returncode, out, err) == (0, "", "")


def test_while_the_daemon_runs_its_stream_is_what_is_followed(
    cli_store: Store, task: str, daemon: "subprocess.Popen[bytes]"
) -> None:
    _note(cli_store, "before", task=task)
    stream = streamed(cli_store, 1, project="repo", task=task, kind="")
    assert [next(stream).message for _ in range(2)] == [
        "task created, 2 waves, 3 subtasks",
        "before",
    ]
    _note(cli_store, "of no task")
    _note(cli_store, "live", task=task)
    assert next(stream).message == "live"
    daemon.terminate()
    assert list(stream) == [], "it ends with the daemon"


def test_the_page_is_written_for_this_user_alone(kas: Kas, tmp_path: Path, task: str) -> None:
    out = tmp_path / "monitor.html"
    done = kas("monitor", "widget", "--out", str(out), "--project", "repo", "--mode", "pip")
    assert (done.code, done.out) == (0, f"{out}\n")
    assert out.stat().st_mode & 0o777 == 0o600
    assert preview_secret() in out.read_text("utf-8")
    assert kas("monitor", "widget", "--out", str(out)).code == 0, "a page of ours is replaced"
    assert [path.name for path in tmp_path.glob("*monitor*")] == ["monitor.html"]


def test_the_page_replaces_no_file_of_others(kas: Kas, tmp_path: Path) -> None:
    foreign = tmp_path / "thesis.html"
    foreign.write_text("<h1>mine</h1>", "utf-8")
    done = kas("monitor", "widget", "--out", str(foreign))
    assert (done.code, foreign.read_text("utf-8")) == (1, "<h1>mine</h1>")
    assert done.err.endswith("hint: --force\n")
    assert kas("monitor", "widget", "--out", str(foreign), "--force").code == 0
    assert kas("monitor", "widget", "--out", str(tmp_path)).code == 2
    assert kas("monitor", "widget", "--out", str(tmp_path / "no" / "x.html")).code == 2
    assert kas("monitor", "widget", "--out", "x", "--serve-url", "ftp://x").code == 2


def test_a_page_that_is_a_link_is_written_where_it_leads(kas: Kas, tmp_path: Path) -> None:
    """Fault A3."""
    link = tmp_path / "link.html"
    link.symlink_to("real.html")
    assert kas("monitor", "widget", "--out", str(link)).code == 0
    assert link.is_symlink()
    assert (tmp_path / "real.html").is_file()


class _Page(BaseHTTPRequestHandler):
    body = b"<title>kasmos monitor</title>"

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(self.body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def page() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Page)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join(5)
    server.server_close()


def test_the_page_of_a_running_serve_is_opened(
    kas: Kas, page: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    seen = tmp_path / "seen"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {seen}\n', "utf-8")
    browser.chmod(0o755)
    monkeypatch.setenv("BROWSER", f"{browser} %s")
    done = kas("monitor", "open", "--serve-url", page)
    assert (done.code, done.out) == (0, f"{page}/\n")
    assert seen.read_text("utf-8") == f"{page}/\n"


def test_no_page_is_told_with_how_to_begin(
    kas: Kas, page: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = kas("monitor", "open", "--serve-url", "http://127.0.0.1:1")
    assert (done.code, done.err.splitlines()[-1]) == (3, "hint: kas serve")
    monkeypatch.setattr(_Page, "body", b"<title>another program</title>")
    assert kas("monitor", "open", "--serve-url", page).code == 3
    for wrong in ("127.0.0.1", "http://", "http://x:y", "file:///etc"):
        assert kas("monitor", "open", "--serve-url", wrong).code == 2, wrong


def test_a_snapshot_read_from_the_store_is_a_live_status(kas: Kas, task: str) -> None:
    out = kas("monitor", "status", "--json", "--include", "tasks,events,projects").out
    assert LiveStatus.model_validate_json(out).model_dump_json() + "\n" == out
    assert os.linesep not in out[:-1]
