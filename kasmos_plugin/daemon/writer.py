"""The thread that writes to the store, so that a busy store never keeps the daemon waiting.

Knows no agent's meaning: jobs run in the order given, on a connection of the thread's own. A save
that fails (a full disk, another writer) is kept and tried again; the daemon knows it meanwhile.
"""

import logging
import queue
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import TypeVar

from kasmos_plugin.contract.agent import AgentRecord
from kasmos_plugin.contract.event import EventDraft
from kasmos_plugin.errors import StoreError, StoreReadOnly
from kasmos_plugin.store import Store, open_store

_T = TypeVar("_T")
_Job = Callable[[Store | None], None]

logger = logging.getLogger("kasmos.daemon")


class Writer:
    """One writing connection and its thread."""

    def __init__(
        self, database: Path, *, on_written: Callable[[], None], retry_s: float = 1.0
    ) -> None:
        """Start the thread; `on_written` is called in it after each commit."""
        self._database = database
        self._on_written = on_written
        self._retry_s = retry_s
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._kept: deque[tuple[AgentRecord, tuple[EventDraft, ...], Future[None]]] = deque()
        self._has_complained = False
        self._thread = threading.Thread(target=self._run, name="kasmos-writer", daemon=True)
        self._thread.start()

    def save(self, record: AgentRecord, *events: EventDraft) -> Future[None]:
        """Write a record and its events; the future is done once they are safe."""
        future: Future[None] = Future()

        def keep(store: Store | None) -> None:
            self._kept.append((record, events, future))
            self._write_kept(store)

        self._jobs.put(keep)
        return future

    def submit(self, job: Callable[[Store], _T]) -> Future[_T]:
        """Run a job with the store; the future carries its result or its error."""
        future: Future[_T] = Future()

        def run(store: Store | None) -> None:
            try:
                if store is None:
                    store = open_store(self._database)
                future.set_result(job(store))
            except Exception as error:  # noqa: BLE001 - the caller's: the thread has other work.
                future.set_exception(error)
            else:
                self._on_written()

        self._jobs.put(run)
        return future

    def close(self, *, timeout_s: float = 5.0) -> None:
        """Write what is kept, once more, and end the thread."""
        self._jobs.put(None)
        self._thread.join(timeout_s)

    def _run(self) -> None:
        store = self._open()
        while True:
            try:
                job = self._jobs.get(timeout=self._retry_s if self._kept else None)
            except queue.Empty:
                job = self._write_kept
            if store is None:
                store = self._open()
            if job is None:
                self._write_kept(store)
                break
            job(store)
        if store is not None:
            store.close()

    def _open(self) -> Store | None:
        try:
            return open_store(self._database, create=False)
        except StoreError as error:
            self._complain(error)
            return None

    def _write_kept(self, store: Store | None) -> None:
        while self._kept and store is not None:
            record, events, future = self._kept[0]
            try:
                store.agents.save(record, *events)
            except StoreReadOnly as error:
                # It stays in memory: a store that nobody may write will not change by itself.
                self._complain(error)
            except StoreError as error:
                self._complain(error)
                return
            except Exception:
                # No waiting makes it storable, and what comes after it must not wait behind it.
                logger.exception("the state of agent %r cannot be stored", record.id)
            else:
                self._has_complained = False
                self._on_written()
            self._kept.popleft()
            future.set_result(None)

    def _complain(self, error: StoreError) -> None:
        if not self._has_complained:
            self._has_complained = True
            logger.error("changes are kept in memory: %s", error.message)
