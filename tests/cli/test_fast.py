"""The two fast commands: what they import, what they ask, and what they leave to the others."""

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from kasmos_plugin import paths
from kasmos_plugin.cli import fast
from kasmos_plugin.cli.look import Asked, look_json
from kasmos_plugin.contract.control import CONTROL_VERSION
from kasmos_plugin.daemon import wire
from tests.cli.conftest import Kas

HEAVY = ("click", "pydantic", "platformdirs", "http.client", "socket", "rich", "sqlite3", "typing")
_PROBE = """
import sys
from kasmos_plugin.cli.main import run
code = run(sys.argv[1:])
print("\\n" + " ".join(name for name in {heavy} if name in sys.modules), file=sys.stderr)
sys.exit(code)
"""


class FakeDaemon:
    """Answers every request on the socket with one body, and keeps what was asked."""

    def __init__(self, path: Path, answer: bytes) -> None:
        path.parent.mkdir(mode=0o700, parents=True)
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        path.chmod(0o600)
        self._listener.listen()
        self._answer = answer
        self.asked: list[str] = []
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(5)

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection:
                request = b""
                while b"\r\n\r\n" not in request:
                    request += connection.recv(65536)
                self.asked.append(request.split(b"\r\n")[0].decode())
                connection.sendall(self._answer)


def _http(status: int, body: bytes) -> bytes:
    control = f"{wire.CONTROL_HEADER}: {CONTROL_VERSION}".encode()
    head = b"HTTP/1.1 %d X\r\n%s\r\nContent-Length: %d" % (status, control, len(body))
    return head + b"\r\n\r\n" + body


@pytest.fixture
def answering() -> Iterator[FakeDaemon]:
    with closing(FakeDaemon(paths.socket(), _http(200, b'{"any":"bytes"}'))) as fake:
        yield fake


def _imported_by(*arguments: str) -> tuple[int, list[str], str]:
    probe = _PROBE.format(heavy=HEAVY)
    done = subprocess.run(
        [sys.executable, "-c", probe, *arguments], capture_output=True, text=True, timeout=20
    )
    return done.returncode, done.stderr.splitlines()[-1].split(), done.stdout


def test_a_snapshot_as_json_imports_nothing_heavy(answering: FakeDaemon) -> None:
    code, imported, out = _imported_by("monitor", "status", "--json", "--project", "p")
    # `typing` comes with pathlib's own imports in some versions; the others never.
    assert (code, [name for name in imported if name != "typing"]) == (0, [])
    assert out == '{"any":"bytes"}\n'


def test_a_report_imports_nothing_heavy(
    answering: FakeDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KASMOS_AGENT_ID", "a1")
    code, imported, out = _imported_by("agent", "report", "--stage", "ready")
    assert (code, imported, out) == (0, [], "")
    assert answering.asked == ["POST /v1/agents/a1/report HTTP/1.1"]


def test_the_daemon_is_asked_with_every_option(kas: Kas, answering: FakeDaemon) -> None:
    done = kas(
        *(
            "monitor",
            "status",
            "--json",
            "--project=a b",
            "--cap",
            "7",
            "--include",
            "tasks,events",
        ),
        *("--focus", "auth/é", "--db", "/x y.db"),
    )
    assert (done.code, done.out) == (0, '{"any":"bytes"}\n')
    assert answering.asked == [
        "GET /v1/repos/a%20b/live-status?database=%2Fx%20y.db&include=tasks%2Cevents"
        "&focus=auth%2F%C3%A9&cap=7 HTTP/1.1"
    ]


def test_without_a_project_the_daemon_learns_where_the_person_is(
    kas: Kas, answering: FakeDaemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    kas("monitor", "status", "--json")
    monkeypatch.setenv("KASMOS_PROJECT", "named")
    kas("monitor", "status", "--json")
    where = str(tmp_path).replace("/", "%2F")
    assert "/v1/repos/-/live-status?database=" in answering.asked[0]
    assert f"&cwd={where} " in answering.asked[0]
    assert answering.asked[1].startswith("GET /v1/repos/named/live-status?database=")


@pytest.mark.parametrize(
    "arguments",
    [
        ("monitor", "status"),
        ("monitor", "status", "--json", "--help"),
        ("monitor", "status", "--json", "--bogus"),
        ("monitor", "status", "--json", "--cap"),
        ("monitor", "status", "--json", "extra"),
        ("monitor", "events", "--json"),
        ("agent", "report", "--help"),
        ("agent", "list"),
        ("--version",),
        (),
    ],
)
def test_everything_else_is_left_to_the_full_command(arguments: tuple[str, ...]) -> None:
    assert fast.run(arguments) is None


@pytest.mark.parametrize("status", [400, 404, 409, 500])
def test_a_refusal_is_left_to_the_full_command(status: int) -> None:
    with closing(FakeDaemon(paths.socket(), _http(status, b"{}"))):
        assert fast.run(("monitor", "status", "--json", "--project", "p")) is None


def test_no_daemon_is_left_to_the_full_command() -> None:
    assert fast.run(("monitor", "status", "--json", "--project", "p")) is None


@pytest.mark.parametrize(
    "environment",
    [
        {"KASMOS_DB": "some.db"},
        {"KASMOS_DB": "~/some.db"},
        {"KASMOS_HOME": "home"},
        {},
    ],
)
def test_the_stores_path_is_the_one_that_all_commands_use(
    environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("KASMOS_DB", "KASMOS_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    found = fast.database("", os.environ)
    if found is None:
        assert sys.platform != "linux"
    else:
        assert found == paths.database()


def test_a_data_directory_elsewhere_is_left_to_platformdirs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("KASMOS_HOME")
    monkeypatch.setenv("XDG_DATA_HOME", "/elsewhere")
    assert fast.database("", os.environ) is None


def test_both_ways_print_the_same(
    kas: Kas, task: str, daemon: "subprocess.Popen[bytes]", tmp_path: Path
) -> None:
    """The daemon's bytes, and the full command that asks it: equal but for the clock."""
    options = ("--include", "tasks,events,projects", "--focus", task)
    at_once = kas("monitor", "status", "--json", *options).json
    slowly = kas("monitor", "status", *options, "--json", "--cap=20", "--project", "repo").json
    full = json.loads(
        look_json(Asked(include=("tasks", "events", "projects"), focus=task, project="repo"))
    )
    for snapshot in (at_once, slowly, full):
        assert snapshot["daemon_running"] is True
        del snapshot["generated_at"]
        snapshot.pop("uptime", None)
    assert at_once == slowly == full
