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
import { delay } from "./backoff";
import type { Clock, TimerId } from "./clock";
import { cadence, isMoreVisible } from "./visibility";

const TIMEOUT_MS = 8000;

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

export class Poller {
  readonly #options: PollerOptions;
  #scope: Scope;
  #pane: Pane;
  #timer: TimerId | null = null;
  #settledAt: number;
  #flight: Flight | null = null;
  #isQueued = false;
  #isRunning = false;
  #failures = 0;
  #jitter = 0;
  #sent = 0;
  /** The last request whose answer was taken. */
  #taken = 0;
  /** A result that the host pushed, and the last request sent before it. */
  #pushed: { readonly at: number; readonly sent: number } | null = null;
  #shownAt = Number.NEGATIVE_INFINITY;

  constructor(options: PollerOptions, scope: Scope, pane: Pane) {
    this.#options = options;
    this.#scope = scope;
    this.#pane = pane;
    this.#settledAt = options.clock.now();
  }

  /** Begins: with exactly one request at once, or, given a first snapshot, with the first tick. */
  start(initial: unknown): void {
    this.#isRunning = true;
    if (initial === undefined || !this.push(initial)) this.refresh();
    else this.#schedule();
  }

  /** Asks at once; during a request, once more after it. */
  refresh(): void {
    if (!this.#isRunning || this.#pane.visibility === "hidden") return;
    if (this.#flight) this.#isQueued = true;
    else this.#send();
  }

  /** Selects what is asked for. Answers for another selection no longer count. */
  select(scope: Scope): void {
    if (isSameScope(scope, this.#scope)) return;
    this.#scope = scope;
    this.#failures = 0;
    this.refresh();
  }

  /** Tells how the pane is shown. Becoming more visible asks at once. */
  show(pane: Pane): void {
    const before = this.#pane;
    if (pane.mode === before.mode && pane.visibility === before.visibility) return;
    this.#pane = pane;
    if (pane.visibility === "hidden") this.#isQueued = false;
    if (isMoreVisible(pane.visibility, before.visibility)) this.refresh();
    else if (!this.#flight) this.#schedule();
  }

  /** Takes a result that the host gave unasked, if it is newer than what is shown. */
  push(value: unknown): boolean {
    if (!this.#isRunning) return false;
    const reply = parseReply(value);
    if (reply.kind !== "snapshot" || !this.#isSelected(reply.snapshot)) return false;
    const at = Date.parse(reply.snapshot.generated_at);
    if (at <= this.#shownAt) return false;
    this.#pushed = { at, sent: this.#sent };
    this.#take(reply.snapshot, at, false);
    return true;
  }

  stop(): void {
    this.#isRunning = false;
    this.#isQueued = false;
    this.#clearTimer();
    if (this.#flight) this.#options.clock.cancel(this.#flight.timeout);
    this.#flight = null;
  }

  #send(): void {
    this.#clearTimer();
    this.#options.onSchedule(null);
    const number = ++this.#sent;
    const scope = this.#scope;
    const timeout = this.#options.clock.after(TIMEOUT_MS, () => {
      this.#fail(number, scope, { kind: "timeout" });
    });
    this.#flight = { number, timeout };
    this.#ask(scope).then(
      (value) => this.#answer(number, scope, value),
      () => this.#fail(number, scope, { kind: "unreachable" }),
    );
  }

  async #ask(scope: Scope): Promise<unknown> {
    return this.#options.refresh(scope);
  }

  #answer(number: number, scope: Scope, value: unknown): void {
    if (!this.#isRunning) return;
    const reply = parseReply(value);
    if (reply.kind !== "snapshot") {
      this.#fail(number, scope, reply);
      return;
    }
    // A late answer is welcome while no later one was taken.
    if (isSameScope(scope, this.#scope) && number > this.#taken) {
      this.#taken = number;
      this.#failures = 0;
      const at = Date.parse(reply.snapshot.generated_at);
      const isOvertaken = this.#pushed && number <= this.#pushed.sent && at < this.#pushed.at;
      if (!isOvertaken) this.#take(reply.snapshot, at, true);
    }
    this.#land(number);
  }

  #fail(number: number, scope: Scope, failure: Failure): void {
    if (!this.#isRunning || this.#flight?.number !== number) return;
    const counts = isSameScope(scope, this.#scope);
    if (counts) {
      this.#failures += 1;
      this.#jitter = this.#options.clock.random();
      // A timed-out request may still answer; an answer that is an error was the last word.
      if (failure.kind !== "timeout") this.#taken = number;
    }
    this.#land(number);
    if (counts) this.#options.onFailure(failure);
  }

  #land(number: number): void {
    if (this.#flight?.number !== number) return;
    this.#options.clock.cancel(this.#flight.timeout);
    this.#flight = null;
    this.#settledAt = this.#options.clock.now();
    if (this.#isQueued) {
      this.#isQueued = false;
      this.#send();
    } else {
      this.#schedule();
    }
  }

  #take(snapshot: LiveStatus, at: number, isPolled: boolean): void {
    this.#shownAt = at;
    this.#options.onSnapshot(snapshot, isPolled);
  }

  #schedule(): void {
    this.#clearTimer();
    const base = cadence(this.#pane.mode, this.#pane.visibility);
    if (!this.#isRunning || base === null) {
      this.#options.onSchedule(null);
      return;
    }
    const { clock } = this.#options;
    const at = this.#settledAt + delay(base, this.#failures, this.#jitter);
    this.#timer = clock.after(Math.max(at - clock.now(), 0), () => this.#send());
    this.#options.onSchedule(at);
  }

  #clearTimer(): void {
    if (this.#timer !== null) this.#options.clock.cancel(this.#timer);
    this.#timer = null;
  }

  #isSelected(snapshot: LiveStatus): boolean {
    const { project } = this.#scope;
    return !project || project === snapshot.project;
  }
}

export function isSameScope(a: Scope, b: Scope): boolean {
  return (a.project ?? "") === (b.project ?? "") && (a.task ?? "") === (b.task ?? "");
}
