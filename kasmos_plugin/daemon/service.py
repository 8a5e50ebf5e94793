"""The daemon as a process: takes its place, serves, and leaves nothing behind that is not its own.

    lock (socket) ─> lock (store) ─> store ─> socket ─> loop ─> streams end ─> drain ─> socket gone

Everything that can fail does so before the loop starts: no transport, no daemon.
"""

import asyncio
import contextlib
import logging
import os
import secrets
import signal
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from typing import Any, TypeVar

import uvicorn
import uvloop
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from kasmos_plugin import __version__
from kasmos_plugin.contract.agent import AgentRecord
from kasmos_plugin.contract.control import Ping
from kasmos_plugin.contract.task import ACTIVE_STATUSES
from kasmos_plugin.daemon import backup, last_words, processes, worktrees
from kasmos_plugin.daemon.control_api import ControlApi
from kasmos_plugin.daemon.feed import Feed
from kasmos_plugin.daemon.lock import Holder, Lock
from kasmos_plugin.daemon.place import Place, peer_uid, private_directory
from kasmos_plugin.daemon.registry import Registry, Surroundings
from kasmos_plugin.daemon.settings import Settings
from kasmos_plugin.daemon.writer import Writer
from kasmos_plugin.errors import KasmosError, NotFound, StoreError, UnknownTask
from kasmos_plugin.store import Store, open_store, utc_now

_T = TypeVar("_T")

logger = logging.getLogger("kasmos.daemon")


def run(settings: Settings, *, on_ready: Callable[[], None] = lambda: None) -> None:
    """Serve until SIGTERM or SIGINT; `on_ready` is called once connections are accepted.

    Raises:
        AlreadyRunning: another daemon has this socket or this store.
        StoreError: the store cannot be used.
        KasmosError: the socket cannot be made.
    """
    own = processes.identify(os.getpid())
    if own is None:
        raise KasmosError("The process table cannot be read, so that no agent could be judged.")
    holder = Holder(
        process=own,
        socket=str(settings.socket_path),
        database=str(settings.database),
        version=__version__,
    )
    with contextlib.ExitStack() as stack:
        private_directory(settings.socket_path.parent)
        stack.enter_context(Lock(settings.lock_path, "this socket", holder))
        store = open_store(settings.database)
        stack.callback(store.close)
        stack.enter_context(Lock(settings.store_lock_path, "this store", holder))
        place = Place(settings.socket_path)
        stack.callback(place.leave)
        uvloop.run(_Daemon(settings, store, place).serve(on_ready))


