"""serve.daemon_link: one kept connection, a budget, the last answer while the daemon is late."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from kasmos_plugin.contract.control import AgentsReply
from kasmos_plugin.serve.daemon_link import DaemonLink, Heard
from tests.serve.conftest import Monotonic, agent

pytestmark = pytest.mark.anyio

ENOUGH_S = 5.0


def reply(uptime_s: int = 5) -> AgentsReply:
    return AgentsReply(
        instance="i",
        uptime_s=uptime_s,
        repo_count=1,
        store_id="s",
        projects=("a",),
        agents=(agent(1, "a"),),
    )


def answer(body: bytes, *, status: str = "200 OK", extra: str = "") -> bytes:
    head = f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n{extra}\r\n"
    return head.encode() + body


@dataclass
class Daemon:
    """A socket that answers as it is told, and can be stopped from answering."""

    path: Path
    says: bytes = field(default_factory=lambda: answer(reply().model_dump_json().encode()))
    heard: list[str] = field(default_factory=list)
    connections: int = 0
    answers: asyncio.Event = field(default_factory=asyncio.Event)
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    hangs_up: bool = False
    writers: list[asyncio.StreamWriter] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.writers.append(writer)
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                self.heard.append(head.decode().split(" ")[1])
                self.asked.set()
                await self.answers.wait()
                writer.write(self.says)
                if self.hangs_up:
                    return
        except (asyncio.IncompleteReadError, ConnectionError):
            return
        finally:
            writer.close()


@asynccontextmanager
async def daemon_at(path: Path) -> AsyncIterator[Daemon]:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    daemon = Daemon(path)
    daemon.answers.set()
    server = await asyncio.start_unix_server(daemon.serve, str(path))
    path.chmod(0o600)
    try:
        yield daemon
    finally:
        server.close()
        for writer in daemon.writers:
            writer.close()
        path.unlink(missing_ok=True)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run" / "daemon.sock"


@asynccontextmanager
async def linked(path: Path, **options: float) -> AsyncIterator[tuple[DaemonLink, Monotonic]]:
    monotonic = Monotonic()
    link = DaemonLink(path, monotonic=monotonic, **options)
    try:
        yield link, monotonic
    finally:
        await link.close()


def code(heard: Heard) -> str | None:
    return heard.notice.code if heard.notice is not None else None


async def test_one_connection_carries_every_question(path: Path) -> None:
    async with daemon_at(path) as daemon, linked(path) as (link, _):
        for _ in range(3):
            assert await link.ask("a b/ü") == Heard(reply=reply())
        await link.ask("")
        assert daemon.connections == 1
        assert daemon.heard == ["/v1/repos/a%20b%2F%C3%BC/agents"] * 3 + ["/v1/repos/-/agents"]


async def test_those_who_ask_for_one_project_together_ask_once(path: Path) -> None:
    async with daemon_at(path) as daemon, linked(path) as (link, _):
        heard = await asyncio.gather(*[link.ask("a") for _ in range(10)])
        assert heard == [Heard(reply=reply())] * 10
        assert len(daemon.heard) == 1


async def test_no_socket_is_a_daemon_that_does_not_answer(path: Path) -> None:
    async with linked(path) as (link, _):
        assert code(await link.ask("a")) == "daemon_unreachable"


async def test_a_socket_that_nobody_listens_on_is_no_daemon(path: Path) -> None:
    async with daemon_at(path), linked(path) as (link, _):
        pass
    path.parent.mkdir(exist_ok=True)
    async with linked(path) as (link, _):
        import socket

        with socket.socket(socket.AF_UNIX) as left:
            left.bind(str(path))
        path.chmod(0o600)
        heard = await link.ask("a")
        assert code(heard) == "daemon_unreachable"
        assert heard.notice is not None
        assert str(path) not in heard.notice.message


async def test_a_socket_that_others_can_use_is_not_believed(path: Path) -> None:
    async with daemon_at(path) as daemon, linked(path) as (link, _):
        path.chmod(0o666)
        heard = await link.ask("a")
        assert (code(heard), daemon.connections) == ("daemon_unreachable", 0)
        assert heard.notice is not None
        assert "can be used by others" in heard.notice.message


async def test_a_restarted_daemon_is_found_at_the_next_question(path: Path) -> None:
    async with linked(path) as (link, _):
        async with daemon_at(path):
            assert (await link.ask("a")).reply == reply()
        assert code(await link.ask("a")) == "daemon_unreachable"
        async with daemon_at(path):
            assert (await link.ask("a")).reply == reply()


async def test_a_connection_that_the_daemon_closed_is_made_anew(path: Path) -> None:
    async with daemon_at(path) as daemon, linked(path) as (link, _):
        daemon.hangs_up = True
        assert (await link.ask("a")).reply == reply()
        assert (await link.ask("a")).reply == reply()
        assert daemon.connections == 2


async def test_a_late_daemon_is_shown_as_it_was_with_its_age(path: Path) -> None:
    async with daemon_at(path) as daemon, linked(path, budget_s=0.02) as (link, monotonic):
        await link.ask("a")
        daemon.answers.clear()
        monotonic.advance(1.5)
        heard = await link.ask("a")
        assert heard.reply == reply()
        assert heard.notice is not None
        assert heard.notice.code == "daemon_slow"
        assert "1.5 s ago" in heard.notice.message
        monotonic.advance(3.6)
        assert await link.ask("a") == Heard(notice=(await link.ask("a")).notice)
        assert code(await link.ask("a")) == "daemon_unreachable"
        assert len(daemon.heard) == 2


async def test_a_hung_daemon_delays_one_poll_not_every_poll(path: Path) -> None:
    async with daemon_at(path) as daemon, linked(path, budget_s=0.2) as (link, _):
        await link.ask("a")
        daemon.answers.clear()
        begun = time.monotonic()
        await link.ask("a")
        first_s = time.monotonic() - begun
        begun = time.monotonic()
        for number in range(20):
            await link.ask("a" if number % 2 else "b")
        others_s = time.monotonic() - begun
        # Twenty polls that each waited would take twenty times the first one.
        assert others_s < 5 * first_s


async def test_a_late_answer_is_taken_when_it_comes_and_the_wait_is_back(path: Path) -> None:
    async with daemon_at(path) as daemon, linked(path, budget_s=0.02) as (link, _):
        daemon.answers.clear()
        assert code(await link.ask("a")) == "daemon_unreachable"
        daemon.says = answer(reply(9).model_dump_json().encode())
        daemon.answers.set()
        async with asyncio.timeout(ENOUGH_S):
            while (heard := await link.ask("a")).notice is not None:
                await asyncio.sleep(0)
        assert heard == Heard(reply=reply(9))
        assert daemon.connections == 1


async def test_a_question_is_given_up_and_asked_anew_without_waiting(path: Path) -> None:
    async with (
        daemon_at(path) as daemon,
        linked(path, budget_s=0.02, give_up_s=0.05) as (link, _),
    ):
        daemon.answers.clear()
        await link.ask("a")
        async with asyncio.timeout(ENOUGH_S):
            while daemon.connections < 2:
                await link.ask("a")
                await asyncio.sleep(0)
        assert code(await link.ask("a")) == "daemon_unreachable"
        daemon.answers.set()
        async with asyncio.timeout(ENOUGH_S):
            while (heard := await link.ask("a")).reply is None:
                await asyncio.sleep(0)
        assert heard.notice is None


@pytest.mark.parametrize(
    "said",
    [
        b"hello there\r\n\r\n",
        answer(b"{}"),
        answer(b"not json"),
        answer(reply().model_copy(update={"control_version": 99}).model_dump_json().encode()),
        answer(b'{"error":{"code":"not_found","message":"m"}}', status="404 Not Found"),
    ],
)
async def test_an_answer_that_cannot_be_read_says_so(path: Path, said: bytes) -> None:
    async with daemon_at(path) as daemon, linked(path) as (link, _):
        daemon.says = said
        assert code(await link.ask("a")) == "daemon_incompatible"
        daemon.says = answer(reply().model_dump_json().encode())
        assert (await link.ask("a")).reply == reply()


async def test_a_daemon_that_fails_is_not_an_empty_one(path: Path) -> None:
    async with daemon_at(path) as daemon, linked(path) as (link, _):
        daemon.says = answer(b'{"error":{"code":"store_corrupt","message":"m"}}', status="503 No")
        assert await link.ask("a") == Heard(notice=(await link.ask("a")).notice)
        assert code(await link.ask("a")) == "daemon_unreachable"


async def test_an_absent_daemon_is_not_shown_as_it_was(path: Path) -> None:
    async with linked(path) as (link, _):
        async with daemon_at(path):
            await link.ask("a")
        heard = await link.ask("a")
        assert (heard.reply, code(heard)) == (None, "daemon_unreachable")


async def test_a_late_daemon_is_not_shown_as_the_one_before_it_was(path: Path) -> None:
    async with linked(path, budget_s=0.02) as (link, _):
        async with daemon_at(path):
            assert (await link.ask("a")).reply == reply()
        await link.ask("a")
        async with daemon_at(path) as daemon:
            daemon.answers.clear()
            assert code(await link.ask("a")) == "daemon_unreachable"
