"""The built bundle in a real browser before a host that answers with what a test puts there.

No server and no network: `pane.js` is the host. Knows the contract, nothing of what is shown.
"""

import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

from playwright.sync_api import Browser, Page

ROOT = Path(__file__).parent.parent
FIXTURES = ROOT / "web" / "src" / "contract" / "fixtures"
ARTIFACTS = Path(__file__).parent / "artifacts"
HOST = (Path(__file__).parent / "pane.js").read_text("utf-8")
MODES = ("pip", "inline", "fullscreen", "sidebar")
WIDTHS = {"pip": 400, "inline": 720, "fullscreen": 1280, "sidebar": 360}
NEVER = object()
"""An answer that does not come."""


class Pane:
    """One page with the monitor in it; what it asked of the network and what failed is kept."""

    def __init__(self, browser: Browser, bundle: Path, **context: Any) -> None:
        self.url = (bundle / "index.html").as_uri()
        self.own = {self.url, *((bundle / f"monitor.{kind}").as_uri() for kind in ("js", "css"))}
        self.context = browser.new_context(viewport={"width": 1280, "height": 900}, **context)
        self.page: Page = self.context.new_page()
        self.page.set_default_timeout(10_000)
        self.page.add_init_script(HOST)
        self.opened = 0
        self.requests: set[str] = set()
        self.faults: list[str] = []
        self.context.on("request", lambda request: self.requests.add(request.url.split("?")[0]))
        self.page.on("pageerror", lambda error: self.faults.append(f"error: {error}"))
        self.page.on("console", lambda line: self.faults.append(f"console: {line.text}"))
        self.page.on("dialog", self._dismiss)

    def open(self, answer: object, *, mode: str, theme: str = "light", **host: object) -> None:
        """Mount the monitor anew and wait until the first answer is shown."""
        self.page.set_viewport_size({"width": WIDTHS[mode], "height": 900})
        given = {
            "contractVersion": 1,
            "displayMode": mode,
            "visibility": "expanded",
            "theme": theme,
        } | host
        config = {"host": given} | ({} if answer is NEVER else {"answers": answer})
        self.opened += 1  # Another address, or the browser would only move within the page.
        self.page.goto(f"{self.url}?{self.opened}#{quote(json.dumps(config))}")
        self.page.evaluate("() => pane.drawn()")

    def again(self, answer: object) -> None:
        """Let the monitor ask once more and show the answer."""
        self.page.evaluate("(text) => pane.again(JSON.parse(text))", json.dumps(answer))

    def put(self, answer: object) -> None:
        """Answer the monitor's next request with this."""
        self.page.evaluate("(text) => { pane.answers = JSON.parse(text); }", json.dumps(answer))

    def set(self, **host: object) -> None:
        """Change what the host says."""
        self.page.evaluate("(change) => pane.set(change)", host)
        self.page.evaluate("() => pane.drawn()")

    def shoot(self, name: str) -> None:
        """Keep a picture for a person."""
        ARTIFACTS.mkdir(exist_ok=True)
        self.page.screenshot(path=ARTIFACTS / f"{name}.png", full_page=True)

    def close(self) -> None:
        """End the page; fail where it did more than show."""
        self.context.close()
        assert not self.faults, self.faults
        assert self.requests <= self.own, self.requests - self.own

    def _dismiss(self, dialog: Any) -> None:
        self.faults.append(f"dialog: {dialog.message}")
        dialog.dismiss()


def fixture(name: str) -> Any:
    """Return a snapshot of the contract's fixtures."""
    return json.loads((FIXTURES / f"{name}.json").read_text("utf-8"))


def refusal(code: str, message: str, *projects: str) -> dict[str, object]:
    """Return the answer of a tool that failed."""
    error = {"code": code, "message": message}
    meta = {"kasmos/error": error} | ({"kasmos/projects": list(projects)} if projects else {})
    return {"isError": True, "_meta": meta}
