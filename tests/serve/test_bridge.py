"""serve.bridge: the page, the snapshot bridge and health, over real stores in memory."""

import json
import sqlite3
from pathlib import Path
from urllib.parse import urlencode

import pytest

from kasmos_plugin import __version__
from kasmos_plugin.contract.live_status import LiveStatus
from kasmos_plugin.serve import bridge
from kasmos_plugin.serve.cache import SnapshotCache
from kasmos_plugin.serve.http import SECURITY_HEADERS
from kasmos_plugin.store import Store
from tests.conftest import git
from tests.serve.conftest import SECRET, agent, daemon_of, read_only, serving

pytestmark = pytest.mark.anyio

HOSTILE = '</script><!--<script>\x1b]0;t\x07"'
BRIDGES = [bridge.PREVIEW_PATH, bridge.SNAPSHOT_PATH]


@pytest.mark.parametrize("path", BRIDGES)
async def test_the_bridge_answers_what_refresh_monitor_answers(
    store: Store, project: str, path: str
) -> None:
    store.tasks.create(project, "auth", plan_text="## Wave 1\n### Task 1: a\n")
    async with serving(store.path, daemon_of(store, agent(1, project, "auth"))) as serve:
        body = json.dumps({"project": project, "task": "auth.md"}).encode()
        answered = await serve.http("POST", path, body=body)
        arguments = {"project": project, "task": "auth.md"}
        assert (answered.status, answered.json) == (
            200,
            await serve.call("refresh_monitor", arguments),
        )
        status = LiveStatus.model_validate(answered.json["structuredContent"])
        assert status.focus is not None
        assert [found.id for found in status.active_agents] == ["agent-0001"]
        assert (status.projects, status.daemon_running) == ((project,), True)


@pytest.mark.parametrize("path", BRIDGES)
@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "PATCH"])
async def test_only_post_and_options_are_allowed(store: Store, path: str, method: str) -> None:
    async with serving(store.path) as serve:
        refused = await serve.http(method, path)
        assert (refused.status, refused.headers["allow"]) == (405, "POST, OPTIONS")
        options = await serve.http("OPTIONS", path)
        assert (options.status, options.headers["allow"]) == (204, "POST, OPTIONS")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b'"project"',
        b"{",
        b'{"project": null}',
        b'{"project": 1}',
        b'{"project": ["a"]}',
        b'{"project": "a", "cap": 5}',
        b'{"focus": "a"}',
        b'{"project": NaN}',
        b'{"task": "\\ud800"}',
        b"\xff\xfe",
        json.dumps({"task": "a" * 501}).encode(),
    ],
)
async def test_a_body_that_is_not_the_two_strings_is_a_bad_argument(
    store: Store, project: str, body: bytes
) -> None:
    """D13: what is not JSON is refused, and so is a name that cannot be one."""
    async with serving(store.path) as serve:
        refused = await serve.http("POST", bridge.SNAPSHOT_PATH, body=body)
        assert refused.status == 400
        assert refused.json["isError"] is True
        assert refused.json["_meta"]["kasmos/error"]["code"] == "bad_argument"
        assert "structuredContent" not in refused.json


async def test_errors_are_envelopes_with_the_status_of_their_kind(
    store: Store, project: str, tmp_path: Path
) -> None:
    async with serving(store.path) as serve:
        unknown = await serve.snapshot({"project": "nobody"})
        assert (unknown.status, unknown.json["_meta"]) == (
            404,
            {
                "kasmos/error": {
                    "code": "unknown_project",
                    "message": f"Unknown project 'nobody'; known projects: '{project}'.",
                },
                "kasmos/projects": [project],
            },
        )
        second = tmp_path / "second"
        second.mkdir()
        git(second, "init", "-q")
        store.projects.add(second)
        required = await serve.snapshot()
        assert required.status == 400
        assert required.json["_meta"]["kasmos/error"]["code"] == "project_required"
        assert required.json["_meta"]["kasmos/projects"] == [project, "second"]
        store.close()
        store.path.unlink()
        gone = await serve.snapshot({"project": project})
        assert gone.status == 503
        assert gone.json["_meta"]["kasmos/error"]["code"] == "store_unavailable"
        assert str(store.path.parent) not in gone.body.decode()


