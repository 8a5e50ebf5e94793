/** The shapes that stand beside words: nothing is told by colour alone. */
import { html } from "../html";
import type { Template } from "../html";

export type Mark =
  | "wait"
  | "turn"
  | "run"
  | "load"
  | "quiet"
  | "pause"
  | "done"
  | "broken"
  | "unknown"
  | "pending"
  | "old"
  | "lost"
  | "odd"
  | "new";

const CIRCLE = "M6 1.75a4.25 4.25 0 1 1 0 8.5 4.25 4.25 0 0 1 0-8.5z";
const TRIANGLE = "M6 1.2 11.2 10.6H.8z";
const PATHS: Readonly<Record<Mark, string>> = {
  wait: TRIANGLE,
  turn: TRIANGLE,
  run: CIRCLE,
  load: "M6 1a5 5 0 1 1 0 10A5 5 0 0 1 6 1zM6 2.5a3.5 3.5 0 0 0 0 7z",
  quiet: CIRCLE,
  pause: "M4 2v8M8 2v8",
  done: "M1.8 6.4 4.7 9.4 10.2 2.8",
  broken: "M2 2h8v8H2z",
  unknown: CIRCLE,
  old: `${CIRCLE}M6 3.5V6l2 1.5`,
  lost: "M2 2l8 8M10 2l-8 8",
  odd: "M1.5 4h9M1.5 8h9M8 1.5l-4 9",
  new: "M6 1.5v9M1.5 6h9",
  pending: "M6 4.4a1.6 1.6 0 1 1 0 3.2 1.6 1.6 0 0 1 0-3.2z",
};

export function mark(kind: Mark): Template {
  return html`<svg class="mark is-${kind}" viewBox="0 0 12 12" aria-hidden="true"><path d=${PATHS[kind]}></path></svg>`;
}
