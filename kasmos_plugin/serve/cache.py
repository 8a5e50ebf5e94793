"""Snapshots kept for a second: one gathering for all who ask at once. Knows no transport.

Facts are kept per (project, focus); what is made of them per question, in every form that a surface
sends. A failure is shared by those who waited for it, and forgotten.
"""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from datetime import datetime
from functools import cached_property
from typing import Any

from kasmos_plugin.contract.facts import Facts
from kasmos_plugin.contract.live_status import LiveStatus
from kasmos_plugin.snapshot import Question, assemble
from kasmos_plugin.summary import describe

TTL_S = 1.0
CAPACITY = 64
"""How many (project, focus) are kept at most."""
QUESTIONS = 8
"""How many different questions about one (project, focus) are kept at most."""

_Key = tuple[str, str]


class Answer:
    """One snapshot in the forms that surfaces send, each made when it is first wanted."""

    def __init__(self, status: LiveStatus) -> None:
        self.status = status
        self.wire: dict[str, dict[str, Any]] = {}
        """The MCP result by protocol version, as the SDK made it of this answer."""

    @cached_property
    def text(self) -> str:
        """The snapshot in words."""
        return describe(self.status)

    @cached_property
    def structured(self) -> dict[str, Any]:
        """The snapshot as plain JSON values; shared, so never changed."""
        return self.status.model_dump(mode="json")

    @cached_property
    def body(self) -> bytes:
        """The snapshot as the JSON of a tool result."""
        result = {
            "content": [{"type": "text", "text": self.text}],
            "structuredContent": self.structured,
            "isError": False,
        }
        return encode(result)


def encode(value: object) -> bytes:
    """Return compact JSON; what JSON cannot say is an error, never `NaN`."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


class _Entry:
    def __init__(self, facts: Facts, *, now: datetime, at: float) -> None:
        self.at = at
        self._facts = facts
        self._now = now
        self._answers: dict[Question, Answer] = {}

    def kept(self, asked: Question) -> Answer | None:
        return self._answers.get(asked)

    def answer(self, asked: Question) -> Answer:
        found = self._answers.get(asked)
        if found is None:
            found = Answer(assemble(self._facts, asked, now=self._now))
            while len(self._answers) >= QUESTIONS:
                del self._answers[next(iter(self._answers))]
            self._answers[asked] = found
        return found


class SnapshotCache:
    """Answers questions about (project, focus) from facts that are at most `ttl_s` old."""

    def __init__(
        self,
        gather: Callable[[str, str], Awaitable[Facts]],
        *,
        now: Callable[[], datetime],
        monotonic: Callable[[], float] = time.monotonic,
        ttl_s: float = TTL_S,
        capacity: int = CAPACITY,
    ) -> None:
        self._gather = gather
        self._now = now
        self._monotonic = monotonic
        self._ttl_s = ttl_s
        self._capacity = capacity
        self._entries: dict[_Key, _Entry] = {}
        self._flights: dict[_Key, asyncio.Task[_Entry]] = {}

    def forget(self) -> None:
        """Drop every answer, and those under way: something was written just now."""
        self._entries.clear()
        self._flights.clear()

    def kept(self, project: str, focus: str, asked: Question) -> Answer | None:
        """Return the answer that is ready and fresh, or None; gathers nothing."""
        entry = self._fresh((project, focus))
        return None if entry is None else entry.kept(asked)

    async def answer(self, project: str, focus: str, asked: Question) -> Answer:
        """Return a fresh answer, gathered once for all who ask for it meanwhile.

        Raises:
            KasmosError: what the gathering raised.
        """
        key = (project, focus)
        entry = self._fresh(key)
        if entry is None:
            flight = self._flights.get(key)
            if flight is None:
                flight = self._flights[key] = asyncio.create_task(self._fly(key))
                flight.add_done_callback(_retrieve)
            # One caller who leaves must not take the others' answer away.
            entry = await asyncio.shield(flight)
        return entry.answer(asked)

    def _fresh(self, key: _Key) -> _Entry | None:
        entry = self._entries.get(key)
        if entry is None or self._monotonic() - entry.at >= self._ttl_s:
            return None
        return entry

    async def _fly(self, key: _Key) -> _Entry:
        flight = asyncio.current_task()
        is_current = True
        try:
            facts = await self._gather(*key)
            entry = _Entry(facts, now=self._now(), at=self._monotonic())
        finally:
            # A flight that was forgotten saw the time before a write: those who wait get it, and
            # nobody after them.
            is_current = self._flights.get(key) is flight
            if is_current:
                del self._flights[key]
        if is_current:
            self._entries.pop(key, None)
            self._drop_expired()
            self._entries[key] = entry
        return entry

    def _drop_expired(self) -> None:
        for key in [key for key in self._entries if self._fresh(key) is None]:
            del self._entries[key]
        while len(self._entries) >= self._capacity:
            del self._entries[next(iter(self._entries))]


def _retrieve(flight: "asyncio.Task[_Entry]") -> None:
    """Look at a failure even when everybody who waited for it has left."""
    if not flight.cancelled():
        flight.exception()
