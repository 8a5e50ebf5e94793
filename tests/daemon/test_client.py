"""daemon.client: one request over a socket that is ours, and nobody else's answer believed."""

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kasmos_plugin.contract.control import CONTROL_VERSION
from kasmos_plugin.daemon import client
from kasmos_plugin.errors import DaemonIncompatible, DaemonUnreachable, KasmosError


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "daemon.sock"


@contextmanager
def answering(path: Path, data: bytes | None) -> Iterator[None]:
    """Listen at `path`; answer one connection with `data`, or keep it open for None."""
    listener = socket.socket(socket.AF_UNIX)
    before = os.umask(0o177)
    listener.bind(str(path))
    os.umask(before)
    listener.listen()
    is_over = threading.Event()

    def answer() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(65536)
            if data is None:
                is_over.wait(5)
            else:
                connection.sendall(data)

    thread = threading.Thread(target=answer)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join(5)
        listener.close()


def reply(status: str, body: bytes) -> bytes:
    head = f"HTTP/1.1 {status}\r\nkasmos-control: 1\r\ncontent-length: {len(body)}\r\n\r\n"
    return head.encode() + body


def test_an_answer_comes_back_whole(path: Path) -> None:
    with answering(path, reply("200 OK", b"{}")):
        answer = client.request(path, "GET", "/v1/ping")
    assert (answer.status, answer.body) == (200, b"{}")


def test_a_refusal_keeps_its_code_message_and_hint(path: Path) -> None:
    body = b'{"error": {"code": "conflict", "message": "no.", "hint": "kas x"}}'
    with answering(path, reply("409 Conflict", body)), pytest.raises(KasmosError) as caught:
        client.call(path, "POST", "/x")
    refused = caught.value
    assert (refused.code, refused.message, refused.hint) == ("conflict", "no.", "kas x")


@pytest.mark.parametrize(
    "data",
    [
        b"220 mail.example ESMTP\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nkasmos-control: 2\r\ncontent-length: 2\r\n\r\n{}",
    ],
)
def test_another_program_at_the_socket_is_not_believed(path: Path, data: bytes) -> None:
    """C9."""
    with answering(path, data), pytest.raises(DaemonIncompatible):
        client.request(path, "GET", "/v1/ping")


def test_a_daemon_that_says_nothing_is_given_up_in_time(path: Path) -> None:
    with answering(path, None), pytest.raises(DaemonUnreachable, match=r"no answer within 0\.1 s"):
        client.request(path, "GET", "/v1/ping", timeout_s=0.1)


def test_no_socket_and_a_dead_socket_are_unreachable(path: Path) -> None:
    with pytest.raises(DaemonUnreachable, match="there is no socket"):
        client.request(path, "GET", "/v1/ping")
    with answering(path, b""), pytest.raises(DaemonUnreachable, match="it hung up"):
        client.request(path, "GET", "/v1/ping")
    with pytest.raises(DaemonUnreachable, match="refused"):
        client.request(path, "GET", "/v1/ping")


def test_a_plain_file_at_the_path_is_named(path: Path) -> None:
    """C8."""
    path.write_text("mine")
    with pytest.raises(DaemonUnreachable, match="a file that is no socket"):
        client.request(path, "GET", "/v1/ping")
    assert path.read_text() == "mine"


@pytest.mark.parametrize(("mode", "directory_mode"), [(0o666, 0o700), (0o600, 0o777)])
def test_a_socket_that_others_can_use_is_not_used(
    path: Path, mode: int, directory_mode: int
) -> None:
    """C8."""
    with answering(path, reply("200 OK", b"{}")):
        path.chmod(mode)
        path.parent.chmod(directory_mode)
        with pytest.raises(DaemonUnreachable, match="used by others"):
            client.request(path, "GET", "/v1/ping")
        path.chmod(0o600)
        path.parent.chmod(0o700)
        client.request(path, "GET", "/v1/ping")


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a socket away")
def test_a_socket_of_another_user_is_not_used(path: Path) -> None:
    """C8."""
    with answering(path, reply("200 OK", b"{}")):
        os.chown(path, 12_345, -1)
        with pytest.raises(DaemonUnreachable, match="another user"):
            client.request(path, "GET", "/v1/ping")
        os.chown(path, 0, -1)
        client.request(path, "GET", "/v1/ping")


def test_the_control_version_is_the_contracts() -> None:
    assert str(CONTROL_VERSION) == client.CONTROL_VERSION


def test_text_becomes_one_segment() -> None:
    assert client.segment("a/b ü?&") == "a%2Fb%20%C3%BC%3F%26"


def test_a_request_imports_nothing_heavy(path: Path) -> None:
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from kasmos_plugin.daemon import client\n"
        f"print(client.request(Path({str(path)!r}), 'GET', '/v1/ping').status)\n"
        "heavy = {'pydantic', 'socket', 'http.client', 'platformdirs', 'json', 'typing', 'click'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    with answering(path, reply("200 OK", b"{}")):
        done = subprocess.run(
            [sys.executable, "-S", "-c", code],
            env={"PYTHONPATH": str(Path(client.__file__).parents[2])},
            capture_output=True,
            text=True,
            timeout=20,
        )
    assert (done.stdout, done.stderr) == ("200\n[]\n", "")
