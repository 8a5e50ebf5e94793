import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { DisplayMode, Scope, Visibility } from "../../src/contract/host";
import type { LiveStatus } from "../../src/contract/live_status.gen";
import { delay } from "../../src/poll/backoff";
import type { Clock } from "../../src/poll/clock";
import type { Poller } from "../../src/poll/poller";
import { createPoller } from "../../src/poll/poller";
import type { Failure } from "../../src/poll/poller";
import { cadence, effectiveVisibility } from "../../src/poll/visibility";
import { fixture } from "../fixtures";

interface Call {
  readonly scope: Scope;
  readonly at: number;
  answer(value?: unknown): Promise<void>;
  fail(): Promise<void>;
}

/** A poller on a turned clock, whose requests wait until the test answers them. */
class Bench {
  readonly calls: Call[] = [];
  readonly shown: LiveStatus[] = [];
  readonly failures: Failure[] = [];
  next: number | null = null;
  random = 0.5;
  readonly poller: Poller;

  constructor(mode: DisplayMode = "fullscreen", visibility: Visibility = "expanded", scope: Scope = {}) {
    const clock: Clock = {
      now: () => Date.now(),
      after: (ms, run) => setTimeout(run, ms),
      cancel: (id) => clearTimeout(id),
      random: () => this.random,
    };
    this.poller = createPoller(
      {
        clock,
        refresh: (asked) =>
          new Promise((resolve, reject) => {
            this.calls.push({
              scope: asked,
              at: Date.now(),
              async answer(value = fixture("empty")) {
                resolve(value);
                await vi.advanceTimersByTimeAsync(0);
              },
              async fail() {
                reject(new Error("no"));
                await vi.advanceTimersByTimeAsync(0);
              },
            });
          }),
        onSnapshot: (snapshot) => this.shown.push(snapshot),
        onFailure: (failure) => this.failures.push(failure),
        onSchedule: (at) => {
          this.next = at;
        },
      },
      scope,
      { mode, visibility },
    );
  }

  call(index: number): Call {
    const call = this.calls[index];
    if (!call) throw new Error(`call ${index} was not made`);
    return call;
  }
}

function named(project: string, generated_at = "2026-03-04T14:00:00Z"): LiveStatus {
  return fixture("empty", { project, generated_at });
}

async function pass(ms: number): Promise<void> {
  await vi.advanceTimersByTimeAsync(ms);
}

beforeEach(() => {
  vi.useFakeTimers({ now: 0 });
});
afterEach(() => {
  vi.useRealTimers();
});

describe("beginning", () => {
  test("a cold mount asks exactly once", async () => {
    const bench = new Bench();
    bench.poller.start(undefined);
    await pass(1999);
    expect(bench.calls.length).toBe(1);
  });

  test("a first snapshot waits for the first tick", async () => {
    const bench = new Bench();
    bench.poller.start(fixture("empty"));
    await pass(1999);
    expect([bench.shown.length, bench.calls.length]).toEqual([1, 0]);
    await pass(1);
    expect(bench.calls.length).toBe(1);
  });

  test("a first snapshot that cannot be read is no snapshot", () => {
    const bench = new Bench();
    bench.poller.start({ nonsense: true });
    expect([bench.shown.length, bench.calls.length]).toEqual([0, 1]);
  });
});

