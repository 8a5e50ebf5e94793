"""Who listens on a port: nobody, a kasmos, another program."""

import http.server
import socket
import threading
import time
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


def test_one_who_answers_a_byte_at_a_time_is_not_waited_for() -> None:
    """The time counts for the whole answer, not for each read."""
    told = b"HTTP/1.1 200 OK\r\nContent-Length: 9000\r\n\r\n" + b" " * 9_000
    hung_up_after: list[int] = []

    def drip() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(1_000)
            for sent in range(len(told)):
                try:
                    connection.sendall(told[sent : sent + 1])
                except OSError:
                    hung_up_after.append(sent)
                    return
                time.sleep(0.005)

    with socket.socket() as listener:
        listener.bind((ports.HOST, 0))
        listener.listen()
        dripping = threading.Thread(target=drip)
        dripping.start()
        assert ports.identity(listener.getsockname()[1], within_s=0.2) is None
        dripping.join()
    assert hung_up_after, "it was read to its end"
