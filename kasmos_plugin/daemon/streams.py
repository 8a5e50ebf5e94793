"""The two long answers of the control API: a shim's link and the stream of events.

Both end first when the daemon stops, and neither can keep it waiting: a reader that takes nothing
is cut, one that falls behind is told so and closed. Knows no other route.
"""

import asyncio
import contextlib

from pydantic import ValidationError

from kasmos_plugin.contract.control import ShimBeat, ShimHello
from kasmos_plugin.contract.event import EventRecord
from kasmos_plugin.daemon.feed import Feed
from kasmos_plugin.daemon.http import MAX_BODY_BYTES, Gone, Request, TooLarge
from kasmos_plugin.daemon.registry import Registry, Word
from kasmos_plugin.errors import BadArgument
from kasmos_plugin.store import Store

BEHIND = 256
"""Events that a reader may be behind before it is told to read a snapshot instead."""


class Lines:
    """The lines of a request's body, as they arrive."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self._buffer = b""

    async def next(self) -> bytes:
        """Return the next line, b"" once the body has ended.

        Raises:
            TooLarge: a line has more than 64 KiB.
            Gone: the client left.
        """
        while b"\n" not in self._buffer:
            if len(self._buffer) > MAX_BODY_BYTES:
                raise TooLarge(f"A line is longer than {MAX_BODY_BYTES} bytes.")
            chunk = await self._request.chunk()
            if not chunk:
                line, self._buffer = self._buffer, b""
                return line
            self._buffer += chunk
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line + b"\n"


async def serve_link(
    request: Request, registry: Registry, *, closing: asyncio.Event, hello_within_s: float
) -> None:
    """Take a shim's hello and beats; send it words until it leaves or the daemon stops.

    Raises:
        BadArgument: the first line is no hello.
        Gone: the shim left before it said one.
    """
    lines = Lines(request)
    try:
        async with asyncio.timeout(hello_within_s):
            hello = ShimHello.model_validate_json(await lines.next())
    except (ValidationError, TimeoutError):
        raise BadArgument("The first line of a link is a hello.") from None
    words: asyncio.Queue[Word] = asyncio.Queue()

    def send(word: Word) -> None:
        words.put_nowait(word)

    await request.start(200, "text/plain; charset=utf-8")
    registry.link(hello, send)
    listening = asyncio.create_task(_listen(lines, registry, hello.id))
    stopping = asyncio.create_task(closing.wait())
    try:
        while not (listening.done() and words.empty()) and not stopping.done():
            speaking = asyncio.create_task(words.get())
            await asyncio.wait({speaking, listening, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if speaking.done():
                await request.write(f"{speaking.result()}\n".encode())
            else:
                speaking.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await speaking
        await request.write(b"", more=False)
    finally:
        registry.unlink(hello.id, send)
        for task in (listening, stopping):
            task.cancel()
        await asyncio.gather(listening, stopping, return_exceptions=True)


async def _listen(lines: Lines, registry: Registry, agent_id: str) -> None:
    """Take beats until the shim leaves; one that cannot be read is no beat."""
    with contextlib.suppress(Gone, TooLarge):
        while line := await lines.next():
            with contextlib.suppress(ValidationError):
                registry.beat(agent_id, ShimBeat.model_validate_json(line))


async def serve_events(
    request: Request,
    store: Store,
    feed: Feed,
    *,
    closing: asyncio.Event,
    takes_within_s: float,
    quiet_s: float,
) -> None:
    """Stream events as they are stored, from now on or from `Last-Event-ID`.

    Raises:
        BadArgument: `Last-Event-ID` is no number.
        StoreError: the store cannot be read at the start.
    """
    asked = {name: request.query.get(name, "") for name in ("project", "task", "kind")}
    last = _last_event_id(request)
    if last is None:
        last = store.events.last_id()
    await request.start(200, "text/event-stream; charset=utf-8")
    leaving = asyncio.create_task(request.until_gone())
    stopping = asyncio.create_task(closing.wait())
    text = b": kasmos\n\n"
    try:
        while not (leaving.done() or stopping.done()):
            async with asyncio.timeout(takes_within_s):
                await request.write(text)
            turn = feed.turn
            events = store.events.after(
                last,
                project=asked["project"],
                task=asked["task"],
                kind=asked["kind"],
                limit=BEHIND + 1,
            )
            if len(events) > BEHIND:
                newest = store.events.last_id()
                marker = f'id: {newest}\nevent: behind\ndata: {{"last_id":{newest}}}\n\n'
                async with asyncio.timeout(takes_within_s):
                    await request.write(marker.encode())
                break
            if events:
                last = events[-1].id
                text = "".join(map(_event, events)).encode()
                continue
            text = await _quiet(turn, leaving, stopping, quiet_s)
        async with asyncio.timeout(takes_within_s):
            await request.write(b"", more=False)
        # The connection closes once all is taken; a reader that takes nothing is not waited for.
        asyncio.get_running_loop().call_later(takes_within_s, request.abort)
    except TimeoutError:
        request.abort()
    finally:
        for task in (leaving, stopping):
            task.cancel()
        await asyncio.gather(leaving, stopping, return_exceptions=True)


async def _quiet(
    turn: asyncio.Event,
    leaving: asyncio.Task[None],
    stopping: asyncio.Task[bool],
    quiet_s: float,
) -> bytes:
    """Wait for news; return what to send before the next look: a comment after long silence."""
    news = asyncio.create_task(turn.wait())
    done, _ = await asyncio.wait(
        {news, leaving, stopping}, timeout=quiet_s, return_when=asyncio.FIRST_COMPLETED
    )
    news.cancel()
    await asyncio.gather(news, return_exceptions=True)
    return b"" if done else b": quiet\n\n"


def _event(event: EventRecord) -> str:
    return f"id: {event.id}\ndata: {event.model_dump_json()}\n\n"


def _last_event_id(request: Request) -> int | None:
    text = request.headers.get("last-event-id", "").strip()
    if not text:
        return None
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        raise BadArgument("Last-Event-ID is no event's id.")
    return int(text)