describe("cadence", () => {
  test.each([
    ["pip", "expanded", 2000],
    ["fullscreen", "expanded", 2000],
    ["sidebar", "expanded", 2000],
    ["inline", "expanded", 3000],
    ["inline", "collapsed", 15_000],
    ["fullscreen", "collapsed", 15_000],
  ] as const)("%s, %s: every %d ms", async (mode, visibility, ms) => {
    const bench = new Bench(mode, visibility);
    bench.poller.start(undefined);
    await bench.call(0).answer();
    await pass(ms - 1);
    expect(bench.calls.length).toBe(1);
    await pass(1);
    expect(bench.calls.length).toBe(2);
  });

  test("a hidden pane has no timer and asks nothing, until it is seen again (E1)", async () => {
    const bench = new Bench();
    bench.poller.start(undefined);
    await bench.call(0).answer();
    bench.poller.show({ mode: "fullscreen", visibility: "hidden" });
    expect([vi.getTimerCount(), bench.next]).toEqual([0, null]);
    bench.poller.refresh();
    await pass(3_600_000);
    expect(bench.calls.length).toBe(1);
    bench.poller.show({ mode: "fullscreen", visibility: "expanded" });
    expect(bench.calls.length).toBe(2);
  });

  test("expanding asks at once, collapsing only slows down", async () => {
    const bench = new Bench();
    bench.poller.start(undefined);
    await bench.call(0).answer();
    bench.poller.show({ mode: "fullscreen", visibility: "collapsed" });
    await pass(14_999);
    expect(bench.calls.length).toBe(1);
    bench.poller.show({ mode: "fullscreen", visibility: "expanded" });
    expect(bench.calls.length).toBe(2);
  });

  test("the host's word on the pane goes before the document's", () => {
    expect(effectiveVisibility("expanded", true)).toBe("expanded");
    expect(effectiveVisibility(null, true)).toBe("hidden");
    expect(effectiveVisibility(null, false)).toBe("expanded");
    expect(cadence("inline", "hidden")).toBe(null);
  });
});

describe("one at a time (E2)", () => {
  test("requests during a request become one more after it", async () => {
    const bench = new Bench();
    bench.poller.start(undefined);
    bench.poller.refresh();
    bench.poller.refresh();
    expect(bench.calls.length).toBe(1);
    await bench.call(0).answer();
    expect(bench.calls.length).toBe(2);
    await bench.call(1).answer();
    await pass(1999);
    expect(bench.calls.length).toBe(2);
  });

  test("a request that never settles is given up after 8 s", async () => {
    const bench = new Bench();
    bench.poller.start(undefined);
    await pass(7999);
    expect(bench.failures).toEqual([]);
    await pass(1);
    expect(bench.failures).toEqual([{ kind: "timeout" }]);
    await pass(4000);
    expect(bench.calls.length).toBe(2);
  });

  test("an answer slower than the timeout is still welcome", async () => {
    const bench = new Bench();
    bench.poller.start(undefined);
    await pass(9000);
    await bench.call(0).answer(named("slow"));
    expect(bench.shown.map((each) => each.project)).toEqual(["slow"]);
  });

  test("a late answer never replaces that of a later request", async () => {
    const bench = new Bench();
    bench.poller.start(undefined);
    await pass(12_000);
    await bench.call(1).answer(named("later"));
    await bench.call(0).answer(named("earlier", "2027-01-01T00:00:00Z"));
    expect(bench.shown.map((each) => each.project)).toEqual(["later"]);
  });

  test("a later answer counts even when the server's clock went back", async () => {
    const bench = new Bench();
    bench.poller.start(undefined);
    await bench.call(0).answer(named("first"));
    await pass(2000);
    await bench.call(1).answer(named("second", "2020-01-01T00:00:00Z"));
    expect(bench.shown.map((each) => each.project)).toEqual(["first", "second"]);
  });
});

