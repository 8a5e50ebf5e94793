"""serve.guard: what stands before every route of both listeners."""

import json
import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kasmos_plugin.serve.guard import MAX_BODY_BYTES, MAX_DEPTH, Guard, is_deeper
from kasmos_plugin.serve.http import Message, Receive, Reply, Scope, Send, read_body, send_reply
from tests.serve.conftest import MONITOR_PORT, SECRET, Response, request

pytestmark = pytest.mark.anyio

PREVIEW = "/preview"
HOSTS = ["127.0.0.1", "localhost", "[::1]", "LOCALHOST"]
FOREIGN_HOSTS = [
    None,
    "evil.example",
    "localhost.evil.example",
    "127.0.0.1.nip.io",
    f"evil.example:{MONITOR_PORT}",
    "127.0.0.1:80",
    f"127.0.0.1:{MONITOR_PORT}0",
    "localhost.",
    "0.0.0.0",
    "127.0.0.2",
    "[::2]",
    "::1",
    f"user@127.0.0.1:{MONITOR_PORT}",
    " 127.0.0.1",
]
FOREIGN_ORIGINS = [
    "http://evil.example",
    f"https://127.0.0.1:{MONITOR_PORT}",
    "http://127.0.0.1",
    f"http://127.0.0.1:{MONITOR_PORT}0",
    f"http://127.0.0.1:{MONITOR_PORT}/",
    f"http://localhost.evil.example:{MONITOR_PORT}",
    "",
    "file://",
    "vscode-webview://x",
]


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    await send_reply(send, Reply(200, await read_body(receive, 1 << 30) or b"{}"))


def guard() -> Guard:
    return Guard(
        echo,
        port=MONITOR_PORT,
        null_origin_paths=frozenset({PREVIEW}),
        secret=lambda: SECRET,
    )


async def ask(path: str = "/", method: str = "POST", **options: object) -> Response:
    return await request(guard(), method, path, **options)  # type: ignore[arg-type]  # as given


@pytest.mark.parametrize("name", HOSTS)
async def test_loopback_names_are_let_in_with_and_without_our_port(name: str) -> None:
    """D1: an honest client behind another name of loopback is not locked out."""
    assert (await ask(host=name)).status == 200
    assert (await ask(host=f"{name}:{MONITOR_PORT}")).status == 200


@pytest.mark.parametrize("host", FOREIGN_HOSTS)
async def test_any_other_host_is_refused_in_json(host: str | None) -> None:
    """D1: a name that its owner points at 127.0.0.1 reaches nothing."""
    refused = await ask(host=host)
    assert (refused.status, refused.json["error"]["code"]) == (421, "misdirected_request")
    assert refused.headers["content-type"] == "application/json"


async def test_a_host_said_twice_is_refused() -> None:
    assert (await ask(headers=[("host", "127.0.0.1")])).status == 421


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "[::1]"])
async def test_our_own_origin_and_none_are_let_in(name: str) -> None:
    origin = ("origin", f"http://{name}:{MONITOR_PORT}")
    assert (await ask(headers=[origin])).status == 200
    assert (await ask()).status == 200


@pytest.mark.parametrize("origin", FOREIGN_ORIGINS)
@pytest.mark.parametrize("path", ["/", PREVIEW])
@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS"])
async def test_any_other_origin_is_refused(origin: str, path: str, method: str) -> None:
    refused = await ask(path, method, headers=[("origin", origin), ("x-kasmos-preview", SECRET)])
    assert refused.status == 403
    assert not any(name.startswith("access-control") for name in refused.headers)


async def test_two_origins_are_refused() -> None:
    ours = ("origin", f"http://127.0.0.1:{MONITOR_PORT}")
    assert (await ask(headers=[ours, ours])).status == 403


async def test_a_local_file_is_answered_on_the_preview_bridge_with_the_secret() -> None:
    """D2: `null` is any sandboxed frame; the secret tells our page from the rest."""
    null, secret = ("origin", "null"), ("x-kasmos-preview", SECRET)
    answered = await ask(PREVIEW, headers=[null, secret], body=b"[1]")
    assert (answered.status, answered.body) == (200, b"[1]")
    assert answered.headers["access-control-allow-origin"] == "null"
    assert answered.headers["vary"] == "Origin"
    for path, headers in (
        ("/", [null, secret]),
        (PREVIEW, [null]),
        (PREVIEW, [null, ("x-kasmos-preview", "")]),
        (PREVIEW, [null, ("x-kasmos-preview", SECRET[:-1])]),
        (PREVIEW, [null, ("x-kasmos-preview", SECRET + "s")]),
        (PREVIEW, [null, ("x-kasmos-preview", "\xff" * 43)]),
        (PREVIEW, [null, null, secret]),
    ):
        refused = await ask(path, headers=headers)
        assert refused.status == 403
        assert "access-control-allow-origin" not in refused.headers


