/** What every host looks like from inside. Knows the contract, nothing of state or views. */
import { isMode } from "../contract/host";
import type { DisplayMode, Scope, Theme, Visibility } from "../contract/host";
import type { Badge } from "../contract/live_status.gen";

/** What the host says now; null where it says nothing. */
export interface Environment {
  readonly mode: DisplayMode;
  readonly visibility: Visibility | null;
  readonly theme: Theme | null;
  /** CSS pixels that an inline pane may take. */
  readonly maxHeight: number | null;
}

/** What both kinds of globals call alike, as far as it can be trusted. */
export interface Globals {
  readonly displayMode?: unknown;
  readonly visibility?: unknown;
  readonly theme?: unknown;
  readonly maxHeight?: unknown;
}

export type SendResult = "sent" | "refused";

/** The one inner interface. A missing method is a thing that the host cannot do. */
export interface Host {
  readonly name: "injected" | "openai" | "mcp_apps" | "none";
  /** Why this host cannot be used; then nothing polls. */
  readonly problem: string | null;
  /** Modes that can be asked for, in the order of the buttons. */
  readonly modes: readonly DisplayMode[];
  /** The selection to start with: what was kept, else what the tool was called with. */
  readonly scope: Scope;
  environment(): Environment;
  /** The last result that the host gave without being asked, undefined when there is none. */
  pushed(): unknown;
  refresh(scope: Scope): Promise<unknown>;
  subscribe(listener: () => void): () => void;
  saveState?(scope: Scope): void;
  setBadge?(badge: Badge): void;
  requestMode?(mode: DisplayMode): Promise<void>;
  sendPrompt?(text: string): Promise<SendResult>;
  reportHeight?(height: number): void;
}

/** Reads what both kinds of globals call alike; anything unreadable counts as not said. */
export function readEnvironment(given: Globals): Environment {
  const { displayMode, visibility, theme, maxHeight } = given;
  return {
    mode: isMode(displayMode) ? displayMode : "inline",
    visibility:
      visibility === "expanded" || visibility === "collapsed" || visibility === "hidden"
        ? visibility
        : null,
    theme: theme === "light" || theme === "dark" ? theme : null,
    maxHeight: typeof maxHeight === "number" && maxHeight > 0 ? maxHeight : null,
  };
}

/** Stands in for a host that cannot be used: it has its `problem`, and nothing polls. */
export function unusableHost(name: "injected" | "none", problem: string, given: Globals): Host {
  return {
    name,
    problem,
    modes: [],
    scope: {},
    environment: () => readEnvironment(given),
    pushed: () => undefined,
    refresh: () => Promise.reject(new Error(problem)),
    subscribe: () => () => undefined,
  };
}

/** Turns what a host returns or throws for a message into an answer; some resolve to nothing. */
export async function sendResult(send: () => unknown): Promise<SendResult> {
  try {
    const answer: unknown = await send();
    const isRefused =
      answer === false ||
      (typeof answer === "object" && answer !== null && "isError" in answer && answer.isError === true);
    return isRefused ? "refused" : "sent";
  } catch {
    return "refused";
  }
}
