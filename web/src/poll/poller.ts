/**
 * Asks for snapshots: one request at a time, backing off when it fails. Knows neither the host nor
 * the page; both are arguments.
 *
 *        start, tick, retry            answer, failure, 8 s
 *  idle ───────────────────> in flight ────────────────────> idle (timer) or in flight (queued)
 */
import type { DisplayMode, Scope, Visibility } from "../contract/host";
import type { LiveStatus } from "../contract/live_status.gen";
import { parseReply } from "../contract/parse";
import type { Reply } from "../contract/parse";
import { TIMEOUT_MS } from "../state/state";
import { delay } from "./backoff";
import type { Clock, TimerId } from "./clock";
import { cadence, isMoreVisible } from "./visibility";

/** Why an attempt brought no snapshot. */
export type Failure =
  | { readonly kind: "unreachable" }
  | { readonly kind: "timeout" }
  | Exclude<Reply, { kind: "snapshot" }>;

export interface PollerOptions {
  readonly clock: Clock;
  refresh(scope: Scope): Promise<unknown>;
  /** `isPolled` is false for a result that the host gave unasked. */
  onSnapshot(snapshot: LiveStatus, isPolled: boolean): void;
  onFailure(failure: Failure): void;
  /** The clock's time of the next attempt; null while none is due. */
  onSchedule(at: number | null): void;
}

export interface Pane {
  readonly mode: DisplayMode;
  readonly visibility: Visibility;
}

interface Flight {
  readonly number: number;
  readonly timeout: TimerId;
}

export interface Poller {
  /** Begins: with exactly one request at once, or, given a first snapshot, with the first tick. */
  start(initial: unknown): void;
  /** Asks at once; during a request, once more after it. */
  refresh(): void;
  /** Selects what is asked for. Answers for another selection no longer count. */
  select(scope: Scope): void;
  /** Tells how the pane is shown. Becoming more visible asks at once. */
  show(pane: Pane): void;
  /** Takes a result that the host gave unasked, if it is newer than what is shown. */
  push(value: unknown): boolean;
  stop(): void;
}

/** A poller that asks for `scope` as often as `pane` is seen, once it was started. */
export function createPoller(options: PollerOptions, scope: Scope, pane: Pane): Poller {
  const { clock } = options;
  let selected = scope;
  let current = pane;
  let timer: TimerId | null = null;
  let settledAt = clock.now();
  let flight: Flight | null = null;
  let isQueued = false;
  let isRunning = false;
  let failures = 0;
  let jitter = 0;
  let sent = 0;
  /** The last request whose answer was taken. */
  let taken = 0;
  /** A result that the host pushed, and the last request sent before it. */
  let pushed: { readonly at: number; readonly sent: number } | null = null;
  let shownAt = Number.NEGATIVE_INFINITY;

  return { start, refresh, select, show, push, stop };

  function start(initial: unknown): void {
    isRunning = true;
    if (initial === undefined || !push(initial)) refresh();
    else schedule();
  }

  function refresh(): void {
    if (!isRunning || current.visibility === "hidden") return;
    if (flight) isQueued = true;
    else send();
  }

  function select(scope: Scope): void {
    if (isSameScope(scope, selected)) return;
    selected = scope;
    failures = 0;
    refresh();
  }

  function show(pane: Pane): void {
    const before = current;
    if (pane.mode === before.mode && pane.visibility === before.visibility) return;
    current = pane;
    if (pane.visibility === "hidden") isQueued = false;
    if (isMoreVisible(pane.visibility, before.visibility)) refresh();
    else if (!flight) schedule();
  }

  function push(value: unknown): boolean {
    if (!isRunning) return false;
    const reply = parseReply(value);
    if (reply.kind !== "snapshot" || !isSelected(reply.snapshot)) return false;
    const at = Date.parse(reply.snapshot.generated_at);
    if (at <= shownAt) return false;
    pushed = { at, sent };
    take(reply.snapshot, at, false);
    return true;
  }

  function stop(): void {
    isRunning = false;
    isQueued = false;
    clearTimer();
    if (flight) clock.cancel(flight.timeout);
    flight = null;
  }

  function send(): void {
    clearTimer();
    options.onSchedule(null);
    const number = ++sent;
    const scope = selected;
    const timeout = clock.after(TIMEOUT_MS, () => {
      fail(number, scope, { kind: "timeout" });
    });
    flight = { number, timeout };
    ask(scope).then(
      (value) => answer(number, scope, value),
      () => fail(number, scope, { kind: "unreachable" }),
    );
  }

  async function ask(scope: Scope): Promise<unknown> {
    return options.refresh(scope);
  }

  function answer(number: number, scope: Scope, value: unknown): void {
    if (!isRunning) return;
    const reply = parseReply(value);
    if (reply.kind !== "snapshot") {
      fail(number, scope, reply);
      return;
    }
    // A late answer is welcome while no later one was taken.
    if (isSameScope(scope, selected) && number > taken) {
      taken = number;
      failures = 0;
      const at = Date.parse(reply.snapshot.generated_at);
      const isOvertaken = pushed && number <= pushed.sent && at < pushed.at;
      if (!isOvertaken) take(reply.snapshot, at, true);
    }
    land(number);
  }

  function fail(number: number, scope: Scope, failure: Failure): void {
    if (!isRunning || flight?.number !== number) return;
    const counts = isSameScope(scope, selected);
    if (counts) {
      failures += 1;
      jitter = clock.random();
      // A timed-out request may still answer; an answer that is an error was the last word.
      if (failure.kind !== "timeout") taken = number;
    }
    land(number);
    if (counts) options.onFailure(failure);
  }

  function land(number: number): void {
    if (flight?.number !== number) return;
    clock.cancel(flight.timeout);
    flight = null;
    settledAt = clock.now();
    if (isQueued) {
      isQueued = false;
      send();
    } else {
      schedule();
    }
  }

  function take(snapshot: LiveStatus, at: number, isPolled: boolean): void {
    shownAt = at;
    options.onSnapshot(snapshot, isPolled);
  }

  function schedule(): void {
    clearTimer();
    const base = cadence(current.mode, current.visibility);
    if (!isRunning || base === null) {
      options.onSchedule(null);
      return;
    }
    const at = settledAt + delay(base, failures, jitter);
    timer = clock.after(Math.max(at - clock.now(), 0), send);
    options.onSchedule(at);
  }

  function clearTimer(): void {
    if (timer !== null) clock.cancel(timer);
    timer = null;
  }

  function isSelected(snapshot: LiveStatus): boolean {
    const { project } = selected;
    return !project || project === snapshot.project;
  }
}

export function isSameScope(a: Scope, b: Scope): boolean {
  return (a.project ?? "") === (b.project ?? "") && (a.task ?? "") === (b.task ?? "");
}