class _Daemon:
    """One run of the daemon; lives in one event loop."""

    def __init__(self, settings: Settings, store: Store, place: Place) -> None:
        self._settings = settings
        self._timings = settings.timings
        self._store = store
        self._place = place
        self._trouble = ""

    async def serve(self, on_ready: Callable[[], None]) -> None:
        """Serve until a signal says stop."""
        loop = asyncio.get_running_loop()
        feed = Feed(self._store, poll_s=self._timings.poll_s)

        def on_written() -> None:
            with contextlib.suppress(RuntimeError):  # The loop has ended before the last write.
                loop.call_soon_threadsafe(feed.poke)

        writer = Writer(self._settings.database, on_written=on_written)
        registry = Registry(self._surroundings(writer), grace_s=self._timings.grace_s)
        registry.restore(*self._store.agents.listed())
        last_words.sweep(self._settings.ends_dir)
        api = ControlApi(
            ping=Ping(version=__version__, instance=secrets.token_hex(8), pid=os.getpid()),
            socket_path=self._settings.socket_path,
            store=self._store,
            writer=writer,
            registry=registry,
            feed=feed,
            timings=self._timings,
        )
        server = _Server(_config(api, self._timings.drain_s), on_ready)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            loop.add_signal_handler(number, api.closing.set)
        chores = [
            asyncio.create_task(chore)
            for chore in (
                feed.run(lambda: self._carefully(registry.tidy)),
                self._tick(registry),
                self._look_for_worktrees(registry),
                self._back_up(),
                self._stop(api, server),
            )
        ]
        try:
            await server.serve(sockets=[self._place.listener])
        finally:
            for chore in chores:
                chore.cancel()
            await asyncio.gather(*chores, return_exceptions=True)
            writer.close()

    def _carefully(self, job: Callable[[], None]) -> None:
        """Run a chore; a store that cannot be read now is told of once, and read the next time."""
        try:
            job()
        except StoreError as error:
            if error.message != self._trouble:
                logger.error("%s", error.message)
            self._trouble = error.message
        else:
            self._trouble = ""

    def _surroundings(self, writer: Writer) -> Surroundings:
        return Surroundings(
            save=writer.save,
            now=utc_now,
            monotonic=time.monotonic,
            look=processes.look,
            identify=processes.identify,
            boot_id=processes.boot_id(),
            stored=self._stored,
            is_task_closed=self._is_task_closed,
            last_words=lambda agent_id: last_words.take(self._settings.ends_dir, agent_id),
        )

    def _stored(self, agent_id: str) -> AgentRecord | None:
        try:
            return self._store.agents.get(agent_id)
        except NotFound:
            return None

    def _is_task_closed(self, project: str, task: str) -> bool:
        try:
            return self._store.tasks.get(project, task).status not in ACTIVE_STATUSES
        except UnknownTask:
            return False

    async def _tick(self, registry: Registry) -> None:
        tidied_s = time.monotonic()
        while True:
            await asyncio.sleep(self._timings.tick_s)
            self._carefully(registry.tick)
            if time.monotonic() - tidied_s > 60:
                tidied_s = time.monotonic()
                self._carefully(registry.tidy)

    async def _look_for_worktrees(self, registry: Registry) -> None:
        while True:
            if wanted := registry.worktrees():
                registry.note_worktrees(await _aside(partial(worktrees.present, wanted)))
            await asyncio.sleep(self._timings.worktrees_s)

    async def _back_up(self) -> None:
        while True:
            every_s = self._timings.backup_s
            await _aside(partial(backup.back_up, self._settings.database, every_s=every_s))
            await asyncio.sleep(min(self._timings.backup_s, 3600))

    async def _stop(self, api: ControlApi, server: "_Server") -> None:
        """End the server once a signal came, or once nobody can reach it any more."""
        while not api.closing.is_set():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._timings.worktrees_s):
                    await api.closing.wait()
            if not self._place.is_mine():
                logger.error("the socket '%s' is gone: nobody can reach us", self._place.path)
                api.closing.set()
        # Streams end by themselves at the next turn of the loop, before connections are drained.
        await asyncio.sleep(0)
        server.should_exit = True


class _Server(uvicorn.Server):
    """uvicorn without its signal handlers, which would cut streams instead of ending them."""

    def __init__(self, config: uvicorn.Config, on_ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_ready = on_ready

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave the signals to the service."""
        yield

    async def startup(self, sockets: Any = None) -> None:
        """Start, and say so."""
        await super().startup(sockets=sockets)
        self._on_ready()


class _Protocol(HttpToolsProtocol):
    """HTTP from our own user only, with a way to cut a connection that takes nothing."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's
        """Refuse another user, whatever the modes of files say."""
        uid = peer_uid(transport.get_extra_info("socket"))
        if uid not in (None, os.getuid()):
            logger.error("a connection of user %s was refused", uid)
            transport.abort()
            return
        super().connection_made(transport)

    def on_message_begin(self) -> None:
        """Hand the application the means to cut this connection."""
        super().on_message_begin()
        self.scope["state"]["abort"] = self.transport.abort


def _config(api: Callable[..., Awaitable[None]], drain_s: float) -> uvicorn.Config:
    return uvicorn.Config(
        api,
        http=_Protocol,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        date_header=False,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=max(int(drain_s), 1),
    )


async def _aside(job: Callable[[], _T]) -> _T:
    """Run a job in a thread that the end of the daemon does not wait for: disks may hang."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[_T] = loop.create_future()

    def settle(result: _T) -> None:
        if not future.done():
            future.set_result(result)

    def run() -> None:
        result = job()
        with contextlib.suppress(RuntimeError):  # The loop has ended meanwhile.
            loop.call_soon_threadsafe(settle, result)

    threading.Thread(target=run, name="kasmos-aside", daemon=True).start()
    return await future
