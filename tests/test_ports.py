"""Who listens on a port: nobody, a kasmos, another program."""

import http.server
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from kasmos_plugin import ports


class Stranger(http.server.BaseHTTPRequestHandler):
    """Answers everything with the same bytes."""

    body = b""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(self.body)))
        self.end_headers()
        self.wfile.write(self.body)

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.do_GET()

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@contextmanager
def answering(body: bytes) -> Iterator[int]:
    handler = type("Handler", (Stranger,), {"body": body})
    with http.server.ThreadingHTTPServer((ports.HOST, 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()


def test_a_free_port_has_no_holder_and_no_server() -> None:
    with socket.socket() as bound:
        bound.bind((ports.HOST, 0))
        port = bound.getsockname()[1]
        assert not ports.is_held(port)
        assert ports.identity(port) is None
        assert ports.mcp_server(port) is None


@pytest.mark.parametrize(
    "body",
    [b"", b"<html>", b"[]", b"null", b'{"kasmos": 1}', b'{"result": 3}', b"[" * 60_000, b"\xff"],
    ids=lambda body: repr(body[:12]),
)
def test_another_program_is_never_believed_to_be_kasmos(body: bytes) -> None:
    """Fault D6: answers carry an identity, and who asks checks it."""
    with answering(body) as port:
        assert ports.is_held(port)
        assert ports.identity(port) is None
        assert ports.mcp_server(port) is None
        assert "kas serve" not in ports.holder(port)


def test_a_sick_kasmos_says_why_and_its_texts_are_clean() -> None:
    told = (
        b'{"kasmos": "serve", "version": "9\\u001b[31m", "instance": "i",'
        b' "ok": false, "error": {"message": "The store is damaged."}}'
    )
    with answering(told) as port:
        assert ports.identity(port) == ports.Serve(
            version="9", instance="i", trouble="The store is damaged."
        )
        assert ports.holder(port).startswith("kas serve 9, instance i")


def test_a_silent_listener_is_held_and_is_no_server() -> None:
    with socket.socket() as silent:
        silent.bind((ports.HOST, 0))
        silent.listen()
        port = silent.getsockname()[1]
        assert ports.is_held(port)
        assert ports.identity(port, within_s=0.05) is None
        assert ports.mcp_server(port, within_s=0.05) is None
