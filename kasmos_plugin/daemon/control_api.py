"""The control API: what each request on the daemon's socket means. Knows no socket and no signal.

One place turns every expected failure into an `ErrorReply`. Reads are done inline: they cost less
than a change of thread, and in WAL no writer keeps them waiting. Writes go through `Writer`.
"""

import asyncio
import logging
import os
import shlex
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from kasmos_plugin.contract.agent import AgentView
from kasmos_plugin.contract.control import (
    AgentsReply,
    DaemonStatus,
    NewRepository,
    Ping,
    Repositories,
    Repository,
    StageReport,
)
from kasmos_plugin.contract.facts import DaemonView
from kasmos_plugin.contract.live_status import LiveStatus
from kasmos_plugin.daemon import streams
from kasmos_plugin.daemon.feed import Feed
from kasmos_plugin.daemon.http import Gone, Receive, Request, Scope, Send
from kasmos_plugin.daemon.registry import Registry, Word
from kasmos_plugin.daemon.settings import Timings
from kasmos_plugin.daemon.writer import Writer
from kasmos_plugin.errors import BadArgument, Conflict, KasmosError, NotFound, StoreError
from kasmos_plugin.facts import gather, resolve_project
from kasmos_plugin.rules.text import clean
from kasmos_plugin.snapshot import assemble, question
from kasmos_plugin.store import Store, utc_now

_T = TypeVar("_T")
_Body = TypeVar("_Body", bound=BaseModel)

CONFIRMED_WITHIN_S = 2.0
"""How long an answer waits for a shim to say that it paused or resumed, or for a write."""

logger = logging.getLogger("kasmos.daemon")


class OtherStore(Conflict):
    """The caller asks of another store than the daemon's."""

    code = "daemon_other_store"


class MethodNotAllowed(KasmosError):
    """The path exists, the method does not."""

    code = "method_not_allowed"
    http_status = 405


