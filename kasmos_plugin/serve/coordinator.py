"""Has operations carried out off the event loop: one thread for the store, one for the daemon.

A connection to the store belongs to one thread, and a daemon that hangs must keep nobody who wants
the store alone. Knows no tool and no route.
"""

import asyncio
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

from kasmos_plugin.coordination.desk import Desk, Result
from kasmos_plugin.coordination.operations import Operation
from kasmos_plugin.errors import StoreError
from kasmos_plugin.serve.store_door import StoreDoor

CLOSES_WITHIN_S = 1.0
"""How long the end waits for what is being done; the threads do not outlive the process."""


class Coordinator:
    """Carries operations out, those of one kind one after the other."""

    def __init__(self, database: Path, socket: Path) -> None:
        self._of_store = _Lane(database, socket, "store")
        self._of_daemon = _Lane(database, socket, "daemon")

    async def run(self, operation: Operation, arguments: Mapping[str, object]) -> Result:
        """Carry one operation out; it goes on when the caller leaves.

        Raises:
            KasmosError: why it was refused.
        """
        lane = self._of_daemon if operation.asks_daemon else self._of_store
        return await asyncio.wrap_future(lane.submit(operation, arguments))

    def close(self) -> None:
        """End both threads, and close their connections."""
        for lane in (self._of_store, self._of_daemon):
            lane.close()


@dataclass(frozen=True)
class _Job:
    operation: Operation
    arguments: Mapping[str, object]
    future: "Future[Result]"


class _Lane:
    """One thread with its own connection, started with its first job."""

    def __init__(self, database: Path, socket: Path, name: str) -> None:
        self._door = StoreDoor(database)
        self._socket = socket
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        # A daemon thread: an end within seconds must not wait for a worktree that is being made.
        self._thread = threading.Thread(target=self._work, name=f"kas-{name}", daemon=True)

    def submit(self, operation: Operation, arguments: Mapping[str, object]) -> "Future[Result]":
        job = _Job(operation, arguments, Future())
        self._jobs.put(job)
        if self._thread.ident is None:
            self._thread.start()
        return job.future

    def close(self) -> None:
        if self._thread.ident is not None:
            self._jobs.put(None)
            self._thread.join(CLOSES_WITHIN_S)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            if not job.future.set_running_or_notify_cancel():
                continue
            try:
                result = self._carry_out(job)
            except BaseException as error:  # noqa: BLE001 - whoever waits gets it.
                job.future.set_exception(error)
            else:
                job.future.set_result(result)
        self._door.close()

    def _carry_out(self, job: _Job) -> Result:
        try:
            desk = Desk(store=self._door.store(), socket=self._socket)
            return job.operation(desk, job.arguments)
        except StoreError as error:
            self._door.distrust()
            raise self._door.public(error) from error
