import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Scope } from "../src/contract/host";
import type { Badge } from "../src/contract/live_status.gen";
import type { Host } from "../src/host/host";
import { injectedHost } from "../src/host/injected";
import { mount } from "../src/mount";
import { browserClock } from "../src/poll/clock";
import { render } from "../src/views/html";
import { fixture } from "./fixtures";

/** A host as a page would write one, with everything that the monitor did to it. */
class FakeHost {
  contractVersion = 1;
  displayMode = "fullscreen";
  visibility = "expanded";
  theme = "light";
  snapshot: unknown = undefined;
  answer: () => unknown = () => fixture("agents_3");
  accepts = true;
  readonly asked: Scope[] = [];
  readonly sent: string[] = [];
  readonly saved: Scope[] = [];
  readonly badges: Badge[] = [];
  readonly modes: string[] = [];
  readonly listeners = new Set<() => void>();

  refresh(scope: Scope): Promise<unknown> {
    this.asked.push(scope);
    return Promise.resolve().then(() => this.answer());
  }
  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }
  sendPrompt(text: string): Promise<void> {
    this.sent.push(text);
    return this.accepts ? Promise.resolve() : Promise.reject(new Error("no"));
  }
  saveState(scope: Scope): void {
    this.saved.push(scope);
  }
  setBadge(badge: Badge): void {
    this.badges.push(badge);
  }
  requestDisplayMode(mode: string): void {
    this.modes.push(mode);
  }
  async set(change: Partial<FakeHost>): Promise<void> {
    Object.assign(this, change);
    for (const listener of this.listeners) listener();
    await pass(0);
  }
}

vi.mock("../src/views/html", { spy: true });

let host: FakeHost;
let root: HTMLElement;
let unmount: () => void;

async function pass(ms: number): Promise<void> {
  await vi.advanceTimersByTimeAsync(ms);
}

async function open(change: Partial<FakeHost> = {}): Promise<void> {
  host = Object.assign(new FakeHost(), change);
  unmount = mount(root, injectedHost(host), browserClock);
  await pass(0);
}

function all(selector: string): readonly HTMLElement[] {
  return [...root.querySelectorAll<HTMLElement>(selector)];
}

function one(selector: string): HTMLElement {
  const found = root.querySelector<HTMLElement>(selector);
  if (!found) throw new Error(`nothing matches ${selector}`);
  return found;
}

function text(selector = ".pane"): string {
  return one(selector).textContent.replace(/\s+/g, " ").trim();
}

beforeEach(() => {
  vi.useFakeTimers();
  document.body.replaceChildren();
  root = document.body.appendChild(document.createElement("div"));
  root.id = "root";
});
afterEach(() => {
  unmount();
  vi.useRealTimers();
});

describe("the four views", () => {
  test.each(["pip", "inline", "fullscreen", "sidebar"])("%s shows what waits and how far tasks are", async (displayMode) => {
    await open({ displayMode });
    expect(all(".lifecycle li").map((each) => each.textContent.replace(/\D/g, ""))).toEqual(["0", "0", "3", "1", "1"]);
    expect(text()).toMatch(displayMode === "pip" ? /3 wait for you/ : /auth-rework needs a decision/);
    expect(text()).toContain("5/8");
  });

  test.each(["fullscreen", "sidebar"])("%s shows agents, waves and events", async (displayMode) => {
    await open({ displayMode });
    expect(all("tbody tr").map((row) => [...row.children].map((cell) => cell.textContent.replace(/\s+/g, " ").trim()))).toEqual([
      ["running 30s", "coder (codex)", "api-cleanup", "w1 #1", "1s", "plan/api-cleanup", "api-cleanup-w1"],
      ["running 47s", "coder (claude)", "auth-rework", "w2 #2", "4s", "plan/auth-rework", "auth-rework-w2"],
      ["ready 1m", "reviewer (opencode)", "billing-export", "", "7s", "plan/billing-export", "billing-export-w3"],
    ]);
    expect(all(".subtasks > li").length).toBe(8);
    expect(all(".events > li").length).toBe(12);
  });

  test("what was cut off is counted", async () => {
    await open({ answer: () => fixture("attention") });
    expect(all(".more").map((each) => each.textContent)).toContain("and 13 more");
  });

  test.each(["pip", "inline", "fullscreen", "sidebar"])("%s never says none or 0 of agents that nobody sees", async (displayMode) => {
    await open({ displayMode, answer: () => fixture("no_daemon") });
    expect(text()).toContain("agents unknown");
    expect(text()).not.toMatch(/no agents|0 running|none/);
  });

  test("a plan without waves is no waves, never complete", async () => {
    host = new FakeHost();
    Object.assign(host, { answer: () => fixture("no_waves"), state: { project: "demo", task: "docs-refresh" } });
    unmount = mount(root, injectedHost(host), browserClock);
    await pass(0);
    expect(text(".focus")).toContain("no waves in the plan");
    expect(text(".focus")).not.toMatch(/complete|done/);
  });
});

