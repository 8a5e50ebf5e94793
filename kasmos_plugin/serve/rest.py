"""REST for scripts on the HTTP listener. Knows the routes' form, not what an operation means.

Whoever changes something shows the token of this user's state directory, says that the body is
JSON, and is no page: a browser sends Origin with every such request.
"""

import hmac
import json
import logging
from collections.abc import Callable
from typing import Any

from kasmos_plugin.coordination.failures import NEXT_LIMIT
from kasmos_plugin.errors import BadArgument, KasmosError, ProjectRequired, UnknownProject
from kasmos_plugin.rules.text import clean, clean_block
from kasmos_plugin.serve import rest_routes
from kasmos_plugin.serve.cache import SnapshotCache, encode
from kasmos_plugin.serve.coordinator import Coordinator
from kasmos_plugin.serve.http import (
    JSON,
    ASGIApp,
    Receive,
    Reply,
    Scope,
    Send,
    error_reply,
    read_body,
    send_reply,
)
from kasmos_plugin.serve.openapi import document

logger = logging.getLogger("kasmos.serve")


def rest_app(
    coordinator: Coordinator, cache: SnapshotCache, *, token: Callable[[], str]
) -> ASGIApp:
    """Return the app of every path that `rest_routes.PREFIXES` names; others are not found."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        # The guard has bounded it already.
        body = await read_body(receive, 1 << 30) or b""
        try:
            reply = await answer(scope, body)
        except KasmosError as error:
            reply = failure(error)
        except Exception:
            logger.exception("%s %s failed", scope["method"], scope["path"])
            reply = error_reply(500, "internal", "kasmos failed to answer; its log says why.")
        await send_reply(send, reply)

    async def answer(scope: Scope, body: bytes) -> Reply:
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        path = (scope.get("raw_path") or scope["path"].encode()).decode("latin-1").partition("?")[0]
        if path == rest_routes.OPENAPI:
            return Reply(200, encode(document())) if method == "GET" else _not_allowed(["GET"])
        routes, in_path = rest_routes.find(path)
        if not routes:
            return error_reply(404, "not_found", "There is nothing here.")
        route = next((one for one in routes if one.method == method), None)
        if route is None:
            return _not_allowed([one.method for one in routes])
        if not route.is_read_only and (refusal := _refusal(scope, token)) is not None:
            return refusal
        query = scope.get("query_string", b"").decode("latin-1")
        arguments = route.arguments(in_path, query, {} if route.is_read_only else _object(body))
        try:
            done = await coordinator.run(route.operation, arguments)
        finally:
            # A refused step was asked for: that is a change as well.
            if not route.is_read_only:
                cache.forget()
        data = done.data
        if route.keys:
            data = {key: data[key] for key in route.keys if key in data}
        return Reply(route.status, encode(data))

    return app


def failure(error: KasmosError) -> Reply:
    """Return a refusal: code, message, and the command that goes on, where there is one."""
    told: dict[str, Any] = {"code": error.code, "message": clean_block(error.message)}
    # The other hints are options of commands, which nobody who reads this can give.
    if error.hint and not isinstance(error, BadArgument | ProjectRequired | UnknownProject):
        told["next"] = clean(error.hint, NEXT_LIMIT)
    known = getattr(error, "known", None)
    if known:
        told["projects"] = [clean(name) for name in known]
    return Reply(error.http_status, encode({"error": told}))


def _refusal(scope: Scope, token: Callable[[], str]) -> Reply | None:
    """Return why a change is refused before anything is read, None when it is not."""
    given: dict[bytes, list[bytes]] = {}
    for name, value in scope["headers"]:
        given.setdefault(name, []).append(value)
    if b"origin" in given:
        return error_reply(403, "forbidden", "A page changes nothing here.")
    shown = given.get(b"authorization", [])
    scheme, _, secret = shown[0].partition(b" ") if len(shown) == 1 else (b"", b"", b"")
    known = token().encode()
    is_known = bool(known) and hmac.compare_digest(secret.strip(), known)
    if scheme.lower() != b"bearer" or not is_known:
        message = "A change needs 'Authorization: Bearer', with what is in the file api-token."
        headers = {b"www-authenticate": b'Bearer realm="kasmos"'}
        return error_reply(401, "unauthorized", message, headers=headers)
    kind = given.get(b"content-type", [b""])[0].partition(b";")[0].strip().lower()
    if kind != JSON:
        return error_reply(415, "unsupported_media_type", "Content-Type must be application/json.")
    return None


def _object(body: bytes) -> dict[str, object]:
    if not body:
        return {}
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        raise BadArgument("The body must be a JSON object.") from None
    if not isinstance(value, dict):
        raise BadArgument("The body must be a JSON object.")
    return value


def _not_allowed(methods: list[str]) -> Reply:
    allowed = ", ".join([*methods, *(["HEAD"] if "GET" in methods else [])])
    return error_reply(
        405,
        "method_not_allowed",
        f"Only {allowed} can be used here.",
        headers={b"allow": allowed.encode()},
    )
