"""The HTTP side: the monitor's page, its snapshot bridge, and health. Knows no MCP.

The bridge answers what `refresh_monitor` answers, in the same envelope, and can do nothing else.
"""

import json
import logging
from collections.abc import Callable, Mapping
from typing import Any, get_args
from urllib.parse import parse_qs

from kasmos_plugin.contract.monitor import DisplayMode, Theme
from kasmos_plugin.errors import BadArgument, KasmosError
from kasmos_plugin.serve.cache import SnapshotCache, encode
from kasmos_plugin.serve.http import HTML, Handler, Reply, Request, Routes, error_reply
from kasmos_plugin.serve.tools import Unexpected, failure, monitor_asked

logger = logging.getLogger("kasmos.serve")

PREVIEW_PATH = "/v1/widget-preview/open-monitor"
SNAPSHOT_PATH = "/v1/monitor/snapshot"

_POLICY = b"frame-ancestors 'none'; base-uri 'none'; form-action 'none'; object-src 'none'"
"""What a page cannot say of itself; its own policy names its scripts by hash."""

PAGE_QUERY = ("project", "task", "mode", "theme", "host")
"""What the page's address may carry."""


def routes(cache: SnapshotCache, *, page: Handler, health: Handler) -> Routes:
    """Return every route of the HTTP listener."""
    snapshot = {"POST": snapshot_handler(cache), "OPTIONS": _options}
    return {
        "/": {"GET": page},
        "/healthz": {"GET": health},
        PREVIEW_PATH: snapshot,
        SNAPSHOT_PATH: snapshot,
    }


def snapshot_handler(cache: SnapshotCache) -> Handler:
    """Return the handler that answers `{project?, task?}` with a snapshot in its envelope."""

    async def handler(request: Request) -> Reply:
        try:
            asked = monitor_asked(_object(request.body))
            answer = await cache.answer(asked.project, asked.focus, asked.question)
        except KasmosError as error:
            return Reply(error.http_status, encode(failure(error)))
        except Exception:
            logger.exception("the snapshot failed")
            return Reply(500, encode(failure(Unexpected())))
        return Reply(200, answer.body)

    return handler


def page_handler(render: Callable[[Mapping[str, str]], str]) -> Handler:
    """Return the handler of the monitor's page; `render` makes it from the address's query."""

    async def handler(request: Request) -> Reply:
        try:
            html = render(page_query(request.query))
        except KasmosError as error:
            return error_reply(error.http_status, error.code, error.message)
        return Reply(200, html.encode(), HTML, {b"content-security-policy": _POLICY})

    return handler


def page_query(query: str) -> dict[str, str]:
    """Return what the page's address asks for; unknown names are left out.

    Raises:
        BadArgument: a mode or theme that does not exist.
    """
    given = parse_qs(query, keep_blank_values=False, max_num_fields=32)
    wanted = {name: given[name][-1] for name in PAGE_QUERY if name in given}
    for name, values in (("mode", get_args(DisplayMode)), ("theme", get_args(Theme))):
        if wanted.get(name, values[0]) not in values:
            raise BadArgument(f"{name} must be one of {', '.join(values)}.")
    return wanted


def _object(body: bytes) -> dict[str, Any]:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        raise BadArgument("The body must be a JSON object.") from None
    if not isinstance(value, dict):
        raise BadArgument("The body must be a JSON object.")
    return value


async def _options(request: Request) -> Reply:
    return Reply(204, headers={b"allow": b"POST, OPTIONS"})
