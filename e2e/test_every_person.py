"""Every view in every state, for whoever reads it: by ear, by keyboard, large, in grey, calm.

What is compared are properties of the page, never pixels; a picture of each is kept in
`e2e/artifacts` for a person to look at.
"""

import copy
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]  # no stubs
from playwright.sync_api import Browser

from e2e.pane import MODES, NEVER, Pane, fixture, refusal

# Without `preload`, which would fetch the page's own style against its policy.
RULES = {
    "resultTypes": ["violations"],
    "rules": {"target-size": {"enabled": True}},
    "preload": False,
}

AGENTS = fixture("agents_3")
CHOICE = refusal("project_required", "Several projects are known.", "alpha", "beta")
STATES: dict[str, list[object]] = {
    "loading": [NEVER],
    "live": [AGENTS],
    "store_only": [fixture("no_daemon")],
    "stale": [AGENTS, None],
    "offline": [None],
    "incompatible": [AGENTS | {"schema_version": 3}],
    "store_error": [refusal("store_busy", "The store is busy.")],
    "choose_project": [CHOICE],
    "no_projects": [fixture("nothing")],
    "nothing_here": [fixture("empty")],
}
"""What the host answers, one after the other, to bring a state about."""


@pytest.fixture(scope="module")
def pane(browser: Browser, bundle: Path) -> Iterator[Pane]:
    """One page for every look."""
    pane = Pane(browser, bundle)
    yield pane
    pane.close()


def bring_about(pane: Pane, state: str, mode: str, **host: Any) -> None:
    """Mount the monitor in one of its states."""
    first, *more = STATES[state]
    pane.open(first, mode=mode, **host)
    for answer in more:
        pane.again(answer)
    assert pane.page.locator(f"#root main.mode-{mode}.is-{state}").count() == 1


def violations(pane: Pane) -> list[tuple[str, str]]:
    found = Axe().run(pane.page, options=RULES).response["violations"]
    return [(rule["id"], node["html"][:200]) for rule in found for node in rule["nodes"]]


@pytest.mark.parametrize("mode", MODES)
def test_axe_finds_nothing_in_any_state(pane: Pane, mode: str) -> None:
    found = {}
    for state in STATES:
        bring_about(pane, state, mode)
        for theme in ("light", "dark"):
            pane.set(theme=theme)
            found[state, theme] = violations(pane)
    assert found == {case: [] for case in found}


# Each drawn shape whose better colour (of filling and line) is below 3:1 on what lies behind it.
FAINT = """() => {
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const rgba = (color) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const over = ([r, g, b, a], under) =>
    [r, g, b].map((each, n) => (each * a + under[n] * (255 - a)) / 255);
  const behind = (node) => {
    if (!node) return over(rgba("Canvas"), [255, 255, 255]);
    const color = rgba(getComputedStyle(node).backgroundColor);
    return color[3] ? over(color, color[3] < 255 ? behind(node.parentElement) : [0, 0, 0])
      : behind(node.parentElement);
  };
  const light = (color) => {
    const [r, g, b] = color.map((each) => each / 255)
      .map((each) => each <= 0.04045 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ratio = (a, b) => {
    const [low, high] = [light(a), light(b)].toSorted((x, y) => x - y);
    return (high + 0.05) / (low + 0.05);
  };
  const faint = [];
  const shapes = document.querySelectorAll("#root svg :is(path, rect, circle, line, polyline)");
  for (const shape of shapes) {
    if (!shape.checkVisibility() || !shape.getBBox().width) continue;
    const { fill, stroke } = getComputedStyle(shape);
    const ground = behind(shape.parentElement);
    const best = Math.max(...[fill, stroke].filter((each) => each !== "none")
      .map((each) => ratio(over(rgba(each), ground), ground)));
    if (!(best >= 3)) faint.push([shape.parentElement.getAttribute("class"), best.toFixed(2)]);
  }
  return faint;
}"""

