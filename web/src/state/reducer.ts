/** The one place where state changes: an action and the state before give the state after. */
import type { Scope } from "../contract/host";
import type { AttentionItem, LiveStatus, TaskSummary } from "../contract/live_status.gen";
import type { Action, State } from "./state";
import * as say from "./say";
import { looked } from "./sparks";
import { attentionKey, kindWords } from "./words";

/** Answers to messages are remembered for at most this many rows. */
const ASKED_LIMIT = 200;

export function reduce(state: State, action: Action): State {
  switch (action.type) {
    case "pane":
      return { ...state, pane: action.pane, host: action.host };
    case "scope":
      return selected(state, action.scope);
    case "snapshot":
      return {
        ...state,
        // An equal one stays the same object, which tells the drawing that nothing changed.
        snapshot:
          JSON.stringify(action.snapshot) === JSON.stringify(state.snapshot)
            ? state.snapshot
            : action.snapshot,
        takenAt: action.at,
        isPolled: state.isPolled || action.isPolled,
        problem: null,
        followed: followed(state.followed, action.snapshot),
        sparks: action.isPolled ? looked(state.sparks, action.snapshot) : state.sparks,
        announcement: announcement(state, action.snapshot),
      };
    case "failure":
      return { ...state, problem: action.problem };
    case "schedule":
      return { ...state, retryAt: action.at };
    case "asked": {
      const kept = Object.entries(state.asked).slice(-ASKED_LIMIT);
      return { ...state, asked: { ...Object.fromEntries(kept), [action.key]: action.asked } };
    }
    case "fold": {
      const folded = new Set(state.folded);
      if (action.isOpen) folded.delete(action.section);
      else folded.add(action.section);
      return { ...state, folded };
    }
  }
}

/** Another project empties the pane: what is shown must never be of a project that was left. */
function selected(state: State, scope: Scope): State {
  const isSameProject = !scope.project || scope.project === state.snapshot?.project;
  if (isSameProject) return { ...state, scope };
  return { ...state, scope, snapshot: null, isPolled: false, problem: null, followed: "", sparks: new Map() };
}

/** Keeps the followed task while it is listed, else takes the one that most needs a look. */
function followed(before: string, { attention, tasks = [] }: LiveStatus): string {
  const has = (name: string): boolean => tasks.some((task) => task.filename === name);
  if (before && has(before)) return before;
  const waiting = attention.find((item) => has(item.task));
  const busiest = ["implementing", "verifying", "reviewing", "ready", "planning"]
    .map((status) => tasks.find((task: TaskSummary) => task.status === status))
    .find((task) => task !== undefined);
  return waiting?.task ?? busiest?.filename ?? "";
}

/** Only what newly waits is said aloud, and never at the first look. */
function announcement({ snapshot, announcement: last }: State, next: LiveStatus): string {
  if (snapshot?.project !== next.project) return "";
  const known = new Set(snapshot.attention.map(attentionKey));
  const added = next.attention.filter((item) => !known.has(attentionKey(item)));
  const [first] = added;
  if (!first) return last;
  const said =
    added.length > 1 ? say.moreWait(added.length, sentence(first)) : sentence(first);
  // The same words are said again only where the text differs.
  return said === last ? `${said}\u00a0` : said;
}

function sentence({ task, kind, detail }: AttentionItem): string {
  return `${task || say.someAgent} ${kindWords(kind)}${detail ? `: ${detail}` : ""}`;
}