test("names are text in every field and make no elements (D11)", async () => {
  for (const displayMode of ["pip", "inline", "fullscreen", "sidebar"]) {
    await open({ displayMode, answer: () => fixture("hostile") });
    expect(all("script, img")).toEqual([]);
    expect(all("a[href^='javascript']")).toEqual([]);
    expect(text()).toContain("</script><script>alert(1)");
    unmount();
  }
});

test("an unchanged snapshot changes nothing on the page (E5)", async () => {
  await open();
  const seen: MutationRecord[] = [];
  const observer = new MutationObserver((records) => seen.push(...records));
  observer.observe(root, { subtree: true, childList: true, attributes: true, characterData: true });
  await pass(4000);
  seen.push(...observer.takeRecords());
  observer.disconnect();
  // Ages and sparks go on; nothing else does.
  const others = seen.filter(({ target }) => (target instanceof Element ? target : target.parentElement)?.closest("time, .c-last") == null);
  expect([host.asked.length, others.length]).toEqual([3, 0]);
});

test("ages go on once a second without an answer, and not at all while hidden", async () => {
  await open();
  const drawn = vi.mocked(render).mockClear();
  host.answer = () => new Promise(() => undefined);
  const age = (): string | undefined => all(".events .age")[0]?.textContent.trim();
  expect(age()).toBe("2s");
  await pass(8500);
  expect([age(), text(".fresh")]).toEqual(["10s", "live · 8s"]);
  expect(drawn.mock.calls.length).toBeLessThanOrEqual(9);
  await host.set({ visibility: "hidden" });
  drawn.mockClear();
  await pass(60_000);
  // What was under way is given up once.
  expect(drawn.mock.calls.length).toBeLessThanOrEqual(1);
  host.answer = () => fixture("agents_3", { generated_at: "2099-01-01T00:00:00Z" });
  await host.set({ visibility: "expanded" });
  await pass(8000);
  expect(text(".attention .age")).toMatch(/^\d+d$/);
});

describe("a keyboard user's place (E5)", () => {
  test("stays on its row when rows come before it", async () => {
    await open({ answer: () => fixture("agents_3", { attention: fixture("agents_3").attention.slice(1) }) });
    const button = one(".attention button");
    button.focus();
    host.answer = () => fixture("agents_3");
    await pass(2000);
    expect(document.activeElement).toBe(button);
    expect(all(".attention > li").indexOf(button.closest("li") ?? root)).toBe(1);
  });

  test("goes to the neighbour when its row goes", async () => {
    await open();
    all(".attention button")[0]?.focus();
    host.answer = () => fixture("agents_3", { attention: fixture("agents_3").attention.slice(1) });
    await pass(2000);
    expect(document.activeElement?.closest("li")?.textContent).toContain("billing-export");
  });

  test("folded sections stay folded over updates and modes", async () => {
    await open();
    const details = root.querySelector<HTMLDetailsElement>("details.on-events");
    if (!details) throw new Error("no events section");
    details.open = false;
    details.dispatchEvent(new Event("toggle"));
    await pass(2000);
    await host.set({ displayMode: "pip" });
    await host.set({ displayMode: "sidebar" });
    expect(root.querySelector<HTMLDetailsElement>("details.on-events")?.open).toBe(false);
  });
});

