"""The bundle: what it holds is what its manifest, the sources and the contract say."""

import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import get_args

import pytest

from kasmos_plugin.contract.live_status import SCHEMA_VERSION
from kasmos_plugin.contract.monitor import BundleFile, BundleManifest, DisplayMode, SnapshotEndpoint
from kasmos_plugin.serve.bridge import SNAPSHOT_PATH
from kasmos_plugin.widget import bundle_files, bundle_manifest
from kasmos_plugin.widget.bundle import MANIFEST_NAME
from kasmos_plugin.widget.document import asset

SOURCES = Path(__file__).resolve().parents[2] / "web" / "src"
CONTRACT = (SOURCES / "contract" / "host.ts").read_text("utf-8")
WAYS_OUT = (
    r"\bfetch\b",
    r"XMLHttpRequest",
    r"WebSocket",
    r"WebTransport",
    r"RTCPeerConnection",
    r"EventSource",
    r"sendBeacon",
    r"\bimport\s*\(",
    r"importScripts",
    r"\bWorker\b",
    r"\bImage\b",
    r"(?:https?|wss?)://",
)
"""What a script reaches the network with."""


def members(kind: str) -> list[str]:
    """Return the required or the optional members of the host's object, as TypeScript has them."""
    body = re.search(r"interface MonitorHost \{\n(.*?)\n\}", CONTRACT, re.DOTALL)
    assert body
    found = re.findall(r"^  (?:readonly )?(\w+)(\??)[:(]", body[1], re.MULTILINE)
    assert len(found) == len(body[1].splitlines())
    return [name for name, mark in found if (mark == "?") == (kind == "optional")]


class Loads(HTMLParser):
    """Collects the elements of a page, and what they load."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def test_it_is_four_files_and_the_manifest_is_the_last() -> None:
    assert list(bundle_files()) == ["monitor.js", "monitor.css", "index.html", MANIFEST_NAME]
    assert bundle_files()["monitor.js"] == asset("monitor.js").encode()
    assert bundle_files()["monitor.css"] == asset("monitor.css").encode()


def test_the_manifest_says_what_a_host_needs() -> None:
    files = bundle_files()
    assert bundle_manifest() == BundleManifest(
        name="kasmos-monitor",
        contract_version=1,
        live_status_schema_version=SCHEMA_VERSION,
        root_element_id="root",
        host_global="kasmosMonitorHost",
        snapshot_endpoint=SnapshotEndpoint(
            method="POST", path=SNAPSHOT_PATH, default_origin="http://127.0.0.1:7433"
        ),
        required_capabilities=(
            "contractVersion",
            "displayMode",
            "visibility",
            "theme",
            "refresh",
            "subscribe",
        ),
        optional_capabilities=(
            "snapshot",
            "input",
            "state",
            "maxHeight",
            "saveState",
            "setBadge",
            "requestDisplayMode",
            "sendPrompt",
        ),
        files=tuple(
            BundleFile(
                path=name, sha256=hashlib.sha256(files[name]).hexdigest(), bytes=len(files[name])
            )
            for name in ("monitor.js", "monitor.css", "index.html")
        ),
    )


def test_the_manifest_has_these_keys_in_this_order() -> None:
    manifest = json.loads(bundle_files()[MANIFEST_NAME])
    assert list(manifest) == [
        "name",
        "contract_version",
        "live_status_schema_version",
        "root_element_id",
        "host_global",
        "snapshot_endpoint",
        "required_capabilities",
        "optional_capabilities",
        "files",
    ]
    assert [list(file) for file in manifest["files"]] == [["path", "sha256", "bytes"]] * 3


def test_the_capabilities_are_those_that_the_monitor_reads() -> None:
    manifest = bundle_manifest()
    assert list(manifest.required_capabilities) == members("required")
    assert sorted(manifest.optional_capabilities) == sorted(members("optional"))
    adapter = (SOURCES / "host" / "injected.ts").read_text("utf-8")
    environment = re.search(
        r"interface Globals \{\n(.*?)\n\}", (SOURCES / "host" / "host.ts").read_text(), re.DOTALL
    )
    assert environment
    read = {
        *re.findall(r"\bhost\.(\w+)", adapter),
        *re.findall(r'given\["(\w+)"\]', adapter),
        *re.findall(r"readonly (\w+)", environment[1]),
    }
    # What the Apps SDK says of a person's language; version 1 of our contract knows nothing of it.
    assert read - {"locale", "timeZone"} == {
        *manifest.required_capabilities,
        *manifest.optional_capabilities,
    }


def test_the_words_are_those_of_the_sources() -> None:
    manifest = bundle_manifest()
    assert f"HOST_CONTRACT_VERSION = {manifest.contract_version};" in CONTRACT
    assert f'ROOT_ID = "{manifest.root_element_id}";' in CONTRACT
    assert f"MODES = {json.dumps(get_args(DisplayMode))} as const" in CONTRACT
    chooser = (SOURCES / "host" / "choose.ts").read_text("utf-8")
    assert f"page.{manifest.host_global} !== undefined" in chooser


@pytest.mark.parametrize("way", WAYS_OUT)
def test_the_script_has_no_way_to_the_network(way: str) -> None:
    assert re.findall(way, bundle_files()["monitor.js"].decode()) == []


def test_a_way_to_the_network_would_be_seen() -> None:
    preview = asset("preview.js")
    assert [way for way in WAYS_OUT if re.search(way, preview)] == [r"\bfetch\b"]


def test_the_style_sheet_loads_nothing() -> None:
    assert not re.search(r"url\(|@import|image-set\(", bundle_files()["monitor.css"].decode())


def test_the_page_loads_both_from_beside_itself_and_allows_nothing_else() -> None:
    page = bundle_files()["index.html"].decode()
    tags = Loads(page).tags
    assert [attributes for tag, attributes in tags if tag in ("link", "script", "div")] == [
        {"rel": "stylesheet", "href": "monitor.css"},
        {"id": "root"},
        {"src": "monitor.js"},
    ]
    (policy,) = [attributes["content"] for _, attributes in tags if "http-equiv" in attributes]
    assert policy == (
        "default-src 'none'; script-src 'self'; style-src 'self'; base-uri 'none'; "
        "form-action 'none'"
    )
    assert page.index("Content-Security-Policy") < page.index("<link")
