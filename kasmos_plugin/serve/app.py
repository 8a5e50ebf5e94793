"""`kas serve` as a process: two listeners, one loop, one way to end. The wiring of the room.

Both ports are bound before the MCP SDK is imported, which takes most of the start: a taken port
fails at once, and a client that comes early waits in the backlog.
"""

import asyncio
import gc
import logging
import secrets
import signal
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kasmos_plugin.errors import KasmosError
from kasmos_plugin.ports import HOST
from kasmos_plugin.serve import bridge
from kasmos_plugin.serve.cache import SnapshotCache
from kasmos_plugin.serve.coordinator import Coordinator
from kasmos_plugin.serve.daemon_link import DaemonLink, Heard
from kasmos_plugin.serve.guard import MAX_BODY_BYTES, Guard
from kasmos_plugin.serve.health import health_handler
from kasmos_plugin.serve.http import ASGIApp, router
from kasmos_plugin.serve.listeners import BACKLOG, Listeners, listening
from kasmos_plugin.serve.rest import rest_app
from kasmos_plugin.serve.secret import api_token, preview_secret
from kasmos_plugin.serve.sources import Sources
from kasmos_plugin.serve.store_door import StoreDoor
from kasmos_plugin.store import utc_now

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

logger = logging.getLogger("kasmos.serve")

KEEP_ALIVE_S = 65
"""Above every interval at which widgets poll (30 s at most), or each poll would connect anew."""
GRACE_S = 4
"""How long requests may go on after the first signal; with the rest, the end comes within 5 s."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What a person can choose."""

    database: Path
    socket: Path
    monitor_port: int
    mcp_port: int


@dataclass(frozen=True, kw_only=True)
class Ready:
    """Where the server answers, told once both listeners accept."""

    monitor: str
    mcp: str
    bridge: str
    store: str
    store_id: str
    instance: str


@dataclass(frozen=True, kw_only=True)
class Apps:
    """Both ASGI apps, and what must run around them."""

    monitor: ASGIApp
    mcp: ASGIApp
    manager: "StreamableHTTPSessionManager"


def run(settings: Settings, *, ready: Callable[[Ready], None]) -> None:
    """Serve until SIGTERM or SIGINT; call `ready` when both listeners answer.

    A store that cannot be used does not end the server: every answer says why, until it can.

    Raises:
        PortTaken: and other reasons why a port cannot be bound.
    """
    import uvloop  # Only a server needs it.

    _log_to_stderr()
    with (
        listening(settings.monitor_port, settings.mcp_port) as listeners,
        asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
    ):
        runner.run(_serve(settings, listeners, ready))


def build_apps(
    door: StoreDoor,
    ask_daemon: Callable[[str], Awaitable[Heard]],
    coordinator: Coordinator,
    *,
    monitor_port: int,
    mcp_port: int,
    instance: str,
    secret: Callable[[], str] = preview_secret,
    token: Callable[[], str] = api_token,
    monotonic: Callable[[], float] = time.monotonic,
) -> Apps:
    """Return the apps of both listeners over one store and one daemon.

    `coordinator` has the operations of a coordinating agent carried out.
    """
    with _uncollected():
        from kasmos_plugin.serve import mcp_server  # The SDK takes most of the start.
    from kasmos_plugin.widget.document import widget_hash, widget_html

    sources = Sources(door, ask_daemon)
    cache = SnapshotCache(sources.gather, now=utc_now, monotonic=monotonic)
    health = health_handler(door, instance=instance)
    server = mcp_server.build_server(
        cache,
        coordinator,
        html=widget_html(),
        html_hash=widget_hash(),
        monitor_url=f"http://{HOST}:{monitor_port}",
    )
    manager = mcp_server.session_manager(server, max_body_bytes=MAX_BODY_BYTES)
    page = bridge.page_handler(_render)
    return Apps(
        monitor=Guard(
            router(
                bridge.routes(cache, page=page, health=health),
                rest_app(coordinator, cache, token=token),
            ),
            port=monitor_port,
            null_origin_paths=frozenset({bridge.PREVIEW_PATH}),
            secret=secret,
        ),
        mcp=Guard(mcp_server.mcp_app(manager, health=health), port=mcp_port),
        manager=manager,
    )