async def test_the_preflight_of_a_local_file_is_allowed_without_the_secret() -> None:
    """D2: a preflight cannot carry the secret; it tells nothing and lets nothing through."""
    asked = [
        ("origin", "null"),
        ("access-control-request-method", "POST"),
        ("access-control-request-headers", "content-type,x-kasmos-preview"),
    ]
    allowed = await ask(PREVIEW, "OPTIONS", headers=asked)
    assert (allowed.status, allowed.body) == (204, b"")
    assert {name: value for name, value in allowed.headers.items() if "allow" in name} == {
        "access-control-allow-origin": "null",
        "access-control-allow-methods": "POST",
        "access-control-allow-headers": "content-type, x-kasmos-preview",
    }
    private = await ask(
        PREVIEW, "OPTIONS", headers=[*asked, ("access-control-request-private-network", "true")]
    )
    assert private.headers["access-control-allow-private-network"] == "true"
    assert (await ask("/", "OPTIONS", headers=asked)).status == 403


async def test_a_guard_without_a_secret_knows_none() -> None:
    closed = Guard(echo, port=MONITOR_PORT, null_origin_paths=frozenset({PREVIEW}))
    headers = [("origin", "null"), ("x-kasmos-preview", "")]
    assert (await request(closed, "POST", PREVIEW, headers=headers)).status == 403


async def test_a_body_is_counted_while_it_is_read() -> None:
    """D7: what was declared does not matter, nor whether the body comes in chunks."""
    assert (await ask(body=b" " * MAX_BODY_BYTES)).status == 200
    too_large = await ask(body=b" " * (MAX_BODY_BYTES + 1))
    assert (too_large.status, too_large.headers["connection"]) == (413, "close")
    assert (await ask(body=[b" " * 1000] * 64)).status == 200
    assert (await ask(body=[b" " * 1000] * 66)).status == 413
    lying = [("content-length", "10")]
    assert (await ask(body=[b" " * 1000] * 66, headers=lying)).status == 413


async def test_no_more_is_read_than_the_limit_and_a_declared_giant_not_at_all() -> None:
    """D7: the rest of a body that is too large is never asked for."""
    read = 0

    async def receive() -> Message:
        nonlocal read
        read += 1
        return {"type": "http.request", "body": b" " * 30_000, "more_body": True}

    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/",
        "raw_path": b"/",
        "query_string": b"",
        "headers": [(b"host", b"localhost")],
    }
    await guard()(scope, receive, send)
    assert (sent[0]["status"], read) == (413, 3)
    scope["headers"] = [(b"host", b"localhost"), (b"content-length", b"999999999999")]
    await guard()(scope, receive, send)
    assert (sent[2]["status"], read) == (413, 3)


async def test_a_client_that_leaves_is_not_answered() -> None:
    async def receive() -> Message:
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        raise AssertionError("nobody listens")

    headers = [(b"host", b"localhost")]
    scope = {"type": "http", "method": "POST", "path": "/", "query_string": b"", "headers": headers}
    await guard()(scope, receive, send)


async def test_headers_and_address_are_bounded() -> None:
    """D7"""
    assert (await ask(headers=[("x-a", "a" * 40_000)])).status == 431
    assert (await ask(query="a" * 5_000)).status == 414


async def test_deep_json_is_refused_before_it_is_parsed() -> None:
    """D7"""
    assert (await ask(body=b"[" * MAX_DEPTH + b"]" * MAX_DEPTH)).status == 200
    deep = await ask(body=b"[" * 30_000)
    assert (deep.status, deep.json["error"]["code"]) == (400, "bad_argument")


@given(
    st.recursive(
        st.text(alphabet='a"\\[{]}') | st.integers(),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("[{"), inner),
        max_leaves=60,
    ),
    st.integers(0, 6),
)
def test_depth_is_that_of_the_parsed_value(value: object, limit: int) -> None:
    def depth(found: object) -> int:
        if isinstance(found, dict):
            found = list(found.values())
        return 1 + max(map(depth, found), default=0) if isinstance(found, list) else 0

    assert is_deeper(json.dumps(value).encode(), limit) == (depth(value) > limit)


async def test_refusals_are_logged_without_what_was_sent(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        await ask(PREVIEW, headers=[("origin", "null"), ("x-kasmos-preview", SECRET + "x")])
    assert SECRET not in caplog.text
