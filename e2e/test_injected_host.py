"""The host contract in a real browser: the example host before a real serve, and the bundle alone.

The page's clock stands still but for `pass_time`, and what the monitor asks of its host is counted
in the page where it happens, so that nothing here waits for time to pass.
"""

import http.client
import json
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from e2e.gate import Gate
from e2e.harness import World, until
from e2e.test_read_only import dump

ROOT = Path(__file__).parent.parent
FIXTURES = ROOT / "web" / "src" / "contract" / "fixtures"
SOON_MS = 15_000

# Counts what the monitor does to the host that the page offers, from the first moment on.
WATCH = """(() => {
  const seen = { asked: [], settled: 0, badges: [], subscribed: 0 };
  window.seen = seen;
  let held;
  Object.defineProperty(window, "kasmosMonitorHost", {
    configurable: true,
    get: () => held,
    set(host) {
      const { refresh, subscribe, setBadge } = host;
      host.refresh = (scope) => {
        seen.asked.push(scope);
        return refresh.call(host, scope).finally(() => { seen.settled += 1; });
      };
      host.subscribe = (listener) => {
        const end = subscribe.call(host, listener);
        seen.subscribed += 1;
        return () => {
          seen.subscribed -= 1;
          sessionStorage.setItem("ended", String(Number(sessionStorage.getItem("ended")) + 1));
          end();
        };
      };
      host.setBadge = (badge) => {
        seen.badges.push(badge);
        setBadge.call(host, badge);
      };
      held = host;
    },
  });
})()"""


