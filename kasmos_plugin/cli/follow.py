"""Events as they happen: the daemon's stream while it runs, else the store looked at again.

Both number events alike, so that a change from one to the other loses none and shows none twice.
"""

import json
import time
from collections.abc import Iterator

from pydantic import ValidationError

from kasmos_plugin import paths
from kasmos_plugin.contract.control import DaemonStatus
from kasmos_plugin.contract.event import EventRecord
from kasmos_plugin.daemon import wire
from kasmos_plugin.daemon.client import connect, request, segment
from kasmos_plugin.errors import Unreachable
from kasmos_plugin.store import Store

POLL_S = 0.5
DAEMON_RETRY_S = 3.0
SILENCE_S = 60.0
"""A stream that says nothing for so long, not even a comment, is taken for lost."""


def follow(
    store: Store, last_id: int, *, project: str, task: str = "", kind: str = ""
) -> Iterator[EventRecord]:
    """Yield every event after `last_id` that fits, oldest first, without end.

    Raises:
        StoreError: the store cannot be read any more.
    """
    ask_daemon_at = 0.0
    while True:
        if time.monotonic() >= ask_daemon_at:
            for event in streamed(store, last_id, project=project, task=task, kind=kind):
                last_id = event.id
                yield event
            ask_daemon_at = time.monotonic() + DAEMON_RETRY_S
        for event in store.events.after(last_id, project=project, task=task, kind=kind):
            last_id = event.id
            yield event
        time.sleep(POLL_S)


def streamed(
    store: Store, last_id: int, *, project: str, task: str, kind: str
) -> Iterator[EventRecord]:
    """Yield the daemon's events until its stream ends; nothing when it watches another store."""
    try:
        if not _watches(store):
            return
        given = {"project": project, "task": task, "kind": kind}
        query = "&".join(f"{name}={segment(value)}" for name, value in given.items() if value)
        yield from _events(f"/v1/events?{query}", last_id)
    except (Unreachable, OSError, wire.WireError, ValidationError):
        return  # The store knows the rest.


def _watches(store: Store) -> bool:
    reply = request(paths.socket(), "GET", "/v1/status", timeout_s=1.0)
    if reply.status != 200:
        return False
    return DaemonStatus.model_validate_json(reply.body).store_id == store.store_id


def _events(target: str, last_id: int) -> Iterator[EventRecord]:
    """Yield the events of a server-sent stream.

    Source: https://html.spec.whatwg.org/multipage/server-sent-events.html
    """
    connection = connect(paths.socket(), timeout_s=SILENCE_S)
    try:
        head = wire.request("GET", target, close=True).removesuffix(b"\r\n")
        connection.sendall(
            head + f"Accept: text/event-stream\r\nLast-Event-ID: {last_id}\r\n\r\n".encode()
        )
        answer, pending = wire.Answer(), b""
        while True:
            is_over = answer.feed(connection.recv(65536))
            if answer.status not in (0, 200):
                return
            pending, answer.body = pending + answer.body, b""
            *blocks, pending = pending.replace(b"\r\n", b"\n").split(b"\n\n")
            for block in blocks:
                if (event := _event(block)) is not None:
                    yield event
            if is_over:
                return
    finally:
        connection.close()


def _event(block: bytes) -> EventRecord | None:
    """Return the event of one block; comments and markers have none."""
    fields = [line.partition(b":") for line in block.split(b"\n")]
    data = b"\n".join(value.removeprefix(b" ") for name, _, value in fields if name == b"data")
    if not data or "id" not in json.loads(data):
        return None
    return EventRecord.model_validate_json(data)
