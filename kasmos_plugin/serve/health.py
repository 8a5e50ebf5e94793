"""`GET /healthz`: who answers, and whether the store can really be read. Never from a cache."""

import logging

from kasmos_plugin import __version__
from kasmos_plugin.contract.live_status import MAX_CAP
from kasmos_plugin.errors import KasmosError, StoreError
from kasmos_plugin.rules.text import clean_block
from kasmos_plugin.serve.cache import encode
from kasmos_plugin.serve.http import Handler, Reply, Request
from kasmos_plugin.serve.store_door import StoreDoor
from kasmos_plugin.serve.tools import Unexpected

logger = logging.getLogger("kasmos.serve")


def health_handler(door: StoreDoor, *, instance: str) -> Handler:
    """Return the handler; `instance` is random for each start, so that a restart can be seen."""

    async def handler(request: Request) -> Reply:
        identity = {"kasmos": "serve", "version": __version__, "instance": instance}
        try:
            store_id, projects = _read(door)
        except StoreError as error:
            door.distrust()
            return _sick(identity, door.public(error))
        except Exception:
            logger.exception("the health check failed")
            return _sick(identity, Unexpected())
        return Reply(
            200, encode({**identity, "store_id": store_id, "ok": True, "projects": projects})
        )

    return handler


def _sick(identity: dict[str, str], error: KasmosError) -> Reply:
    told = {"code": error.code, "message": clean_block(error.message)}
    return Reply(503, encode({**identity, "ok": False, "error": told}))


def _read(door: StoreDoor) -> tuple[str, int]:
    """Read what a snapshot of every project reads, from the file as it is now."""
    store = door.check()
    with store.reading():
        projects = store.projects.names()
        for project in projects:
            store.tasks.counts(project)
            store.tasks.active(project, MAX_CAP)
            store.events.latest(project, MAX_CAP)
    return store.store_id, len(projects)
