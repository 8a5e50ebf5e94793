"""Where a snapshot's facts come from: the store and the daemon, asked together. Keeps nothing."""

from collections.abc import Awaitable, Callable

from kasmos_plugin.contract.facts import DaemonView, Facts
from kasmos_plugin.errors import StoreError
from kasmos_plugin.facts import daemon_absent, daemon_answered, gather, resolve_project
from kasmos_plugin.serve.daemon_link import Heard
from kasmos_plugin.serve.store_door import StoreDoor
from kasmos_plugin.store import Store


class Sources:
    """Gathers the facts of one project, with agents as far as the daemon tells them."""

    def __init__(self, door: StoreDoor, ask_daemon: Callable[[str], Awaitable[Heard]]) -> None:
        self._door = door
        self._ask_daemon = ask_daemon

    async def gather(self, project: str, focus: str) -> Facts:
        """Return everything that is known of `project` now; "" means the only one.

        Raises:
            StoreError: the store cannot be read.
            UnknownProject, ProjectRequired: as `resolve_project`.
        """
        try:
            return await self._gather(project, focus)
        except StoreError as error:
            self._door.distrust()
            raise self._door.public(error) from error

    async def _gather(self, project: str, focus: str) -> Facts:
        known = self._door.store().projects.names()
        wanted = project or (known[0] if len(known) == 1 else "")
        # A name that nobody knows asks for the heartbeat alone, which names all projects.
        asked = wanted if wanted in known else ""
        while True:
            heard = await self._ask_daemon(asked)
            # The daemon took a while: the file may be another one by now.
            store = self._door.store()
            view = _view(heard, store)
            meant = resolve_project(store, project, view)
            if meant == asked or not view.is_running:
                return gather(store, view, project=meant, focus=focus)
            # The answer is about another project: its agents say nothing about this one.
            asked = meant


def _view(heard: Heard, store: Store) -> DaemonView:
    if heard.reply is not None:
        notices = () if heard.notice is None else (heard.notice,)
        return daemon_answered(heard.reply, store=store, notices=notices)
    if heard.notice is not None:
        return daemon_absent(heard.notice.code, heard.notice.message)
    return daemon_absent()
