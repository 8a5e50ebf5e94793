/** State at a moment, as the views read it. Everything that two views show is computed here once. */
import type { DisplayMode } from "../contract/host";
import type { LiveStatus } from "../contract/live_status.gen";
import type { Focus } from "./focus";
import { focus } from "./focus";
import { speak } from "./language";
import type { Ask } from "./prompts";
import type { Situation } from "./situation";
import { situation } from "./situation";
import type { Asked, State } from "./state";

export interface Frame {
  readonly state: State;
  readonly situation: Situation;
  readonly status: LiveStatus | null;
  readonly focus: Focus | null;
  /**
   * The server's clock now, in milliseconds since 1970: its own time when it answered, and what has
   * passed here since. This machine's clock is never asked. NaN before the first answer.
   */
  readonly now: number;
  /** How a message fared; undefined while it can be sent (again). */
  readonly fate: (ask: Ask) => Asked | undefined;
}

/** A sent message may be sent again after this long. */
const ASKED_MS = 30_000;
const SIDEBAR_WIDTH = 420;

export function derive(state: State, now: number): Frame {
  const status = state.snapshot;
  speak(state.pane.locale, state.pane.timeZone);
  return {
    state,
    situation: situation(state, now),
    status,
    focus: status && status.project ? focus(state, status) : null,
    now: Date.parse(status?.generated_at ?? "") + now - state.takenAt,
    fate({ key }) {
      const asked = state.asked[key];
      return asked && (asked.result === "sending" || now - asked.at < ASKED_MS) ? asked : undefined;
    },
  };
}

/** Equal for two frames of one snapshot that show the same; ages go on by the second. */
export function looks({ state, situation, now: seen }: Frame, now: number): string {
  const { host, pane, scope, followed, announcement, folded, asked } = state;
  const recent = Object.values(asked).filter(({ at }) => now - at < ASKED_MS);
  return JSON.stringify([Math.floor(seen / 1000), situation, host, pane, scope, followed, announcement, [...folded], recent]);
}

/** The layout: what the host asked for, but the sidebar's where a full pane is narrow and tall. */
export function layout(state: State, width: number, height: number): DisplayMode {
  const { host, pane } = state;
  const isTight = width <= SIDEBAR_WIDTH && height > width;
  return pane.mode === "fullscreen" && host.name !== "injected" && isTight ? "sidebar" : pane.mode;
}
