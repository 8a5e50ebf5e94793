"""Who waits for news of the store. Sees writes of every process; knows none of their meaning."""

import asyncio
import logging
from collections.abc import Callable

from kasmos_plugin.errors import StoreError
from kasmos_plugin.store import Store

logger = logging.getLogger("kasmos.daemon")


class Feed:
    """Asks SQLite a few times a second whether anything was written; 11 µs each."""

    def __init__(self, store: Store, *, poll_s: float) -> None:
        self._store = store
        self._poll_s = poll_s
        self._version = store.data_version()
        self._poke = asyncio.Event()
        self.turn = asyncio.Event()
        """Set when something was written; take it before you read, wait for it after."""

    def poke(self) -> None:
        """Look at once: this process has written."""
        self._poke.set()

    async def run(self, on_change: Callable[[], None]) -> None:
        """Look until cancelled; `on_change` is called before those who wait are woken."""
        while True:
            try:
                async with asyncio.timeout(self._poll_s):
                    await self._poke.wait()
            except TimeoutError:
                pass
            self._poke.clear()
            if self._has_changed():
                on_change()
                turn, self.turn = self.turn, asyncio.Event()
                turn.set()

    def _has_changed(self) -> bool:
        try:
            version = self._store.data_version()
        except StoreError:
            return False
        if version == self._version:
            return False
        self._version = version
        return True