class Example:
    """The example host's server, as its README starts it."""

    def __init__(self, bundle: Path, serve_url: str) -> None:
        script = ROOT / "examples" / "host" / "serve.py"
        self.process = subprocess.Popen(
            [
                *(sys.executable, str(script), "--bundle", str(bundle)),
                *("--serve-url", serve_url, "--port", "0"),
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().strip()
        assert self.url, "the example's server did not start"

    def close(self) -> None:
        self.process.terminate()
        self.process.communicate(timeout=10)


@pytest.fixture
def example(bundle: Path, gate: Gate) -> Iterator[Example]:
    """The example host on `calm`, which is seen through the gate."""
    example = Example(bundle, gate.url)
    yield example
    example.close()


@pytest.fixture
def watched(page: Page) -> Page:
    """A page that counts what the monitor asks of its host."""
    page.add_init_script(WATCH)
    return page


def stop_clock(page: Page) -> None:
    page.clock.install(time="2030-01-01T00:00:00Z")
    page.clock.pause_at("2030-01-01T00:00:01Z")


def seen(page: Page, what: str) -> Any:
    return page.evaluate(f"() => seen.{what}")


def settle(page: Page) -> None:
    """Wait until every request of the monitor has its answer, and the answer is taken."""
    until(lambda: page.evaluate("() => seen.settled === seen.asked.length"), what="the answers")
    page.evaluate("() => new Promise((done) => { queueMicrotask(done); })")


def pass_time(page: Page, ms: int) -> int:
    """Move the page's clock; return how often the monitor asked meanwhile."""
    before = seen(page, "asked.length")
    page.clock.run_for(ms)
    settle(page)
    return int(seen(page, "asked.length")) - int(before)


def open_stopped(page: Page, example: Example, **address: str) -> None:
    """Open the example with a clock that stands, and wait for the first answer."""
    stop_clock(page)
    query = "&".join(f"{name}={value}" for name, value in {"project": "alpha", **address}.items())
    page.goto(f"{example.url}?{query}")
    until(lambda: seen(page, "settled") == 1, what="the first answer")
    settle(page)


def switch(page: Page, name: str, value: str) -> None:
    page.locator(f"#bar select[name={name}]").select_option(value)


def test_a_snapshot_of_a_real_serve_is_shown(page: Page, example: Example) -> None:
    asked: set[tuple[str, str]] = set()
    page.on("request", lambda request: asked.add((request.method, request.url)))
    page.goto(f"{example.url}?displayMode=fullscreen&project=alpha&task=plan")
    expect(page.get_by_text("parse the new format")).to_be_visible(timeout=SOON_MS)
    expect(page.locator(".fresh.is-live")).to_be_visible()
    assert asked == {
        ("GET", f"{example.url}?displayMode=fullscreen&project=alpha&task=plan"),
        *(
            ("GET", example.url + name)
            for name in ("host.js", "host.css", "monitor.js", "monitor.css")
        ),
        ("POST", f"{example.url}v1/monitor/snapshot"),
    }


def test_the_host_decides_on_mode_and_theme(watched: Page, example: Example) -> None:
    open_stopped(watched, example, theme="light")
    widths = {}
    for mode in ("pip", "fullscreen", "sidebar", "inline"):
        switch(watched, "displayMode", mode)
        expect(watched.locator(f"#root main.mode-{mode}")).to_be_visible()
        widths[mode] = watched.evaluate("() => document.getElementById('root').offsetWidth")
    assert widths["pip"] < widths["sidebar"] < widths["inline"] < widths["fullscreen"]
    background = "() => getComputedStyle(document.getElementById('root')).backgroundColor"
    light = watched.evaluate(background)
    switch(watched, "theme", "dark")
    expect(watched.locator("html")).to_have_attribute("data-theme", "dark")
    assert watched.evaluate(background) != light
    watched.locator("[name=maxHeight]").fill("120")
    watched.locator("[name=maxHeight]").press("Enter")
    expect(watched.locator("#root")).to_have_css("max-height", "120px")


def test_the_monitor_asks_the_host_for_a_mode(page: Page, example: Example) -> None:
    page.goto(f"{example.url}?project=alpha")
    page.get_by_role("button", name="show as sidebar").click()
    expect(page.locator("select[name=displayMode]")).to_have_value("sidebar")
    expect(page.locator("#root main.mode-sidebar")).to_be_visible()


@pytest.mark.parametrize(
    ("mode", "base_ms"),
    [("pip", 2_000), ("fullscreen", 2_000), ("sidebar", 2_000), ("inline", 3_000)],
)
def test_each_mode_has_its_cadence(
    watched: Page, example: Example, mode: str, base_ms: int
) -> None:
    open_stopped(watched, example, displayMode=mode)
    assert pass_time(watched, base_ms - 100) == 0
    pass_time(watched, 200)
    assert [pass_time(watched, base_ms) for _ in range(3)] == [1, 1, 1]


def test_the_pane_decides_how_often_it_asks(watched: Page, example: Example, gate: Gate) -> None:
    """Hidden: no request at all. Shown again: one at once."""
    open_stopped(watched, example, displayMode="fullscreen")
    switch(watched, "visibility", "collapsed")
    assert pass_time(watched, 14_900) == 0
    assert pass_time(watched, 200) == 1
    switch(watched, "visibility", "hidden")
    polls = gate.polls
    assert pass_time(watched, 3_600_000) == 0
    assert gate.polls == polls
    before = seen(watched, "asked.length")
    switch(watched, "visibility", "expanded")
    assert seen(watched, "asked.length") == before + 1


def test_a_hidden_pane_asks_nothing_when_it_begins(watched: Page, example: Example) -> None:
    stop_clock(watched)
    watched.goto(f"{example.url}?project=alpha&visibility=hidden")
    assert pass_time(watched, 600_000) == 0


def test_the_badge_is_sent_when_it_changes_and_not_before_an_answer(
    watched: Page, example: Example, gate: Gate
) -> None:
    gate.open.clear()
    stop_clock(watched)
    watched.goto(f"{example.url}?project=alpha&displayMode=fullscreen")
    until(lambda: gate.in_flight == 1, what="the first request")
    assert seen(watched, "badges") == []
    gate.open.set()
    until(lambda: seen(watched, "settled") == 1, what="the first answer")
    settle(watched)
    waits = {
        "level": "attention",
        "running_agents": 0,
        "blocked": 1,
        "implementing": 1,
        "reviewing": 0,
        "project": "alpha",
    }
    assert seen(watched, "badges") == [waits]
    expect(watched).to_have_title("◆ 1 alpha")
    assert sum(pass_time(watched, 2_000) for _ in range(3)) >= 2
    assert seen(watched, "badges") == [waits]
    gate.is_refusing = True
    assert pass_time(watched, 2_000) == 1
    gate.is_refusing = False
    assert pass_time(watched, 5_000) == 1
    assert seen(watched, "badges") == [waits, waits | {"level": "offline"}, waits]


def test_the_selection_is_kept_over_a_reload(page: Page, example: Example) -> None:
    page.goto(f"{example.url}?project=alpha")
    task = page.locator("select.task")
    task.select_option("bare")
    expect(task).to_have_value("bare")
    kept = page.evaluate("() => localStorage.getItem('kasmos-monitor-scope')")
    assert json.loads(kept) == {"project": "alpha", "task": "bare"}
    page.goto(f"{example.url}?project=alpha&task=plan")
    expect(task).to_have_value("bare")


def test_a_button_sends_text_into_the_conversation_and_changes_nothing(
    page: Page, example: Example, calm: World
) -> None:
    before = dump(calm)
    page.goto(f"{example.url}?project=alpha&displayMode=fullscreen&task=plan")
    switch(page, "messages", "refused")
    page.get_by_role("button", name="start wave 2").first.click()
    expect(page.get_by_role("button", name=re.compile("refused")).first).to_be_visible()
    expect(page.locator("#prompts li")).to_have_count(0)
    switch(page, "messages", "accepted")
    page.get_by_role("button", name=re.compile("refused")).first.click()
    expect(page.locator("#prompts li")).to_have_count(1)
    expect(page.locator("#prompts li")).to_contain_text('"plan"')
    page.get_by_role("button", name="look").first.click()
    expect(page.locator("#prompts li")).to_have_count(2)
    assert dump(calm) == before


def test_another_contract_version_is_incompatible_and_asks_nothing(
    watched: Page, example: Example, gate: Gate
) -> None:
    open_stopped(watched, example)
    with watched.expect_navigation():
        switch(watched, "contractVersion", "2")
    expect(watched.locator("#root main.is-incompatible")).to_be_visible()
    expect(watched.locator("#root")).to_contain_text("version 2")
    polls = gate.polls
    for visibility in ("hidden", "expanded"):
        switch(watched, "visibility", visibility)
        assert pass_time(watched, 600_000) == 0
    assert (gate.polls, seen(watched, "badges"), seen(watched, "subscribed")) == (polls, [], 0)
    with watched.expect_navigation():
        switch(watched, "contractVersion", "1")
    expect(watched.locator("#root main.is-live")).to_be_visible(timeout=SOON_MS)


def test_a_host_that_rejects_is_stale_until_it_answers_again(
    page: Page, example: Example, gate: Gate
) -> None:
    page.goto(f"{example.url}?project=alpha&displayMode=fullscreen&task=plan")
    expect(page.locator("#root main.is-live")).to_be_visible(timeout=SOON_MS)
    gate.is_refusing = True
    expect(page.locator("#root main.is-stale")).to_be_visible(timeout=SOON_MS)
    expect(page.get_by_text("parse the new format")).to_be_visible()
    expect(page.get_by_text("cannot reach kas serve").first).to_be_visible()
    gate.is_refusing = False
    page.get_by_role("button", name="retry now").click()
    expect(page.locator("#root main.is-live")).to_be_visible(timeout=SOON_MS)


def test_a_snapshot_that_the_host_pushes_is_shown(
    watched: Page, example: Example, calm: World
) -> None:
    open_stopped(watched, example)
    before = seen(watched, "asked.length")
    newer = calm.snapshot(project="alpha") | {"generated_at": "2031-01-01T00:00:00Z"}
    newer["lifecycle"] = newer["lifecycle"] | {"reviewing": 7, "total": 9}
    watched.route(
        "**/v1/monitor/snapshot", lambda route: route.fulfill(json={"structuredContent": newer})
    )
    watched.get_by_role("button", name="push a snapshot").click()
    expect(watched.locator("#root .lifecycle")).to_contain_text("7")
    assert seen(watched, "asked.length") == before


def test_the_monitor_unsubscribes_when_its_page_goes(watched: Page, example: Example) -> None:
    watched.goto(f"{example.url}?project=alpha")
    expect(watched.locator("#root main.is-live")).to_be_visible(timeout=SOON_MS)
    assert seen(watched, "subscribed") == 1
    watched.goto(f"{example.url}monitor.css")
    assert watched.evaluate("() => sessionStorage.getItem('ended')") == "1"


def test_the_monitor_unsubscribes_when_its_root_is_taken_out(
    watched: Page, example: Example
) -> None:
    open_stopped(watched, example)
    watched.evaluate("() => document.getElementById('root').remove()")
    assert pass_time(watched, 60_000) == 0
    assert seen(watched, "subscribed") == 0


def test_a_host_with_the_required_members_alone_has_neither_buttons_nor_modes(
    page: Page, example: Example
) -> None:
    required = (
        "contractVersion",
        "displayMode",
        "visibility",
        "theme",
        "refresh",
        "subscribe",
    )
    page.add_init_script(
        f"""let held;
        Object.defineProperty(window, "kasmosMonitorHost", {{
          get: () => held,
          set(host) {{
            held = Object.fromEntries({json.dumps(required)}.map((name) => [name, host[name]]));
            held.refresh = () => host.refresh({{ project: "alpha" }});
          }},
        }});"""
    )
    page.goto(f"{example.url}?displayMode=fullscreen")
    expect(page.locator("#root main.is-live")).to_be_visible(timeout=SOON_MS)
    expect(page.locator("#root .attention")).to_be_visible()
    assert page.locator("#root :is(.ask, .mode)").count() == 0


def test_a_host_that_throws_wherever_it_is_told_something_loses_nothing_else(
    page: Page, example: Example
) -> None:
    """A selection, the badge, a mode and the end: each is the host's affair once it is told."""
    page.add_init_script(
        """let held;
        window.told = new Set();
        const fails = (name) => () => { told.add(name); throw new Error("no"); };
        Object.defineProperty(window, "kasmosMonitorHost", {
          get: () => held,
          set(host) {
            host.subscribe = fails("subscribe");
            host.saveState = fails("saveState");
            host.requestDisplayMode = fails("requestDisplayMode");
            const later = fails("setBadge");
            host.setBadge = async () => later();
            held = host;
          },
        });"""
    )
    page.goto(f"{example.url}?project=alpha")
    expect(page.locator("#root main.is-live")).to_be_visible(timeout=SOON_MS)
    page.locator("select.task").select_option("bare")
    expect(page.locator("select.task")).to_have_value("bare")
    expect(page.locator("#root .taskline")).to_contain_text("no waves")
    page.get_by_role("button", name="show as sidebar").click()
    expect(page.locator("#root main.mode-inline")).to_be_visible()
    assert sorted(page.evaluate("() => [...told]")) == [
        "requestDisplayMode",
        "saveState",
        "setBadge",
        "subscribe",
    ]
    page.goto(f"{example.url}monitor.css")


def test_the_example_answers_its_own_page_alone(example: Example) -> None:
    address = example.url.removeprefix("http://").rstrip("/")

    def status(path: str, *, body: bytes | None = b"{}", **headers: str) -> int:
        link = http.client.HTTPConnection(address, timeout=10)
        try:
            link.request("GET" if body is None else "POST", path, body, headers)
            return link.getresponse().status
        finally:
            link.close()

    snapshot = "/v1/monitor/snapshot"
    assert status(snapshot, Origin=example.url.rstrip("/")) == 200
    assert status(snapshot) == 200
    for origin in ("https://example.invalid", "null", "http://127.0.0.1:7433"):
        assert status(snapshot, Origin=origin) == 403, origin
    assert status(snapshot, Host="example.invalid") == 403
    assert status(snapshot, Host="example.invalid", Origin="http://example.invalid") == 403
    assert status("/v1/widget-preview/open-monitor") == 400
    assert status(snapshot, body=b" " * 70_000) == 400
    for path in ("/serve.py", "/../serve.py", "/%2e%2e/README.md", "//etc/passwd"):
        assert status(path, body=None) == 404, path


@pytest.fixture
def site(bundle: Path) -> Iterator[str]:
    """The bundle's directory on a web server of the plainest kind."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(bundle)))
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join(timeout=5)
    server.server_close()


@pytest.mark.parametrize("place", ["http", "file"])
def test_the_bundle_asks_the_network_for_its_own_files_alone(
    page: Page, bundle: Path, site: str, place: str
) -> None:
    """The page's own policy holds, and nothing tries to leave it, whatever a person does."""
    base = site if place == "http" else bundle.as_uri()
    snapshot = (FIXTURES / "attention.json").read_text("utf-8")
    page.add_init_script(
        f"""window.violations = [];
        document.addEventListener("securitypolicyviolation", (e) => violations.push(e.blockedURI));
        window.asked = 0;
        window.tell = () => {{}};
        window.kasmosMonitorHost = {{
          contractVersion: 1, displayMode: "inline", visibility: "expanded", theme: "light",
          refresh: async () => {{ asked += 1; return {snapshot}; }},
          subscribe: (listener) => {{ tell = listener; return () => {{}}; }},
          saveState() {{}}, setBadge() {{}}, sendPrompt() {{}},
          requestDisplayMode(mode) {{ kasmosMonitorHost.displayMode = mode; tell(); }},
        }};"""
    )
    requests: set[str] = set()
    page.context.on("request", lambda request: requests.add(request.url))
    page.on("websocket", lambda socket: requests.add(socket.url))
    stop_clock(page)
    page.goto(f"{base}/index.html")
    for mode in ("pip", "fullscreen", "sidebar", "inline"):
        page.evaluate("(mode) => kasmosMonitorHost.requestDisplayMode(mode)", mode)
        expect(page.locator(f"main.mode-{mode}")).to_be_visible()
        # A button that has asked stands aside for a while.
        idle = page.locator("#root button.ask.is-idle")
        while idle.count():
            idle.first.click()
        page.clock.run_for(10_000)
    assert page.evaluate("() => asked") > 4
    assert page.evaluate("() => violations") == []
    assert requests == {f"{base}/{name}" for name in ("index.html", "monitor.js", "monitor.css")}
