import { describe, expect, test } from "vitest";
import type { LiveStatus, Notice } from "../../src/contract/live_status.gen";
import { agentsLine, areAgentsKnown, runningLine } from "../../src/state/agents";
import { badge } from "../../src/state/badge";
import { derive, layout } from "../../src/state/derive";
import { asking } from "../../src/state/focus";
import { reduce } from "../../src/state/reducer";
import { situation } from "../../src/state/situation";
import type { Action, Problem, State } from "../../src/state/state";
import { initialState } from "../../src/state/state";
import { age, keyed } from "../../src/state/words";
import { fixture } from "../fixtures";

const HOST = { name: "injected", problem: null, isReady: true, modes: [], canSend: true };
const PANE = { mode: "fullscreen", visibility: "expanded", theme: null, maxHeight: null, insets: "", locale: null, timeZone: null } as const;
const FRESH = initialState(HOST, PANE, {});

function after(...actions: readonly Action[]): State {
  return actions.reduce(reduce, FRESH);
}

function polled(snapshot: LiveStatus, at = 0): Action {
  return { type: "snapshot", snapshot, at, isPolled: true };
}

function failed(problem: Problem = { kind: "unreachable" }): Action {
  return { type: "failure", problem };
}

function storeError(code: string, projects: readonly string[] = []): Action {
  return failed({ kind: "error", code, message: "what went wrong", projects });
}

describe("every state is told apart", () => {
  const states: readonly (readonly [string, State])[] = [
    ["loading", FRESH],
    ["live", after(polled(fixture("agents_3")))],
    ["opened", after({ type: "snapshot", snapshot: fixture("agents_3"), at: 0, isPolled: false })],
    ["store_only", after(polled(fixture("no_daemon")))],
    ["stale", after(polled(fixture("agents_3")), failed())],
    ["offline", after(failed())],
    ["incompatible", after(failed({ kind: "incompatible", found: "3" }))],
    ["store_error", after(storeError("store_too_new"))],
    ["choose_project", after(storeError("project_required", ["a", "b"]))],
    ["no_projects", after(polled(fixture("nothing")))],
    ["nothing_here", after(polled(fixture("empty")))],
  ];

  test.each(states)("%s", (kind, state) => {
    expect(situation(state, 0).kind).toBe(kind);
  });

  test("by its words too", () => {
    const words = states.map(([, state]) => {
      const { label, title, text } = situation(state, 0);
      return [label, title, text].join("|");
    });
    expect(new Set(words).size).toBe(states.length);
  });
});

test("a stale pane says how old it is, why, and when it tries again", () => {
  const state = after(polled(fixture("agents_3"), 1000), failed(), { type: "schedule", at: 50_000 });
  expect(situation(state, 42_000)).toMatchObject({
    label: "stale · 41s",
    text: "cannot reach kas serve, showing what was known 41s ago · retrying in 8s",
    canRetry: true,
  });
});

test("without a host the pane says what to do, and a host that is not understood is named", () => {
  const none = initialState({ ...HOST, name: "none", problem: "no host answers here" }, PANE, {});
  expect(situation(none, 0)).toMatchObject({ kind: "offline", command: "kas monitor open" });
  const silent = initialState({ ...HOST, name: "mcp_apps", problem: "no host answers here" }, PANE, {});
  expect(situation(silent, 0)).toEqual(situation(none, 0));
  const odd = initialState({ ...HOST, problem: "version 2" }, PANE, {});
  expect(situation(odd, 0).kind).toBe("incompatible");
});

describe("agents that nobody sees are unknown, never none", () => {
  const codes: readonly Notice["code"][] = ["daemon_unreachable", "daemon_incompatible", "daemon_other_store"];
  const unseen: readonly (readonly [string, LiveStatus])[] = [
    ["without the daemon", fixture("empty", { daemon_running: false })],
    ...codes.map((code) => [code, fixture("agents_3", { notices: [{ code, message: "" }] })] as const),
  ];

  test.each(unseen)("%s", (_, status) => {
    expect(areAgentsKnown(status)).toBe(false);
    expect([agentsLine(status), runningLine(status)]).toEqual(["agents unknown", "agents unknown"]);
    expect(badge(after(polled(status)))).toMatchObject({ level: "offline", running_agents: 0 });
  });

  test("but a slow daemon's last word is shown", () => {
    expect(areAgentsKnown(fixture("slow_daemon"))).toBe(true);
  });
});

test("agents are counted by what is known of each, and the rest as more", () => {
  expect(agentsLine(fixture("cut"))).toBe(
    "6 running · 3 ready · 3 loading · 3 quiet · 3 paused · 1 needs a look · 1 unknown · 7 more",
  );
  expect(runningLine(fixture("cut"))).toBe("6 running of 27");
  expect(agentsLine(fixture("empty"))).toBe("no agents");
});

describe("the badge", () => {
  test("is silent before the first answer", () => {
    expect(badge(FRESH)).toBe(null);
    expect(badge(after({ type: "snapshot", snapshot: fixture("cut"), at: 0, isPolled: false }))).toBe(null);
  });

  test("counts what was cut off, and puts offline before attention before running before idle", () => {
    expect(badge(after(polled(fixture("cut"))))).toEqual({
      level: "attention",
      running_agents: 13,
      blocked: 5,
      implementing: 7,
      reviewing: 5,
      project: "demo",
    });
    expect(badge(after(polled(fixture("cut")), failed()))?.level).toBe("offline");
    expect(badge(after(polled(fixture("cut", { attention: [], truncated: {} }))))?.level).toBe("running");
    expect(badge(after(polled(fixture("empty"))))?.level).toBe("idle");
  });
});