describe("actions are messages", () => {
  test("that say that they were sent, and are not sent twice", async () => {
    await open();
    const button = one(".attention button");
    button.click();
    button.click();
    await pass(0);
    expect(host.sent.length).toBe(1);
    expect(host.sent[0]).toMatch(/^Please look at this blocker in kasmos: task "auth-rework" of project "demo"/);
    expect(button.textContent.trim()).toBe("asked in the conversation");
  });

  test("whose refusal is shown, and which may then be tried again", async () => {
    await open({ accepts: false });
    const button = one(".focusline button");
    button.click();
    await pass(0);
    expect(button.textContent.trim()).toBe("refused · try again");
    button.click();
    expect(host.sent.length).toBe(2);
  });

  test("and are absent where the host cannot send", async () => {
    host = new FakeHost();
    Object.assign(host, { sendPrompt: undefined });
    unmount = mount(root, injectedHost(host), browserClock);
    await pass(0);
    expect(all(".ask")).toEqual([]);
  });
});

describe("the selection", () => {
  test("is all that is kept, and asks at once", async () => {
    await open({ answer: () => fixture("projects") });
    const select = root.querySelector<HTMLSelectElement>("select.project");
    if (!select) throw new Error("no project selector");
    select.value = "kasmos";
    select.dispatchEvent(new Event("change"));
    await pass(0);
    expect(host.saved).toEqual([{ project: "kasmos" }]);
    expect(host.asked.at(-1)).toEqual({ project: "kasmos" });
  });

  test("can be made where the server names several projects", async () => {
    const message = "Several projects are known";
    await open({
      answer: () => ({
        isError: true,
        _meta: { "kasmos/error": { code: "project_required", message }, "kasmos/projects": ["a", "b"] },
      }),
    });
    all(".choices button")[1]?.click();
    await pass(0);
    expect(host.asked.at(-1)).toEqual({ project: "b" });
  });

  test("of a task brings it into focus", async () => {
    await open();
    all(".tasks button")[0]?.click();
    await pass(0);
    expect(host.saved).toEqual([{ project: "demo", task: "api-cleanup" }]);
    expect(text(".focus .title")).toBe("api-cleanup");
    expect(text(".focus")).toContain("its waves are on the way");
  });
});

describe("trouble", () => {
  test("keeps the last good snapshot and says how old it is", async () => {
    await open();
    host.answer = () => Promise.reject(new Error("gone"));
    await pass(12_000);
    expect(text(".fresh")).toMatch(/^stale · 1[12]s$/);
    expect(text(".banner")).toMatch(/^cannot reach kas serve, showing what was known 1[12]s ago · retrying in \d+s retry now$/);
    expect(all(".attention > li").length).toBe(3);
    host.answer = () => fixture("agents_3");
    one(".retry").click();
    await pass(0);
    expect(text(".fresh")).toBe("live");
  });

  test("with another host contract is said, and nothing is asked", async () => {
    await open({ contractVersion: 2 });
    await pass(60_000);
    expect(text(".card")).toMatch(/incompatible the host offers version 2/);
    expect(host.asked).toEqual([]);
  });
});

test("there is one polite live region from the start, and it announces only new attention", async () => {
  await open({ answer: () => fixture("agents_3", { attention: [] }) });
  const regions = all("[aria-live]");
  expect(regions.map((each) => [each.getAttribute("aria-live"), each.textContent])).toEqual([["polite", ""]]);
  host.answer = () => fixture("agents_3");
  await pass(2000);
  expect(all("[aria-live]")).toEqual(regions);
  expect(regions[0]?.textContent).toBe("3 more wait for you, first auth-rework needs a decision");
});

test("the badge is sent when it changes, and not before the first answer", async () => {
  await open({ answer: () => new Promise(() => undefined) });
  expect(host.badges).toEqual([]);
  unmount();
  await open();
  await pass(6000);
  expect(host.badges.map(({ level }) => level)).toEqual(["attention"]);
});

test("the theme is the host's, also when it changes", async () => {
  await open({ theme: "dark" });
  expect(document.documentElement.dataset["theme"]).toBe("dark");
  await host.set({ theme: "light" });
  expect(document.documentElement.dataset["theme"]).toBe("light");
});