@contextmanager
def _uncollected() -> Iterator[None]:
    """Hold off the garbage collector: importing makes much and drops nothing worth a search."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.freeze()


def _render(asked: Mapping[str, str]) -> str:
    from kasmos_plugin.widget.preview import preview_html  # Beside the page itself.

    wanted = {name: asked[name] for name in ("project", "task", "mode", "theme") if name in asked}
    return preview_html(**wanted)  # type: ignore[arg-type]  # checked by `bridge.page_query`


async def _serve(settings: Settings, listeners: Listeners, ready: Callable[[Ready], None]) -> None:
    door = StoreDoor(settings.database)
    link = DaemonLink(settings.socket)
    coordinator = Coordinator(settings.database, settings.socket)
    instance = secrets.token_hex(8)
    try:
        apps = build_apps(
            door,
            link.ask,
            coordinator,
            monitor_port=listeners.monitor_port,
            mcp_port=listeners.mcp_port,
            instance=instance,
        )
        store_id = _open(door)
        _make_token()
        async with apps.manager.run():
            with _stop_on_signals() as stop:
                await _run_both(
                    apps,
                    listeners,
                    stop,
                    lambda: ready(_ready(settings, listeners, store_id, instance)),
                )
    finally:
        await link.close()
        coordinator.close()
        door.close()


def _open(door: StoreDoor) -> str:
    try:
        return door.open().store_id
    except KasmosError as error:
        logger.warning("%s Until it can be used, every answer says so.", error.message)
        return ""


def _make_token() -> None:
    """Make the token before the first script looks for it."""
    try:
        api_token()
    except KasmosError as error:
        logger.warning("%s Nothing can be changed over REST.", error.message)


def _ready(settings: Settings, listeners: Listeners, store_id: str, instance: str) -> Ready:
    monitor = f"http://{HOST}:{listeners.monitor_port}"
    return Ready(
        monitor=f"{monitor}/",
        mcp=f"http://{HOST}:{listeners.mcp_port}/mcp",
        bridge=f"{monitor}{bridge.SNAPSHOT_PATH}",
        store=str(settings.database),
        store_id=store_id,
        instance=instance,
    )


async def _run_both(
    apps: Apps, listeners: Listeners, stop: asyncio.Event, ready: Callable[[], None]
) -> None:
    """Run both servers until `stop`; their requests finish while the session manager lives."""
    import uvicorn  # Only a server needs it.

    class Server(uvicorn.Server):
        @contextmanager
        def capture_signals(self) -> Iterator[None]:
            # uvicorn raises a captured signal again and skips the clean-up; ours are handled once.
            yield

    servers = [
        Server(
            uvicorn.Config(
                app,
                loop="none",
                http="httptools",
                ws="none",
                lifespan="off",
                interface="asgi3",
                access_log=False,
                log_config=None,
                proxy_headers=False,
                server_header=False,
                date_header=False,
                backlog=BACKLOG,
                timeout_keep_alive=KEEP_ALIVE_S,
                timeout_graceful_shutdown=GRACE_S,
            )
        )
        for app in (apps.monitor, apps.mcp)
    ]
    sockets = ([listeners.monitor], [listeners.mcp])
    async with asyncio.TaskGroup() as group:
        running = [
            group.create_task(server.serve(sockets=bound))
            for server, bound in zip(servers, sockets, strict=True)
        ]
        while not all(server.started for server in servers):
            await asyncio.sleep(0)
        ready()
        stopping = group.create_task(stop.wait())
        await asyncio.wait([stopping, *running], return_when=asyncio.FIRST_COMPLETED)
        for server in servers:
            server.should_exit = True
        stop.set()


@contextmanager
def _stop_on_signals() -> Iterator[asyncio.Event]:
    """Yield an event that the first SIGTERM or SIGINT sets; later ones change nothing."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    try:
        yield stop
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)


def _log_to_stderr() -> None:
    """Send warnings and worse to standard error; neither headers nor bodies are ever logged."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(logging.WARNING)