async def test_a_fault_of_ours_is_an_error_without_its_text(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(project: str) -> object:
        raise RuntimeError("inner secret")

    link = daemon_of(store)
    link.heard = broken  # type: ignore[assignment]  # the fault
    async with serving(store.path, link) as serve:
        failed = await serve.snapshot()
        assert (failed.status, failed.json["_meta"]["kasmos/error"]["code"]) == (500, "internal")
        assert "inner secret" not in failed.body.decode()
        assert (await serve.call("open_monitor"))["_meta"] == failed.json["_meta"]
    assert caplog.text.count("inner secret") >= 2


async def test_a_local_page_with_the_secret_reads_errors_too(store: Store) -> None:
    """D2: the page must be able to say what is wrong."""
    headers = [("origin", "null"), ("x-kasmos-preview", SECRET)]
    async with serving(store.path) as serve:
        body = b'{"project": "nobody"}'
        known = await serve.http("POST", bridge.PREVIEW_PATH, body=body, headers=headers)
        assert (known.status, known.headers["access-control-allow-origin"]) == (404, "null")
        other = await serve.http("POST", bridge.SNAPSHOT_PATH, body=body, headers=headers)
        assert other.status == 403


async def test_the_page_is_served_with_what_it_cannot_say_of_itself(
    store: Store, project: str
) -> None:
    """D12: names in the address cannot end the script that holds them."""
    async with serving(store.path) as serve:
        page = await serve.http("GET", "/")
        assert (page.status, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
        assert "frame-ancestors 'none'" in page.headers["content-security-policy"]
        assert SECRET not in page.body.decode()
        query = urlencode({"project": HOSTILE, "task": HOSTILE, "mode": "pip", "theme": "dark"})
        named = await serve.http("GET", "/", query=query)
        assert named.status == 200
        assert named.body.count(b"<script") == page.body.count(b"<script")
        assert HOSTILE.encode() not in named.body


@pytest.mark.parametrize("query", ["mode=tab", "theme=pink"])
async def test_a_page_in_a_mode_that_does_not_exist_is_refused(store: Store, query: str) -> None:
    async with serving(store.path) as serve:
        assert (await serve.http("GET", "/", query=query)).status == 400
        assert (await serve.http("GET", "/", query="host=x&utm=1&mode=")).status == 200


async def test_everything_else_is_json_that_says_no(store: Store) -> None:
    async with serving(store.path) as serve:
        for path in ("/nothing", "/v1", "/index.html", "/../etc/passwd", "/mcp", "/favicon.ico"):
            found = await serve.http("GET", path)
            assert (found.status, found.json["error"]["code"]) == (404, "not_found")


async def test_every_answer_of_every_route_has_the_security_headers(store: Store) -> None:
    """Enumerated: a route that is added is covered."""

    async def none(*_: object) -> object:
        raise AssertionError

    every = bridge.routes(
        SnapshotCache(none, now=lambda: None),  # type: ignore[arg-type, return-value]  # unused
        page=none,  # type: ignore[arg-type]  # unused
        health=none,  # type: ignore[arg-type]  # unused
    )
    async with serving(store.path) as serve:
        for path, handlers in every.items():
            for method in [*handlers, "TRACE"]:
                for host in ("", "evil.example"):
                    answered = await serve.http(method, path, host=host, body=b"{}")
                    for name, value in SECURITY_HEADERS:
                        assert answered.headers[name.decode()] == value.decode()
                    assert (answered.status == 421) == bool(host)


async def test_health_reads_the_store_and_says_who_answers(store: Store, project: str) -> None:
    """B3, D6: an identity, and an answer that comes from the file."""
    async with serving(store.path) as serve:
        healthy = await serve.http("GET", "/healthz")
        assert (healthy.status, healthy.json) == (
            200,
            {
                "kasmos": "serve",
                "version": __version__,
                "instance": "instance",
                "store_id": store.store_id,
                "ok": True,
                "projects": 1,
            },
        )
        assert (await serve.http("HEAD", "/healthz")).status == 200


async def test_health_is_bad_when_the_data_cannot_be_read(store: Store, project: str) -> None:
    """B3: a process that runs is not a monitor that sees."""
    store.tasks.create(project, "a")
    async with serving(store.path) as serve:
        assert (await serve.snapshot()).status == 200
        store.close()
        connection = sqlite3.connect(store.path)
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.close()
        serve.monotonic.advance(1.0)
        # From here on the server's own connection has every page in its cache.
        assert (await serve.snapshot()).status == 200
        size = store.path.stat().st_size
        with store.path.open("r+b") as file:
            file.seek(4096)
            file.write(b"\xff" * (size - 4096))
        sick = await serve.http("GET", "/healthz")
        assert (sick.status, sick.json["ok"]) == (503, False)
        assert sick.json["error"]["code"] == "store_corrupt"
        serve.monotonic.advance(1.0)
        unseen = await serve.snapshot()
        assert (unseen.status, unseen.json) == (503, await serve.call("open_monitor"))
        for body in (sick.body, unseen.body):
            assert str(store.path.parent).encode() not in body


async def test_hostile_names_come_back_cleaned(store: Store, project: str) -> None:
    """D9: an escape sequence in an argument does not return in an error."""
    async with serving(store.path) as serve:
        refused = await serve.snapshot({"project": HOSTILE})
        assert refused.status == 404
        assert not any(mark in refused.json["content"][0]["text"] for mark in "\x1b\x07")
        refused = await serve.snapshot({HOSTILE: ""})
        assert not any(mark in refused.json["content"][0]["text"] for mark in "\x1b\x07")


async def test_a_store_that_can_only_be_read_says_so(store: Store, project: str) -> None:
    store.close()
    with read_only(store.path):
        async with serving(store.path) as serve:
            answered = await serve.snapshot()
            codes = [notice["code"] for notice in answered.json["structuredContent"]["notices"]]
            assert "store_read_only" in codes