@dataclass(kw_only=True)
class ControlApi:
    """The daemon's ASGI application."""

    ping: Ping
    socket_path: Path
    store: Store
    writer: Writer
    registry: Registry
    feed: Feed
    timings: Timings
    closing: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the daemon stops: streams end."""
    _started_s: float = field(default_factory=time.monotonic)
    _file: os.stat_result = field(init=False)
    """The store's file as it was when this daemon began."""
    _seen_version: int = -1
    _names: tuple[str, ...] = ()
    _repo_count: int = 0

    def __post_init__(self) -> None:
        """Note which file the store is."""
        self._file = self.store.path.stat()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        request = Request(scope, receive, send)
        try:
            await self._route(request)
        except Gone:
            return
        except KasmosError as error:
            if request.has_started:
                logger.error("a stream ended: %s", error.message)
                request.abort()
            else:
                await request.refuse(error)

    async def _route(self, request: Request) -> None:
        match request.parts:
            case ("v1", "ping"):
                await self._reply(request, {"GET": lambda: self.ping})
            case ("v1", "status"):
                await self._reply(request, {"GET": self._status})
            case ("v1", "repos"):
                await self._repos(request)
            case ("v1", "repos", project):
                _only(request, "DELETE")
                await self._written(lambda store: store.projects.remove(project))
                await request.answer(None)
            case ("v1", "repos", project, "live-status"):
                await self._reply(request, {"GET": lambda: self._live_status(request, project)})
            case ("v1", "repos", project, "agents"):
                await self._reply(request, {"GET": lambda: self._agents(project)})
            case ("v1", "agents", "link"):
                _only(request, "POST")
                await streams.serve_link(
                    request,
                    self.registry,
                    closing=self.closing,
                    hello_within_s=self.timings.hello_within_s,
                )
            case ("v1", "agents", agent_id):
                self._require_project(request, agent_id)
                await self._reply(request, {"GET": lambda: self.registry.view(agent_id)})
            case ("v1", "agents", agent_id, verb):
                self._require_project(request, agent_id)
                await self._order(request, agent_id, verb)
            case ("v1", "events"):
                _only(request, "GET")
                await streams.serve_events(
                    request,
                    self.store,
                    self.feed,
                    closing=self.closing,
                    takes_within_s=self.timings.takes_within_s,
                    quiet_s=self.timings.quiet_s,
                )
            case _:
                raise NotFound(f"There is no '/{clean('/'.join(request.parts))}' here.")

    async def _reply(self, request: Request, methods: dict[str, Callable[[], BaseModel]]) -> None:
        _only(request, *methods)
        await request.answer(methods[request.method]())

    def _status(self) -> DaemonStatus:
        self._refresh()
        return DaemonStatus(
            **self.ping.model_dump(),
            uptime_s=self._uptime_s(),
            repo_count=self._repo_count,
            agent_count=len(self.registry),
            store_id=self.store.store_id,
            database=str(self.store.path),
            socket=str(self.socket_path),
        )

    async def _repos(self, request: Request) -> None:
        _only(request, "GET", "POST")
        if request.method == "GET":
            await request.answer(Repositories(repos=self.store.projects.list()))
            return
        wanted = _parsed(NewRepository, await request.body())

        def add(store: Store) -> Repository:
            return store.projects.add(Path(wanted.path), wanted.project)

        await request.answer(await self._written(add), status=201)

    def _live_status(self, request: Request, project: str) -> LiveStatus:
        self._require_same_store(request.query.get("database", ""))
        asked = question(request.query.get("cap"), request.query.get("include", "").split(","))
        with self.store.reading():
            daemon = self._view()
            cwd = request.query.get("cwd", "")
            if project == "-":
                around = self.store.projects.around(Path(cwd)) if cwd else None
                project = around or ""
            project = resolve_project(self.store, project, daemon)
            facts = gather(
                self.store, daemon, project=project, focus=request.query.get("focus", "")
            )
        return assemble(facts, asked, now=utc_now())

    def _view(self) -> DaemonView:
        self._require_own_file()
        self._refresh()
        return DaemonView(
            is_running=True,
            uptime_s=self._uptime_s(),
            repo_count=self._repo_count,
            projects=self._projects(),
            agents=self.registry.views(),
        )

    def _agents(self, project: str) -> AgentsReply:
        self._require_own_file()
        self._refresh()
        return AgentsReply(
            instance=self.ping.instance,
            uptime_s=self._uptime_s(),
            repo_count=self._repo_count,
            store_id=self.store.store_id,
            projects=self._projects(),
            agents=self.registry.views(project),
        )

    async def _order(self, request: Request, agent_id: str, verb: str) -> None:
        orders: dict[str, Callable[[], Awaitable[AgentView]]] = {
            "report": lambda: self._report(request, agent_id),
            "pause": lambda: self._pause(agent_id, "pause", paused=True),
            "resume": lambda: self._pause(agent_id, "resume", paused=False),
            "stop": lambda: self._stop(agent_id),
            "dismiss": lambda: self._dismiss(agent_id),
        }
        if verb not in orders:
            raise NotFound(f"An agent has no '{clean(verb)}'.")
        _only(request, "POST")
        await request.answer(await orders[verb]())

    async def _report(self, request: Request, agent_id: str) -> AgentView:
        self.registry.report(agent_id, _parsed(StageReport, await request.body()))
        # What a hook reported must outlive a daemon that is killed the moment after.
        await self._wait_for_writes()
        return self.registry.view(agent_id)

    async def _pause(self, agent_id: str, word: Word, *, paused: bool) -> AgentView:
        """Send the word and wait until the shim says that it is done."""
        self.registry.command(agent_id, word)
        deadline = time.monotonic() + CONFIRMED_WITHIN_S
        while (view := self.registry.view(agent_id)).is_paused is not paused:
            if time.monotonic() > deadline:
                raise Conflict(
                    f"The shim of agent '{agent_id}' does not confirm within"
                    f" {CONFIRMED_WITHIN_S:g} s.",
                    hint=f"kas agent show {agent_id}",
                )
            await asyncio.sleep(0.02)
        return view

    async def _stop(self, agent_id: str) -> AgentView:
        self.registry.command(agent_id, "stop")
        return self.registry.view(agent_id)

    async def _dismiss(self, agent_id: str) -> AgentView:
        view = self.registry.view(agent_id)
        self.registry.dismiss(agent_id)
        await self._wait_for_writes()
        return view

    async def _written(self, job: Callable[[Store], _T]) -> _T:
        """Run a job in the writer and return its result.

        Raises:
            KasmosError: the job's.
            StoreError: the store is still busy.
        """
        try:
            return await self._within(self.writer.submit(job), CONFIRMED_WITHIN_S)
        except TimeoutError:
            raise StoreError("The store is busy.", hint="try again") from None
        finally:
            self.feed.poke()

    async def _wait_for_writes(self) -> None:
        """Wait until what was said so far is safe; a busy store keeps nobody for long."""
        try:
            await self._within(self.writer.submit(lambda store: None), CONFIRMED_WITHIN_S / 4)
        except (TimeoutError, StoreError):
            logger.warning("a change is not stored yet")

    @staticmethod
    async def _within(future: "Future[_T]", timeout_s: float) -> _T:
        async with asyncio.timeout(timeout_s):
            return await asyncio.shield(asyncio.wrap_future(future))

    def _require_project(self, request: Request, agent_id: str) -> None:
        """Refuse an agent of another project than the one that the caller named."""
        project = request.query.get("project", "")
        if project and self.registry.view(agent_id).project != project:
            raise NotFound(
                f"Project '{clean(project)}' has no agent '{clean(agent_id)}'.",
                hint=f"kas agent list --project {shlex.quote(clean(project))}",
            )

    def _require_same_store(self, database: str) -> None:
        if not database:
            return
        try:
            is_same = Path(database).samefile(self.store.path)
        except OSError:
            is_same = Path(database).resolve() == self.store.path.resolve()
        if not is_same:
            raise OtherStore(
                f"The daemon watches another store, '{self.store.path}'.",
                hint="kas daemon stop && kas daemon start --db PATH",
            )

    def _require_own_file(self) -> None:
        """Refuse to answer from a store that no longer lies at its path: nobody else sees it.

        Raises:
            StoreError: another file lies there, or none.
        """
        try:
            is_same = os.path.samestat(self.store.path.stat(), self._file)
        except OSError:
            is_same = False
        if not is_same:
            raise StoreError(
                f"The store '{self.store.path}' was removed or replaced while the daemon ran.",
                hint="kas daemon stop && kas daemon start",
            )

    def _refresh(self) -> None:
        """Read again what every answer carries, if any process has written since."""
        version = self.store.data_version()
        if version != self._seen_version:
            self._names = self.store.projects.names()
            self._repo_count = len(self.store.projects.list())
            self._seen_version = version

    def _projects(self) -> tuple[str, ...]:
        return tuple(sorted({*self._names, *self.registry.projects()}))

    def _uptime_s(self) -> int:
        return int(time.monotonic() - self._started_s)


def _only(request: Request, *methods: str) -> None:
    if request.method not in methods:
        raise MethodNotAllowed(f"'{clean(request.method)}' is not possible here.")


def _parsed(model: type[_Body], body: bytes) -> _Body:
    try:
        return model.model_validate_json(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "the body"
        raise BadArgument(f"{clean(where)}: {clean(first['msg'])}.") from None