describe("failing", () => {
  test("doubles the wait up to 30 s, and one success resets it", async () => {
    const bench = new Bench();
    bench.poller.start(undefined);
    const waits: number[] = [];
    for (let n = 0; n < 6; n += 1) {
      await bench.call(n).fail();
      waits.push((bench.next ?? 0) - Date.now());
      await pass(waits.at(-1) ?? 0);
    }
    expect(waits).toEqual([4000, 8000, 16_000, 30_000, 30_000, 30_000]);
    await bench.call(6).answer();
    expect((bench.next ?? 0) - Date.now()).toBe(2000);
  });

  test("jitter stays within 10 % and only follows failures", () => {
    expect([delay(2000, 0, 0), delay(2000, 1, 0), delay(2000, 1, 1), delay(2000, 99, 1)]).toEqual([
      2000, 3600, 4400, 33_000,
    ]);
  });

  test("a bad reply, an error and another schema are failures of their own kind (D13)", async () => {
    const bench = new Bench();
    bench.poller.start(undefined);
    await bench.call(0).answer("NaN");
    bench.poller.refresh();
    await bench.call(1).answer({ isError: true, content: [] });
    bench.poller.refresh();
    await bench.call(2).answer({ schema_version: 9 });
    expect(bench.failures.map(({ kind }) => kind)).toEqual(["bad", "error", "incompatible"]);
    expect(bench.shown).toEqual([]);
  });

  test("a host that throws at once is a failure, not a crash", async () => {
    const failures: Failure[] = [];
    const poller = createPoller(
      {
        clock: { now: () => 0, after: (ms, run) => setTimeout(run, ms), cancel: (id) => clearTimeout(id), random: () => 0 },
        refresh: () => {
          throw new Error("no");
        },
        onSnapshot: () => undefined,
        onFailure: (failure) => failures.push(failure),
        onSchedule: () => undefined,
      },
      {},
      { mode: "pip", visibility: "expanded" },
    );
    poller.start(undefined);
    await pass(0);
    expect(failures).toEqual([{ kind: "unreachable" }]);
    poller.stop();
  });
});

describe("another selection", () => {
  test("asks at once, and answers for the one that was left are dropped", async () => {
    const bench = new Bench("fullscreen", "expanded", { project: "a" });
    bench.poller.start(undefined);
    bench.poller.select({ project: "b" });
    expect(bench.calls.length).toBe(1);
    await bench.call(0).answer(named("a"));
    expect([bench.shown.length, bench.calls.length]).toEqual([0, 2]);
    expect(bench.call(1).scope).toEqual({ project: "b" });
    await bench.call(1).answer(named("b"));
    expect(bench.shown.map((each) => each.project)).toEqual(["b"]);
  });

  test("that is the same asks nothing", async () => {
    const bench = new Bench("fullscreen", "expanded", { project: "a" });
    bench.poller.start(undefined);
    await bench.call(0).answer(named("a"));
    bench.poller.select({ project: "a", task: "" });
    expect(bench.calls.length).toBe(1);
  });
});

describe("a pushed result", () => {
  test("is taken when it is newer, and outlives the poll that was under way", async () => {
    const bench = new Bench();
    bench.poller.start(undefined);
    expect(bench.poller.push(named("pushed", "2026-03-04T15:00:00Z"))).toBe(true);
    await bench.call(0).answer(named("polled", "2026-03-04T14:59:00Z"));
    expect(bench.shown.map((each) => each.project)).toEqual(["pushed"]);
    await pass(2000);
    await bench.call(1).answer(named("next", "2026-03-04T14:59:30Z"));
    expect(bench.shown.map((each) => each.project)).toEqual(["pushed", "next"]);
  });

  test("is left when it is older, of another project, or unreadable", async () => {
    const bench = new Bench("pip", "expanded", { project: "a" });
    bench.poller.start(undefined);
    await bench.call(0).answer(named("a"));
    expect(bench.poller.push(named("a", "2020-01-01T00:00:00Z"))).toBe(false);
    expect(bench.poller.push(named("b", "2030-01-01T00:00:00Z"))).toBe(false);
    expect(bench.poller.push("nonsense")).toBe(false);
  });
});

test("stopping ends timers, requests and callbacks", async () => {
  const bench = new Bench();
  bench.poller.start(undefined);
  bench.poller.refresh();
  bench.poller.stop();
  expect(vi.getTimerCount()).toBe(0);
  await bench.call(0).answer();
  bench.poller.refresh();
  bench.poller.select({ project: "x" });
  await pass(60_000);
  expect([bench.calls.length, bench.shown.length, bench.failures.length]).toEqual([1, 0, 0]);
});

test("eight hours leave one timer and one request at most (E4)", async () => {
  const bench = new Bench();
  bench.poller.start(undefined);
  for (let n = 0; n < 14_400; n += 1) {
    await bench.call(n).answer();
    expect(vi.getTimerCount()).toBe(1);
    await pass(2000);
  }
  expect(bench.calls.length).toBe(14_401);
});