describe("a host that is found out about later", () => {
  let refreshed: Scope[];
  let told: () => void;
  let late: { -readonly [K in keyof Host]: Host[K] };

  beforeEach(() => {
    refreshed = [];
    told = () => undefined;
    late = {
      ...injectedHost(new FakeHost()),
      name: "mcp_apps",
      isReady: false,
      subscribe(listener) {
        told = listener;
        return () => undefined;
      },
      refresh(scope) {
        refreshed.push(scope);
        return Promise.resolve(fixture("agents_3"));
      },
    };
  });

  async function change(facts: Partial<Host>): Promise<void> {
    Object.assign(late, facts);
    told();
    await pass(0);
  }

  test("is asked once, when it is ready, for what the tool was called with", async () => {
    unmount = mount(root, late, browserClock);
    await pass(4000);
    expect([refreshed, text(".card")]).toEqual([[], expect.stringContaining("waiting for the host")]);
    await change({ isReady: true, scope: { project: "demo", task: "api-cleanup" } });
    await change({ pushed: () => fixture("agents_3") });
    expect(refreshed).toEqual([{ project: "demo", task: "api-cleanup" }]);
    await pass(2000);
    expect(refreshed.length).toBe(2);
  });

  test("may turn out to be none, and then one after all", async () => {
    unmount = mount(root, late, browserClock);
    await change({ problem: "no host answers here" });
    await pass(60_000);
    expect(refreshed).toEqual([]);
    expect(text(".card")).toContain("offline no host answers here · open the monitor in a browser kas monitor open");
    await change({ problem: null, isReady: true });
    expect([refreshed, text(".fresh")]).toEqual([[{}], "live"]);
  });

  test("never changes what a person chose", async () => {
    await change({ isReady: true });
    unmount = mount(root, late, browserClock);
    await pass(0);
    all(".tasks button")[0]?.click();
    await change({ scope: { project: "other" } });
    await pass(2000);
    expect(refreshed.at(-1)).toEqual({ project: "demo", task: "api-cleanup" });
  });

  test("changes the modes that can be asked for", async () => {
    await change({ isReady: true, modes: ["inline"] });
    unmount = mount(root, late, browserClock);
    await pass(0);
    const labels = (): readonly (string | null)[] => all(".mode").map((each) => each.getAttribute("aria-label"));
    expect(labels()).toEqual(["show as inline"]);
    await change({ modes: ["pip", "inline"] });
    expect(labels()).toEqual(["show as pip", "show as inline"]);
  });

  test("dresses the page while it says how, and leaves nothing of what it no longer says", async () => {
    await change({ isReady: true, variables: { "--color-text-primary": "#123", "--font-sans": "Inter" } });
    unmount = mount(root, late, browserClock);
    const { style } = document.documentElement;
    expect(style.getPropertyValue("--color-text-primary")).toBe("#123");
    const said = late.environment();
    await change({ variables: { "--font-sans": "Lato" }, environment: () => ({ ...said, insets: "1px 2px 3px 4px" }) });
    expect([style.getPropertyValue("--color-text-primary"), style.getPropertyValue("--font-sans")]).toEqual(["", "Lato"]);
    expect(root.style.padding).toBe("1px 2px 3px 4px");
  });

  test("ends the monitor", async () => {
    let end = (): void => undefined;
    await change({ isReady: true, onEnd: (given) => (end = given) });
    unmount = mount(root, late, browserClock);
    await pass(0);
    end();
    await pass(60_000);
    expect([refreshed.length, root.textContent, vi.getTimerCount()]).toEqual([1, "", 0]);
  });

  test("opens the links that it takes", async () => {
    const openLink = vi.fn(() => true);
    const tasks = fixture("reviewing").tasks?.map((task) => ({ ...task, pr_url: "https://a.example/1" })) ?? [];
    const answer = Promise.resolve(fixture("reviewing", { tasks }));
    await change({ isReady: true, openLink, refresh: () => answer });
    unmount = mount(root, late, browserClock);
    await pass(0);
    const click = new Event("click", { bubbles: true, cancelable: true });
    one("a[href]").dispatchEvent(click);
    expect([openLink.mock.calls, click.defaultPrevented]).toEqual([[["https://a.example/1"]], true]);
    openLink.mockReturnValue(false);
    const other = new Event("click", { bubbles: true, cancelable: true });
    one("a[href]").dispatchEvent(other);
    expect(other.defaultPrevented).toBe(false);
  });
});

test("a page written anew ends the monitor that it held, without an event", async () => {
  await open();
  document.body.replaceChildren();
  await pass(60_000);
  expect([host.asked.length, host.listeners.size, vi.getTimerCount()]).toEqual([1, 0, 0]);
});

test("unmounting leaves no timer, no listener and no content", async () => {
  await open();
  unmount();
  expect([vi.getTimerCount(), host.listeners.size, root.textContent]).toEqual([0, 0, ""]);
});
