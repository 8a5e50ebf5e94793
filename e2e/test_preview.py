"""The generated preview: from a file, with its secret; refused to everybody else."""

import http.server
import re
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from e2e.harness import World

SOON_MS = 15_000
HOSTILE = '</script><script>alert(1)</script><img src=x onerror=alert(1)>"\u202eevil 👩‍👧\x1b[31m'


def generate(world: World, *arguments: str) -> Path:
    out = world.root / "preview.html"
    world.kas("monitor", "widget", "--out", str(out), "--serve-url", world.url, *arguments)
    return out


def test_a_file_shows_the_live_monitor(page: Page, served: World) -> None:
    out = generate(served, "--project", "alpha", "--task", "plan")
    assert out.stat().st_mode & 0o077 == 0
    page.goto(out.as_uri())
    expect(page.get_by_text("parse the new format")).to_be_visible(timeout=SOON_MS)
    served.approve("plan", "advance_wave")
    served.kas("task", "transition", "plan", "advance_wave")
    expect(page.get_by_text("wave 2 of 2").first).to_be_visible(timeout=SOON_MS)


def test_a_file_without_its_secret_is_refused(page: Page, served: World) -> None:
    """D2: `Origin: null` is answered only with the secret from the file."""
    out = generate(served, "--project", "alpha")
    text = out.read_text()
    secret = re.search(r'"secret":\s*"([^"]+)"', text)
    assert secret
    out.write_text(text.replace(secret[1], "0" * len(secret[1])))
    page.goto(out.as_uri())
    expect(page.get_by_text("cannot reach kas serve").first).to_be_visible(timeout=SOON_MS)
    expect(page.get_by_text("parse the new format")).to_have_count(0)


@pytest.fixture
def stranger(tmp_path: Path) -> Iterator[str]:
    """The origin of another web server on this machine, with an empty page."""
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "index.html").write_text("<!doctype html><title>other</title>")

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *arguments: object, **options: object) -> None:
            super().__init__(*arguments, directory=str(tmp_path / "site"))  # type: ignore[arg-type]  # passed on

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Quiet)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    thread.join(timeout=5)
    server.server_close()


FETCH = """async ([url, headers]) => {
  try {
    const answer = await fetch(url, {method: "POST", headers, body: "{}"});
    return "read " + answer.status;
  } catch { return "blocked"; }
}"""


def test_pages_of_other_origins_read_nothing(page: Page, served: World, stranger: str) -> None:
    """D1, D2: neither a page of another origin nor a sandboxed frame of it reads the bridge."""
    page.goto(stranger)
    for path in ("/v1/widget-preview/open-monitor", "/v1/monitor/snapshot", "/mcp"):
        for kind in ("application/json", "text/plain"):
            headers = {"Content-Type": kind, "X-Kasmos-Preview": "guess"}
            assert page.evaluate(FETCH, [served.url + path, headers]) == "blocked"
    page.set_content('<iframe sandbox="allow-scripts" srcdoc="<p>x</p>"></iframe>')
    frame = page.frames[1]
    target = f"{served.url}/v1/widget-preview/open-monitor"
    headers = {"Content-Type": "application/json", "X-Kasmos-Preview": "guess"}
    assert frame.evaluate(FETCH, [target, headers]) == "blocked"


def test_serve_refuses_to_be_framed(page: Page, served: World, stranger: str) -> None:
    page.goto(stranger)
    page.set_content(f'<iframe src="{served.url}/"></iframe>')
    page.wait_for_timeout(1_000)
    assert "kasmos" not in page.frames[1].content().lower()


@pytest.mark.parametrize("mode", ["pip", "inline", "fullscreen", "sidebar"])
def test_hostile_names_in_every_field_stay_text(page: Page, served: World, mode: str) -> None:
    """D9, D11: written past the command line's own checks, shown as text or not at all."""
    database = sqlite3.connect(served.root / "home" / "data" / "kasmos.db")
    database.execute(
        "UPDATE tasks SET filename = ?, topic = ?, branch = ?, goal = ?, block_reason = ?,"
        " pr_url = ?, blocked_us = 1 WHERE filename = 'plan'",
        [HOSTILE] * 6,
    )
    database.execute("UPDATE waves SET title = ?", [HOSTILE])
    database.execute("UPDATE subtasks SET title = ?", [HOSTILE])
    database.execute(
        "INSERT INTO events (project, at_us, kind, message, task, agent)"
        " VALUES ('alpha', 1, ?, ?, ?, ?)",
        [HOSTILE] * 4,
    )
    database.commit()
    database.close()
    page.goto(f"{served.url}/?project=alpha&mode={mode}")
    expect(page.get_by_text("evil").first).to_be_visible(timeout=SOON_MS)
    assert page.locator("img").count() == 0
    content = page.evaluate("() => document.body.innerText")
    assert "\x1b" not in content
    assert "[31m" not in content
    assert "\u202e" not in content
    for button in page.get_by_role("button", name="look").all():
        button.click()
    assert page.locator("script:not([type])").count() <= 3


WIDTHS = (240, 280, 320, 420, 640, 960, 1280, 1600)
FIXTURES = Path(__file__).parent.parent / "web" / "src" / "contract" / "fixtures"


@pytest.mark.parametrize("mode", ["pip", "inline", "fullscreen", "sidebar"])
@pytest.mark.parametrize("fixture", ["agents_100", "hostile", "empty"])
def test_no_view_scrolls_sideways(browser: Browser, mode: str, fixture: str, calm: World) -> None:
    """The layout holds from 240 to 1600 px, with 100 agents and hostile names."""
    snapshot = (FIXTURES / f"{fixture}.json").read_text()
    context = browser.new_context()
    page = context.new_page()
    page.route(
        "**/v1/widget-preview/open-monitor",
        lambda route: route.fulfill(
            content_type="application/json", body='{"structuredContent":' + snapshot + "}"
        ),
    )
    page.goto(f"{calm.url}/?mode={mode}")
    page.wait_for_selector("main .lifecycle, main [class]")
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 700})
        overflow = page.evaluate(
            "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame("
            "() => done([document.getElementById('root'), document.documentElement]"
            ".map(e => e.scrollWidth - e.clientWidth)))))"
        )
        assert max(overflow) <= 1, (mode, fixture, width, overflow)
    context.close()
