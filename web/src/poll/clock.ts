/** Time as the poller sees it, so that tests can turn it. */

/** A handle that only the timers which gave it understand. */
export type TimerId = ReturnType<typeof setTimeout>;

export interface Clock {
  /** Milliseconds that never go back. */
  now(): number;
  after(ms: number, run: () => void): TimerId;
  cancel(id: TimerId): void;
  /** At least 0, below 1. */
  random(): number;
}

export const browserClock: Clock = {
  now: () => performance.now(),
  after: (ms, run) => setTimeout(run, ms),
  cancel: (id) => clearTimeout(id),
  random: () => Math.random(),
};
