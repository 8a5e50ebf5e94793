/** What every host looks like from inside. Knows the contract, nothing of state or views. */
import { isMode } from "../contract/host";
import type { DisplayMode, Scope, Theme, Visibility } from "../contract/host";
import type { Badge } from "../contract/live_status.gen";
import { isRecord } from "../contract/parse";

/** What the host says now; null where it says nothing. */
export interface Environment {
  readonly mode: DisplayMode;
  readonly visibility: Visibility | null;
  readonly theme: Theme | null;
  /** CSS pixels that an inline pane may take. */
  readonly maxHeight: number | null;
  /** Space that the device needs at the edges, as the value of `padding`; empty for none. */
  readonly insets: string;
  /** How the person writes dates, BCP 47, and where they are, IANA. Neither is checked here. */
  readonly locale: string | null;
  readonly timeZone: string | null;
}

/** What every host calls alike, as far as it can be trusted. */
export interface Globals {
  readonly displayMode?: unknown;
  readonly visibility?: unknown;
  readonly theme?: unknown;
  readonly maxHeight?: unknown;
  readonly locale?: unknown;
  readonly timeZone?: unknown;
}

/** The window of the monitor, as far as hosts are found through it. */
export interface HostPage extends EventTarget {
  readonly kasmosMonitorHost?: unknown;
  readonly openai?: unknown;
  readonly parent: Window | HostPage;
  setTimeout(run: () => void, ms: number): number;
  clearTimeout(id: number): void;
  postMessage(message: unknown, origin: string): void;
}

/** The tool that a monitor calls through its host. */
export const REFRESH_TOOL = "refresh_monitor";
/** MCP Apps and the Apps SDK know no sidebar. */
export const SDK_MODES: readonly DisplayMode[] = ["pip", "inline", "fullscreen"];
export const NO_HOST = "no host answers here";

export type SendResult = "sent" | "refused";

/**
 * The one inner interface. A missing method is a thing that the host cannot do. What a host says
 * may change; then its listeners are called.
 */
export interface Host {
  readonly name: "injected" | "openai" | "mcp_apps" | "none";
  /** Why this host cannot be used; then nothing polls. */
  readonly problem: string | null;
  /** False until the host has said who it is; nothing polls before. */
  readonly isReady: boolean;
  /** Modes that can be asked for, in the order of the buttons. */
  readonly modes: readonly DisplayMode[];
  /** The selection to start with: what was kept, else what the tool was called with. */
  readonly scope: Scope;
  /** CSS variables of the host's look; another object when they change. */
  readonly variables?: Readonly<Record<string, string>>;
  environment(): Environment;
  /** The last result that the host gave without being asked, undefined when there is none. */
  pushed(): unknown;
  refresh(scope: Scope): Promise<unknown>;
  subscribe(listener: () => void): () => void;
  /** Calls `end` when the host takes the monitor away. */
  onEnd?(end: () => void): void;
  saveState?(scope: Scope): void;
  setBadge?(badge: Badge): void;
  requestMode?(mode: DisplayMode): Promise<void>;
  sendPrompt?(text: string): Promise<SendResult>;
  reportHeight?(height: number): void;
  /** False where the host leaves links to the browser. */
  openLink?(url: string): boolean;
}

/**
 * Reads what every host calls alike; anything unreadable counts as not said. `insets` are
 * `{top, right, bottom, left}` in CSS pixels.
 */
export function readEnvironment(given: Globals, insets?: unknown): Environment {
  const { displayMode, visibility, theme, maxHeight, locale, timeZone } = given;
  return {
    mode: isMode(displayMode) ? displayMode : "inline",
    visibility:
      visibility === "expanded" || visibility === "collapsed" || visibility === "hidden"
        ? visibility
        : null,
    theme: theme === "light" || theme === "dark" ? theme : null,
    maxHeight: typeof maxHeight === "number" && maxHeight > 0 ? maxHeight : null,
    insets: padding(insets),
    locale: typeof locale === "string" ? locale : null,
    timeZone: typeof timeZone === "string" ? timeZone : null,
  };
}

function padding(given: unknown): string {
  if (!isRecord(given)) return "";
  const sides = ["top", "right", "bottom", "left"].map((side) => Number(given[side]) || 0);
  return sides.some((side) => side > 0) ? sides.map((side) => `${Math.max(side, 0)}px`).join(" ") : "";
}

/** Stands in for a host that cannot be used: it has its `problem`, and nothing polls. */
export function unusableHost(name: "injected" | "none", problem: string, given: Globals): Host {
  return {
    name,
    problem,
    isReady: true,
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
    const isRefused = answer === false || (isRecord(answer) && answer["isError"] === true);
    return isRefused ? "refused" : "sent";
  } catch {
    return "refused";
  }
}
