"""serve.app: `kas serve` as a process with real sockets, from its start to its end."""

import http.client
import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from kasmos_plugin.store import open_store

ENOUGH_S = 30


class Server:
    """A `kas serve` of its own, on free ports."""

    def __init__(self, home: Path, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [
                *(sys.executable, "-m", "kasmos_plugin", "serve", "--json"),
                *("--port", "0", "--mcp-port", "0", *arguments),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=os.environ | {"KASMOS_HOME": str(home)},
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError(self.process.communicate(timeout=ENOUGH_S)[1].decode())
        self.ready = json.loads(line)

    def port(self, which: str = "monitor") -> int:
        return int(self.ready[which].split(":")[2].split("/")[0])

    def ask(
        self, method: str, path: str, body: Any = None, *, which: str = "monitor"
    ) -> tuple[int, Any]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port(which), timeout=ENOUGH_S)
        headers = {
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
        }
        try:
            sent = None if body is None else json.dumps(body)
            connection.request(method, path, sent, headers)
            answered = connection.getresponse()
            return answered.status, answered.read()
        finally:
            connection.close()

    def call(self, tool: str) -> Any:
        message = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": tool, "arguments": {}},
        }
        status, body = self.ask("POST", "/mcp", message, which="mcp")
        assert status == 200
        return json.loads(body)["result"]

    def end(self, number: int = signal.SIGTERM) -> tuple[int, str]:
        if self.process.poll() is None:
            self.process.send_signal(number)
        _, errors = self.process.communicate(timeout=ENOUGH_S)
        return self.process.returncode, errors.decode()


@contextmanager
def server(home: Path, *arguments: str) -> Iterator[Server]:
    running = Server(home, *arguments)
    try:
        yield running
    finally:
        if running.process.poll() is None:
            running.process.kill()
        running.process.communicate(timeout=ENOUGH_S)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One server for the tests that only ask."""
    with server(tmp_path_factory.mktemp("home")) as running:
        yield running
        code, errors = running.end()
        assert (code, errors) == (0, "")


def raw(port: int, sent: bytes) -> bytes:
    """Send bytes and return everything that comes back until the server closes."""
    with socket.create_connection(("127.0.0.1", port), timeout=ENOUGH_S) as connection:
        connection.sendall(sent)
        got = b""
        while part := connection.recv(65536):
            got += part
        return got


def test_both_listeners_answer_from_one_process(shared: Server) -> None:
    assert list(shared.ready) == ["monitor", "mcp", "bridge", "store", "store_id", "instance"]
    assert shared.ready["bridge"] == f"{shared.ready['monitor']}v1/monitor/snapshot"
    status, page = shared.ask("GET", "/")
    assert (status, b"<!doctype html>" in page.lower()) == (200, True)
    status, body = shared.ask("POST", "/v1/monitor/snapshot", {})
    assert json.loads(body) == shared.call("refresh_monitor")
    for which in ("monitor", "mcp"):
        health = json.loads(shared.ask("GET", "/healthz", which=which)[1])
        assert health["instance"] == shared.ready["instance"]
        assert health["store_id"] == shared.ready["store_id"]


def test_a_chunked_body_that_is_too_large_is_stopped(shared: Server) -> None:
    """D7: over a real socket, where nothing declares the length."""
    chunk = b"2000\r\n" + b" " * 0x2000 + b"\r\n"
    head = (
        b"POST /v1/monitor/snapshot HTTP/1.1\r\nHost: localhost\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n"
    )
    for which in ("monitor", "mcp"):
        with socket.create_connection(("127.0.0.1", shared.port(which)), timeout=ENOUGH_S) as link:
            link.sendall(head.replace(b"/v1/monitor/snapshot", b"/mcp") if which == "mcp" else head)
            for _ in range(9):
                link.sendall(chunk)
            assert link.recv(65536).startswith(b"HTTP/1.1 413 ")


def test_a_foreign_host_and_an_absolute_target_get_nothing(shared: Server) -> None:
    """D1"""
    for request in (
        b"GET / HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n",
        b"GET / HTTP/1.0\r\n\r\n",
        b"GET http://evil.example/ HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n",
    ):
        assert raw(shared.port(), request).startswith(b"HTTP/1.1 421 ")


def test_a_connection_is_kept_over_many_polls(shared: Server) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", shared.port(), timeout=ENOUGH_S)
    connection.request("POST", "/v1/monitor/snapshot", "{}")
    connection.getresponse().read()
    first = connection.sock
    for _ in range(3):
        connection.request("POST", "/v1/monitor/snapshot", "{}")
        assert connection.getresponse().read()
        assert connection.sock is first
    connection.close()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_request_in_flight_is_answered_before_the_end(home: Path, number: int) -> None:
    run = home / "run"
    run.mkdir(parents=True, mode=0o700)
    store = open_store(home / "data" / "kasmos.db")
    store.close()
    with socket.socket(socket.AF_UNIX) as silent, server(home) as running:
        silent.bind(str(run / "daemon.sock"))
        (run / "daemon.sock").chmod(0o600)
        silent.listen()
        connection = http.client.HTTPConnection("127.0.0.1", running.port(), timeout=ENOUGH_S)
        connection.request("POST", "/v1/monitor/snapshot", "{}")
        # The daemon is being asked, so the request is in flight and stays so for its budget.
        asked, _ = silent.accept()
        running.process.send_signal(number)
        running.process.send_signal(number)
        answered = connection.getresponse()
        assert answered.status == 200
        assert b"daemon_unreachable" in answered.read()
        connection.close()
        asked.close()
        assert running.end(number) == (0, "")


def test_a_store_of_a_newer_kasmos_is_an_error_on_every_surface(home: Path) -> None:
    """B4, B5: no empty snapshot, nothing written, and the server lives on."""
    path = home / "data" / "kasmos.db"
    open_store(path).close()
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 999")
    connection.close()
    before = path.read_bytes()
    with server(home) as running:
        status, body = running.ask("POST", "/v1/monitor/snapshot", {})
        assert (status, json.loads(body)["_meta"]["kasmos/error"]["code"]) == (503, "store_too_new")
        assert running.call("open_monitor") == json.loads(body)
        assert running.ask("GET", "/healthz")[0] == 503
        assert path.read_bytes() == before
        code, errors = running.end()
        assert code == 0
        assert "schema version 999" in errors
        assert "Traceback" not in errors


def test_a_taken_port_ends_the_start_at_once_naming_the_kasmos_that_has_it(
    shared: Server, home: Path
) -> None:
    """D6: and before the SDK is imported."""
    done = subprocess.run(
        [
            *(sys.executable, "-X", "importtime", "-m", "kasmos_plugin", "serve"),
            *("--port", str(shared.port()), "--mcp-port", "0"),
        ],
        capture_output=True,
        text=True,
        timeout=ENOUGH_S,
        check=False,
    )
    errors = [line for line in done.stderr.splitlines() if not line.startswith("import time:")]
    assert done.returncode == 1
    assert errors[0].startswith(f"error: Port {shared.port()} on 127.0.0.1 is taken by kas serve")
    assert shared.ready["instance"] in errors[0]
    assert f"pid {shared.process.pid}" in errors[0]
    assert errors[1].startswith("hint: --port PORT")
    assert not any(" mcp" in line.rpartition("|")[2] for line in done.stderr.splitlines())