# A mark that no visible word stands beside.
WORDLESS = """() => [...document.querySelectorAll("#root svg.mark")]
  .filter((mark) => mark.checkVisibility() && !mark.parentElement.innerText.trim())
  .map((mark) => mark.parentElement.outerHTML.slice(0, 200))"""

# What moves, or would where something changed.
MOVING = """() => {
  const found = document.getAnimations().map((each) => String(each.animationName));
  for (const element of document.querySelectorAll("html, body, #root, #root *")) {
    for (const part of [null, "::before", "::after"]) {
      const { animationName: name, transitionDuration: times } = getComputedStyle(element, part);
      if (name !== "none" || times.split(", ").some((each) => each !== "0s")) {
        found.push(`${element.localName}.${element.className} ${part}`);
      }
    }
  }
  return found;
}"""

# What reaches out of the pane sideways, and controls that lie over one another or have no room.
CROWDED = """() => {
  const root = document.getElementById("root");
  const found = [root, document.documentElement]
    .filter((each) => each.scrollWidth - each.clientWidth > 1)
    .map((each) => `${each.localName} scrolls ${each.scrollWidth - each.clientWidth}px`);
  const edge = root.getBoundingClientRect();
  const boxes = [...root.querySelectorAll("button, select, summary, a")]
    .filter((each) => each.checkVisibility())
    .map((each) => [each, each.getBoundingClientRect()]);
  boxes.forEach(([each, box], index) => {
    const who = `${each.localName} ${each.ariaLabel ?? each.textContent.trim().slice(0, 30)}`;
    if (box.width < 20 || box.height < 20) found.push(`${who} is ${box.width}x${box.height}`);
    if (box.left < edge.left - 1 || box.right > edge.right + 1) found.push(`${who} is cut off`);
    for (const [, other] of boxes.slice(index + 1)) {
      const wide = Math.min(box.right, other.right) - Math.max(box.left, other.left);
      const high = Math.min(box.bottom, other.bottom) - Math.max(box.top, other.top);
      if (wide > 1 && high > 1) found.push(`${who} is overlapped by ${wide}x${high}`);
    }
  });
  return found;
}"""


@pytest.mark.parametrize("colors", ["none", "active"])
@pytest.mark.parametrize("mode", MODES)
def test_every_mark_stands_out_and_has_a_word(pane: Pane, mode: str, colors: Any) -> None:
    """Non-text contrast of 3:1 (WCAG 1.4.11), also in the system's own colours."""
    pane.page.emulate_media(forced_colors=colors)
    faint, wordless = {}, {}
    for state in STATES:
        bring_about(pane, state, mode)
        for theme in ("light", "dark"):
            pane.set(theme=theme)
            faint[state, theme] = pane.page.evaluate(FAINT)
        wordless[state] = pane.page.evaluate(WORDLESS)
        if colors == "active":
            pane.shoot(f"forced-colors-{mode}-{state}")
    pane.page.emulate_media(forced_colors="none")
    assert faint == {case: [] for case in faint}
    assert wordless == {case: [] for case in wordless}


def test_in_forced_colors_what_was_a_colour_is_a_line(pane: Pane) -> None:
    pane.page.emulate_media(forced_colors="active")
    bring_about(pane, "stale", "fullscreen")
    for part in ("#root .lifecycle li", "#root .banner", "#root button.ask"):
        for each in pane.page.locator(part).all():
            assert each.evaluate("(it) => parseFloat(getComputedStyle(it).borderTopWidth)") >= 1
    chosen = pane.page.locator("#root [aria-pressed=true]")
    assert chosen.evaluate("(it) => getComputedStyle(it).outlineStyle") == "solid"
    pane.page.emulate_media(forced_colors="none")


