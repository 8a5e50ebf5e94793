"""The document holds everything it needs, and asks for nothing."""

import json
import re
import sys
from html.parser import HTMLParser
from pathlib import Path

from kasmos_plugin.widget import widget_hash, widget_html
from kasmos_plugin.widget.document import asset, inline_script

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from widget_sources import (  # noqa: E402  # a script: its folder is on the path only now
    LIMIT_BYTES,
    gzipped,
    sources_hash,
)

ASSETS = ROOT / "kasmos_plugin" / "widget" / "assets"


class Elements(HTMLParser):
    """Collects every element with its attributes and, for scripts and styles, their text."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {"script": [], "style": []}
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.found and self.found[-1][0] in self.texts and data.strip():
            self.texts[self.found[-1][0]].append(data)


def test_it_is_one_document_with_one_root_one_style_and_one_script() -> None:
    elements = Elements(widget_html())
    tags = [tag for tag, _ in elements.found]
    assert tags == ["html", "head", "meta", "meta", "title", "style", "body", "div", "script"]
    assert ("div", {"id": "root"}) in elements.found
    assert elements.texts["script"] == [inline_script(asset("monitor.js"))]


def test_it_names_no_other_place_and_makes_no_network_call() -> None:
    text = widget_html()
    addresses = set(re.findall(r"(?:https?|wss?)://[\w.-]+", text))
    assert addresses == set()
    assert not re.search(r"\bfetch\b|XMLHttpRequest|WebSocket|EventSource|sendBeacon|@import", text)
    assert not re.search(r"\bsrc=|url\(", text)


def test_its_background_is_its_own_before_the_script_runs() -> None:
    """E8"""
    text = widget_html()
    assert (
        text.index("html{background:var(--k-bg)}") < text.index("<body>") < text.index("<script>")
    )
    assert "color-scheme:light dark" in text


def test_its_hash_follows_its_content() -> None:
    assert re.fullmatch(r"[0-9a-f]{16}", widget_hash())
    assert widget_hash() == widget_hash()


def test_a_script_cannot_end_its_element() -> None:
    """D12"""
    script = 'a("</script><SCRIPT><!--"); a < b'
    assert inline_script(script) == r'a("\x3c/script>\x3cSCRIPT>\x3c!--"); a < b'


def test_the_committed_assets_are_built_from_these_sources_and_light_enough() -> None:
    record = json.loads((ASSETS / "build.json").read_text(encoding="utf-8"))
    assert record["sources"] == sources_hash(ROOT / "web"), "run scripts/build-widget"
    size = gzipped([ASSETS / "monitor.js", ASSETS / "monitor.css"])
    assert size == record["gzip_bytes"] <= LIMIT_BYTES


def test_the_lock_file_names_no_registry() -> None:
    assert "resolved" not in (ROOT / "web" / "package-lock.json").read_text(encoding="utf-8")