describe("the task in focus", () => {
  test("is the one that most needs a look until a person chooses", () => {
    const state = after(polled(fixture("agents_3")));
    expect(asking(state)).toEqual({ task: "auth-rework" });
    const chosen = reduce(state, { type: "scope", scope: { project: "demo", task: "docs-refresh.md " } });
    expect(asking(chosen)).toEqual({ project: "demo", task: "docs-refresh.md " });
    expect(derive(chosen, 0).focus).toMatchObject({ filename: "docs-refresh", isChosen: true, detail: null });
  });

  test("stays while it is listed, however attention moves", () => {
    const first = fixture("agents_3");
    const state = after(polled(first), polled({ ...first, attention: [...first.attention].reverse() }));
    expect(state.followed).toBe("auth-rework");
  });

  test("is not asked for by the rail", () => {
    const state = after(polled(fixture("agents_3")), { type: "pane", pane: { ...PANE, mode: "pip" }, host: HOST });
    expect(asking(state)).toEqual({});
  });

  test("may start the wave after the one that waits, or the first of a plan", () => {
    const focus = derive(after(polled(fixture("agents_3"))), 0).focus;
    expect(focus?.ask?.label).toBe("start wave 3");
    const last = fixture("agents_3").tasks?.map((task) => ({ ...task, active_wave: 3 })) ?? [];
    expect(derive(after(polled(fixture("agents_3", { tasks: last }))), 0).focus?.ask).toBe(null);
  });

  test("may approve the review only while it is reviewed", () => {
    const scope = { project: "demo", task: "codex-live-monitor-ui" };
    const state = after({ type: "scope", scope }, polled(fixture("reviewing")));
    expect(derive(state, 0).focus?.ask?.label).toBe("approve review");
    const planning = after({ type: "scope", scope: { task: "docs-refresh" } }, polled(fixture("no_waves")));
    expect(derive(planning, 0).focus?.ask).toBe(null);
  });
});

describe("what is said aloud", () => {
  const quiet = fixture("agents_3", { attention: [] });

  test("is nothing at the first look, and only what is new after it", () => {
    expect(after(polled(fixture("agents_3"))).announcement).toBe("");
    const state = after(polled(quiet), polled(fixture("agents_3")));
    expect(state.announcement).toBe("3 more wait for you, first auth-rework needs a decision");
    expect(reduce(state, polled(quiet)).announcement).toBe(state.announcement);
  });

  test("is another text where the same words are said again", () => {
    const state = after(polled(quiet), polled(fixture("agents_3")), polled(quiet));
    const again = reduce(state, polled(fixture("agents_3"))).announcement;
    expect(again).not.toBe(state.announcement);
    expect(again.trim()).toBe(state.announcement);
  });

  test("is nothing when the project changes", () => {
    expect(after(polled(fixture("empty", { project: "other" })), polled(fixture("agents_3"))).announcement).toBe("");
  });
});

test("another project empties the pane, another task does not", () => {
  const state = after(polled(fixture("agents_3")));
  expect(reduce(state, { type: "scope", scope: { project: "demo", task: "x" } }).snapshot).not.toBe(null);
  expect(reduce(state, { type: "scope", scope: { project: "other" } }).snapshot).toBe(null);
});

test("a failure keeps the last good snapshot, and a success clears the failure", () => {
  const state = after(polled(fixture("agents_3")), failed());
  expect(state.snapshot).not.toBe(null);
  expect(reduce(state, polled(fixture("agents_3"))).problem).toBe(null);
});

test("a sent message may be sent again after a while, one under way may not", () => {
  const ask = { key: "k", label: "look", prompt: "" };
  const sent = after({ type: "asked", key: "k", asked: { result: "sent", at: 0 } });
  expect(derive(sent, 29_999).fate(ask)?.result).toBe("sent");
  expect(derive(sent, 30_000).fate(ask)).toBe(undefined);
  const sending = after({ type: "asked", key: "k", asked: { result: "sending", at: 0 } });
  expect(derive(sending, 99_999).fate(ask)?.result).toBe("sending");
});

test("ages go on with this machine's steady clock from the server's own time (E9)", () => {
  const state = after(polled(fixture("agents_3"), 5000));
  const told = Date.parse(fixture("agents_3").generated_at);
  expect([derive(state, 5000).now, derive(state, 65_000).now]).toEqual([told, told + 60_000]);
  expect(age("2026-03-04T15:00:00Z", Date.parse("2026-03-04T14:00:00Z"))).toBe("now");
});

test("keys tell equal items apart and survive new ones before them", () => {
  const keys = (items: readonly string[]): readonly string[] => keyed(items, (item) => item).map(([key]) => key);
  expect(keys(["b", "a", "a"])).toEqual(["b", "a\u00001", "a"]);
  expect(keys(["a", "b", "a", "a"]).slice(2)).toEqual(["a\u00001", "a"]);
});

test("a narrow and tall full pane becomes a sidebar, unless the host chose", () => {
  const openai = initialState({ ...HOST, name: "openai" }, PANE, {});
  expect([layout(openai, 340, 900), layout(openai, 900, 900), layout(FRESH, 340, 900)]).toEqual([
    "sidebar", "fullscreen", "fullscreen",
  ]);
});

test("a host that has not said who it is yet is waited for", () => {
  expect(situation(initialState({ ...HOST, isReady: false }, PANE, {}), 0)).toMatchObject({
    kind: "loading",
    text: "waiting for the host",
  });
});