def test_without_colour_every_state_has_a_word_of_its_own(pane: Pane) -> None:
    """In grey, too, each state is told by its words, each kind of agent by shape and word."""
    for mode in MODES:
        told = {}
        for state in STATES:
            bring_about(pane, state, mode)
            pane.page.evaluate("() => { document.documentElement.style.filter = 'grayscale(1)'; }")
            pane.shoot(f"grey-{mode}-{state}")
            text = pane.page.locator("#root main").inner_text()
            told[state] = re.sub(r"\d+", "", text)
        assert len(set(told.values())) == len(STATES)
    everyone = fixture("agents_20")
    kinds: list[dict[str, object]] = [
        {"stage": "running", "active": True},
        {"stage": "ready", "active": True},
        {"stage": "loading", "active": True},
        {"active": True},
        {"active": True, "paused": True},
        {"health": "stale"},
        {"health": "unknown"},
    ]
    everyone["active_agents"] = [
        {"task": f"t{n}", "role": "coder"} | kind for n, kind in enumerate(kinds)
    ]
    pane.open(everyone, mode="fullscreen")
    pane.shoot("grey-agents")
    looks = pane.page.evaluate(
        """() => [...document.querySelectorAll("#root [data-list=agents] .c-state")].map((cell) => {
          const path = cell.querySelector(".mark path");
          const { fill, stroke, strokeDasharray: dashes } = getComputedStyle(path);
          const shape = [path.getAttribute("d"), fill === "none", stroke === "none", dashes];
          return [shape.join(), cell.innerText.trim()];
        })"""
    )
    shapes, words = zip(*looks, strict=True)
    assert len(set(shapes)) == len(set(words)) == len(kinds)


@pytest.mark.parametrize("mode", MODES)
def test_nothing_moves(pane: Pane, mode: str) -> None:
    pane.page.emulate_media(reduced_motion="reduce")
    moving = {}
    for state in STATES:
        bring_about(pane, state, mode)
        moving[state] = pane.page.evaluate(MOVING)
    pane.shoot(f"calm-{mode}")
    pane.page.emulate_media(reduced_motion="no-preference")
    assert moving == {state: [] for state in STATES}


@pytest.mark.parametrize("direction", ["ltr", "rtl"])
@pytest.mark.parametrize("mode", MODES)
def test_text_of_twice_the_size_has_room(pane: Pane, mode: str, direction: str) -> None:
    crowded = {}
    answers = {name: fixture(name) for name in ("attention", "cut", "projects")}
    # Mirrored, the same rules hold: one look at each kind of part is enough.
    states = STATES if direction == "ltr" else ("offline", "choose_project")
    for name, answer in {**answers, **{state: STATES[state][-1] for state in states}}.items():
        pane.open(answer, mode=mode)
        pane.page.evaluate(
            """(direction) => {
              document.documentElement.dir = direction;
              document.documentElement.style.fontSize = "200%";
            }""",
            direction,
        )
        for width in (240, 320, 420, 640, 960, 1280, 1600):
            pane.page.set_viewport_size({"width": width, "height": 900})
            if found := pane.page.evaluate(CROWDED):
                crowded[name, width] = found
            if name in ("attention", "offline") and width in (240, 640, 1600):
                pane.shoot(f"large-{direction}-{mode}-{name}-{width}")
    assert crowded == {}


def test_right_to_left_turns_the_page_and_the_dates(browser: Browser, bundle: Path) -> None:
    pane = Pane(browser, bundle, locale="ar-EG", timezone_id="Africa/Cairo")
    torn = {}
    for mode in MODES:
        pane.open(AGENTS, mode=mode)
        pane.page.evaluate("() => { document.documentElement.dir = 'rtl'; }")
        assert pane.page.evaluate(CROWDED) == []
        turned = pane.page.evaluate(
            """() => [...document.querySelectorAll("#root svg.mark")]
              .filter((mark) => mark.checkVisibility() && mark.nextElementSibling?.innerText)
              .filter((mark) => !mark.nextElementSibling.matches(".progress"))
              .every((mark) => mark.getBoundingClientRect().left + 1
                >= mark.nextElementSibling.getBoundingClientRect().right)"""
        )
        assert turned, mode
        pane.shoot(f"right-to-left-{mode}")
        torn[mode] = pane.page.evaluate(TORN)
    title = pane.page.locator("#root .attention time").first.get_attribute("title")
    assert title
    assert re.search(r"[\u0660-\u0669]", title), title
    outside = pane.page.evaluate(
        """(names) => {
          const main = document.querySelector("main");
          const walk = document.createTreeWalker(main, NodeFilter.SHOW_TEXT);
          const bare = [];
          for (let node = walk.nextNode(); node; node = walk.nextNode()) {
            const isKept = node.parentElement.closest("bdi, [dir=auto]");
            if (!isKept && names.some((name) => node.data.includes(name))) bare.push(node.data);
          }
          return bare;
        }""",
        [task["filename"] for task in AGENTS["tasks"]],
    )
    assert outside == []
    assert torn == {mode: [] for mode in MODES}
    pane.close()


