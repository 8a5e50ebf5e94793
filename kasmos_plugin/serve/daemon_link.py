"""One kept connection to the daemon, and a budget for each question. Knows no store.

A poll waits for the daemon as long as the budget, and only while the daemon is not already late:
while an older question is overdue, the last answer is given at once, with its age.
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from kasmos_plugin.contract.control import CONTROL_VERSION, AgentsReply
from kasmos_plugin.contract.live_status import Notice, NoticeCode
from kasmos_plugin.daemon import wire
from kasmos_plugin.daemon.client import NO_SOCKET, segment, why_foreign
from kasmos_plugin.facts import WHY_ABSENT

BUDGET_S = 0.25
KEEP_S = 5.0
"""How old an answer may be that stands in for a late one."""
GIVE_UP_S = 5.0
"""How long a question may stay open before its connection is dropped."""

_UNREACHABLE = WHY_ABSENT["daemon_unreachable"]


@dataclass(frozen=True, kw_only=True)
class Heard:
    """What is known of the daemon: its answer, or nothing; `notice` says what is wrong with it."""

    reply: AgentsReply | None = None
    notice: Notice | None = None


class DaemonLink:
    """Asks the daemon at one socket for agents; used by one event loop only."""

    def __init__(
        self,
        socket_path: Path,
        *,
        budget_s: float = BUDGET_S,
        keep_s: float = KEEP_S,
        give_up_s: float = GIVE_UP_S,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._socket_path = socket_path
        self._budget_s = budget_s
        self._keep_s = keep_s
        self._give_up_s = give_up_s
        self._monotonic = monotonic
        self._turn = asyncio.Lock()
        self._connection: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._flights: dict[str, asyncio.Task[Heard]] = {}
        self._last: dict[str, tuple[float, AgentsReply]] = {}
        self._is_late = False

    async def ask(self, project: str) -> Heard:
        """Return what the daemon says of `project` within the budget, or what it said last."""
        flight = self._flights.get(project)
        if flight is None:
            flight = self._flights[project] = asyncio.create_task(self._fly(project))
        # A task that starts now cannot be done before the loop turns: an absent daemon is told
        # from a late one by that turn even while the daemon counts as late.
        await asyncio.wait({flight}, timeout=0 if self._is_late else self._budget_s)
        if flight.done():
            return flight.result()
        self._is_late = True
        return self._remembered(project)

    async def close(self) -> None:
        """Drop the connection and every open question."""
        flights = list(self._flights.values())
        for flight in flights:
            flight.cancel()
        await asyncio.gather(*flights, return_exceptions=True)
        self._drop()

    def _remembered(self, project: str) -> Heard:
        at, reply = self._last.get(project, (0.0, None))
        age_s = self._monotonic() - at
        if reply is None or age_s > self._keep_s:
            return _nothing("daemon_unreachable", _UNREACHABLE)
        message = f"the daemon is slow: agents are shown as they were {age_s:.1f} s ago"
        return Heard(reply=reply, notice=Notice(code="daemon_slow", message=message))

    async def _fly(self, project: str) -> Heard:
        try:
            async with asyncio.timeout(self._give_up_s):
                heard = await self._exchange(project)
        except TimeoutError:
            # Still late: the next question is not waited for either, until one is answered.
            self._drop()
            return _nothing("daemon_unreachable", _UNREACHABLE)
        except wire.WireError as error:
            self._drop()
            heard = _nothing("daemon_incompatible", f"the daemon's answer is unreadable: {error}")
        except OSError as error:
            self._drop()
            heard = _nothing("daemon_unreachable", _why(error))
        finally:
            del self._flights[project]
        self._is_late = False
        if heard.reply is not None:
            now = self._monotonic()
            self._last = {
                name: kept for name, kept in self._last.items() if now - kept[0] <= self._keep_s
            } | {project: (now, heard.reply)}
        else:
            self._last.clear()
        return heard

    async def _exchange(self, project: str) -> Heard:
        async with self._turn:
            if self._connection is not None:
                try:
                    return await self._over(self._connection, project)
                except (OSError, wire.WireError):
                    # The daemon closed the kept connection, or was replaced: once more, anew.
                    self._drop()
            self._connection = await self._connect()
            return await self._over(self._connection, project)

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if (why := why_foreign(self._socket_path)) is not None:
            raise ConnectionRefusedError(0, why)
        return await asyncio.open_unix_connection(str(self._socket_path))

    async def _over(
        self, connection: tuple[asyncio.StreamReader, asyncio.StreamWriter], project: str
    ) -> Heard:
        reader, writer = connection
        writer.write(wire.request("GET", f"/v1/repos/{segment(project or '-')}/agents"))
        answer = wire.Answer()
        while not answer.feed(await reader.read(65536)):
            pass
        if not answer.keeps_connection:
            self._drop()
        return _read(answer)

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection[1].close()


def _read(answer: wire.Answer) -> Heard:
    if answer.status >= 500:
        return _nothing("daemon_unreachable", "the daemon cannot answer: agents are unknown")
    try:
        reply = AgentsReply.model_validate_json(answer.body)
    except ValidationError:
        return _nothing("daemon_incompatible", "the daemon's answer is unreadable")
    if answer.status != 200 or reply.control_version != CONTROL_VERSION:
        return _nothing(
            "daemon_incompatible",
            f"the daemon speaks control version {reply.control_version}, not {CONTROL_VERSION}",
        )
    return Heard(reply=reply)


def _nothing(code: NoticeCode, message: str) -> Heard:
    return Heard(notice=Notice(code=code, message=message))


def _why(error: OSError) -> str:
    """Return the notice for a socket that cannot be used; the usual case needs no reason."""
    if isinstance(error, FileNotFoundError) or error.strerror == NO_SOCKET:
        return _UNREACHABLE
    if isinstance(error, ConnectionRefusedError) and error.errno != 0:
        return _UNREACHABLE
    return f"{_UNREACHABLE} ({error.strerror or 'it hung up'})"