# English that begins with a number, and whose number stands after its words: "active 5".
TORN = """() => {
  const walk = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
  const torn = [];
  for (let node = walk.nextNode(); node; node = walk.nextNode()) {
    const found = /^\\s*(\\d+)\\s+[a-z]/.exec(node.data);
    if (!found || !node.parentElement.checkVisibility()) continue;
    const place = (at) => {
      const range = document.createRange();
      range.setStart(node, at);
      range.setEnd(node, at + 1);
      return range.getBoundingClientRect();
    };
    const [digit, letter] = [place(found[0].indexOf(found[1])), place(found[0].length - 1)];
    if (digit.top === letter.top && digit.left > letter.left) torn.push(node.data.trim());
  }
  return torn;
}"""


WALK = """() => {
  const it = document.activeElement;
  if (!document.getElementById("root").contains(it)) return null;
  const text = it.innerText.replace(/\\s+/g, " ").trim();
  const row = it.closest("[data-list=tasks] [data-key]");
  // Of a row's long name: what it begins with.
  if (row) return `task ${text.startsWith(row.dataset.key) ? row.dataset.key : text}`;
  return `${it.localName} ${it.ariaLabel ?? text}`;
}"""
BUTTONS = {
    "pip": ["button show as fullscreen"],
    "inline": [f"button show as {mode}" for mode in ("pip", "fullscreen", "sidebar")],
    "fullscreen": [f"button show as {mode}" for mode in ("pip", "inline", "sidebar")],
    "sidebar": [f"button show as {mode}" for mode in ("pip", "inline", "fullscreen")],
}
LOOKS = [f"button look: {task}" for task in ("auth-rework", "billing-export", "api-cleanup")]
WHOLE = [
    "summary attention 3",
    *LOOKS,
    "summary tasks 5 active",
    *(f"task {task['filename']}" for task in AGENTS["tasks"]),
    "summary focus",
    "select task",
    "button start wave 3: auth-rework",
    "summary agents 2 running · 1 ready",
    "summary events",
]
RETRY = "button retry now"
STOPS: dict[tuple[str, str], list[str]] = {
    ("pip", "live"): [],
    ("pip", "offline"): [RETRY],
    ("pip", "choose_project"): ["select project"],
    ("inline", "live"): [*LOOKS, "select task", "button start wave 3: auth-rework"],
    ("inline", "stale"): [RETRY, *LOOKS, "select task", "button start wave 3: auth-rework"],
    ("inline", "choose_project"): ["button alpha", "button beta"],
    ("fullscreen", "live"): WHOLE,
    ("fullscreen", "stale"): [RETRY, *WHOLE],
    ("fullscreen", "store_error"): [RETRY],
    ("fullscreen", "no_projects"): [],
    ("sidebar", "live"): WHOLE,
    ("sidebar", "loading"): [],
    ("sidebar", "incompatible"): [RETRY],
}


@pytest.mark.parametrize(("mode", "state"), STOPS)
def test_the_keyboard_reaches_everything_in_order(pane: Pane, mode: str, state: str) -> None:
    """Forwards by Tab, each stop seen where it is, and the same way back."""
    bring_about(pane, state, mode)
    expected = [*BUTTONS[mode], *STOPS[mode, state]]
    press, look = pane.page.keyboard.press, pane.page.evaluate
    walked = []
    for _ in expected:
        press("Tab")
        walked.append(look(WALK))
        assert look("() => getComputedStyle(document.activeElement).outlineStyle") == "solid"
        assert look("() => document.activeElement.checkVisibility()")
    assert walked == expected
    focusable = "#root :is(button, select, summary, a[href], [tabindex])"
    seen = f"() => [...document.querySelectorAll('{focusable}')].filter(it => it.checkVisibility())"
    assert look(f"{seen}.length") == len(expected)
    back = []
    for _ in expected[1:]:
        press("Shift+Tab")
        back.append(look(WALK))
    assert back == expected[-2::-1]


def test_enter_and_space_act_and_escape_does_nothing(pane: Pane) -> None:
    bring_about(pane, "live", "fullscreen")
    page = pane.page

    def press(key: str, *, on: str) -> None:
        page.locator(on).first.focus()
        page.keyboard.press(key)
        page.evaluate("() => pane.drawn()")

    for key, prompts in (("Enter", 1), ("Space", 2)):
        press(key, on="#root .attention .ask.is-idle")
        assert page.evaluate("() => pane.prompts.length") == prompts
        # Its button says so, and keeps the focus.
        assert page.evaluate("() => document.activeElement.className").startswith("ask is-sent")
        assert page.evaluate("() => document.activeElement.getAttribute('aria-disabled')") == "true"
    for key, is_open in (("Enter", False), ("Space", True)):
        press(key, on="#root .on-agents > summary")
        page.wait_for_function(
            f"() => document.querySelector('.on-agents').open === {str(is_open).lower()}"
        )
    for key, task in (("Enter", "billing-export"), ("Space", "docs-refresh")):
        press(key, on=f"#root .tasks [data-key={task}] button")
        assert page.locator("#root [aria-pressed=true]").inner_text().startswith(task)
    before = page.locator("#root").inner_html()
    for _ in range(2):
        page.keyboard.press("Escape")
    page.evaluate("() => pane.drawn()")
    assert page.locator("#root").inner_html() == before
    assert page.evaluate(WALK) == "task docs-refresh"
    press("Enter", on="#root .mode.to-sidebar")
    assert page.locator("#root main.mode-sidebar").count() == 1
    pane.again(None)
    asked = page.evaluate("() => pane.asked")
    press("Enter", on="#root .retry")
    assert page.evaluate("() => pane.asked") == asked + 1


@pytest.fixture
def still(browser: Browser, bundle: Path) -> Iterator[Pane]:
    """A page whose clock stands: what it asks, it asks when a test lets time pass."""
    pane = Pane(browser, bundle)
    pane.page.clock.install(time="2030-01-01T00:00:00Z")
    pane.page.clock.pause_at("2030-01-01T00:00:01Z")
    yield pane
    pane.close()


def poll(pane: Pane, answer: object) -> None:
    """Let two seconds pass, in which the monitor polls once, and show the answer."""
    pane.put(answer)
    before = pane.page.evaluate("() => pane.settled")
    pane.page.clock.run_for(2_000)
    pane.page.evaluate("() => pane.drawn()")
    assert pane.page.evaluate("() => pane.settled") == before + 1


def moved(update: int) -> dict[str, Any]:
    """Return a snapshot in which everything but who waits differs from the one before."""
    snapshot: dict[str, Any] = copy.deepcopy(AGENTS)
    snapshot["generated_at"] = f"2030-01-01T{update // 60:02}:{update % 60:02}:00Z"
    for number, task in enumerate(snapshot["tasks"]):
        task["subtasks_done"] = (update + number) % (task["subtasks_total"] + 1)
    snapshot["active_agents"] = [
        agent | {"id": f"a{(update + n) % 5}", "stage": ("running", "ready")[(update + n) % 2]}
        for n, agent in enumerate(snapshot["active_agents"])
    ]
    new = {"at": snapshot["generated_at"], "kind": "subtask_done", "message": f"update {update}"}
    snapshot["events"] = [new, *snapshot["events"][: 5 + update % 5]]
    return snapshot


def test_focus_scroll_and_sections_outlive_two_hundred_updates(still: Pane) -> None:
    page = still.page
    still.open(moved(0), mode="fullscreen")
    page.set_viewport_size({"width": 700, "height": 400})
    for closed in ("agents", "attention"):
        page.locator(f".on-{closed} > summary").click()
    kept = AGENTS["tasks"][3]["filename"]
    page.locator(f".tasks [data-key={kept}] button").focus()
    page.evaluate(
        """() => {
          window.held = document.activeElement;
          window.scrollTo(0, 150);
        }"""
    )
    place = "() => [scrollY, held.getBoundingClientRect().top]"
    before = page.evaluate(place)
    assert before[0] == 150
    for update in range(1, 201):
        poll(still, moved(update))
        assert page.evaluate("() => document.activeElement === held"), update
        assert page.evaluate(place) == before, update
    assert page.locator(".events").inner_text().count("update 200") == 1
    folded = "() => [...document.querySelectorAll('details')].map((it) => [it.className, it.open])"
    assert page.evaluate(folded) == [
        [f"section on-{name}", name not in ("agents", "attention")]
        for name in ("attention", "tasks", "focus", "agents", "events")
    ]


def test_scroll_in_a_low_inline_pane_outlives_updates(still: Pane) -> None:
    still.open(moved(0), mode="inline", maxHeight=120)
    page = still.page
    page.evaluate("() => { document.getElementById('root').scrollTop = 60; }")
    for update in range(1, 21):
        still.put(moved(update))
        page.clock.run_for(3_000)
        page.evaluate("() => pane.drawn()")
        assert page.evaluate("() => document.getElementById('root').scrollTop") == 60


@pytest.mark.parametrize("row", [0, 2, 4])
def test_the_neighbour_has_the_focus_when_a_row_goes(pane: Pane, row: int) -> None:
    """The row that takes its place, or the last one."""
    bring_about(pane, "live", "fullscreen")
    tasks = AGENTS["tasks"]
    pane.page.locator(".tasks button").nth(row).focus()
    left = [task for n, task in enumerate(tasks) if n != row]
    pane.again(AGENTS | {"tasks": left})
    assert pane.page.evaluate(WALK) == f"task {left[min(row, 3)]['filename']}"
    pane.again(AGENTS | {"tasks": []})
    assert pane.page.evaluate(WALK) == "summary tasks 5 active"


def test_only_new_attention_is_said_aloud(pane: Pane) -> None:
    """Fifty updates in which everything moves; only those that newly wait are told, once each."""
    pane.open(moved(0), mode="fullscreen")
    waiting: list[dict[str, object]] = list(AGENTS["attention"])
    for update in range(1, 51):
        since = f"2030-01-01T00:{update:02}:00Z"
        if update in (10, 40):
            waiting.append({"task": f"t{update}", "kind": "needs_decision", "since": since})
        if update == 20:
            waiting = waiting[1:]
        if update == 30:
            both: dict[str, object] = {"kind": "review_feedback", "since": since}
            waiting += [both | {"task": "x"}, both | {"task": "y"}]
        pane.again(moved(update) | {"attention": waiting})
        if update in (5, 25, 45):
            pane.again(None)
    assert pane.page.evaluate("() => pane.spoken.filter((each) => each)") == [
        "t10 needs a decision",
        "2 more wait for you, first x has review feedback",
        "t40 needs a decision",
    ]
    told = pane.page.evaluate("() => pane.spoken.length")
    # What waits once more, in the same words, is new once more.
    again = {"task": "t40", "kind": "needs_decision", "since": "2030-01-01T00:51:00Z"}
    pane.again(moved(51) | {"attention": [again]})
    assert pane.page.evaluate("() => pane.spoken.at(-1).trim()") == "t40 needs a decision"
    assert pane.page.evaluate("() => pane.spoken.length") == told + 1
    region = pane.page.locator("#root [aria-live]")
    assert region.count() == 1
    assert region.get_attribute("aria-live") == "polite"
