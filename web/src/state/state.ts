/** Everything that the views are drawn from. Values only: no host, no timer, no page. */
import type { DisplayMode, Scope, Theme, Visibility } from "../contract/host";
import type { LiveStatus } from "../contract/live_status.gen";
import type { Sparks } from "./sparks";

/** An attempt is given up after this long. */
export const TIMEOUT_MS = 8000;

/** Why the last attempt brought nothing. */
export type Problem =
  | { readonly kind: "unreachable" }
  | { readonly kind: "timeout" }
  | { readonly kind: "bad"; readonly why: string }
  | { readonly kind: "incompatible"; readonly found: string }
  | {
      readonly kind: "error";
      readonly code: string;
      readonly message: string;
      readonly projects: readonly string[];
    };

/** How a follow-up message fared. */
export interface Asked {
  readonly result: "sending" | "sent" | "refused";
  readonly at: number;
}

export interface HostFacts {
  readonly name: string;
  /** Why nothing can work here, else null. */
  readonly problem: string | null;
  readonly isReady: boolean;
  readonly modes: readonly DisplayMode[];
  readonly canSend: boolean;
}

export interface PaneFacts {
  readonly mode: DisplayMode;
  readonly visibility: Visibility;
  readonly theme: Theme | null;
  readonly maxHeight: number | null;
  readonly insets: string;
  readonly locale: string | null;
  readonly timeZone: string | null;
}

export interface State {
  readonly host: HostFacts;
  readonly pane: PaneFacts;
  readonly scope: Scope;
  readonly snapshot: LiveStatus | null;
  /** The clock's time when `snapshot` came. */
  readonly takenAt: number;
  /** Whether a poll has answered: a snapshot that came with the page is not yet live. */
  readonly isPolled: boolean;
  readonly problem: Problem | null;
  readonly retryAt: number | null;
  readonly asked: Readonly<Record<string, Asked>>;
  readonly folded: ReadonlySet<string>;
  /** The task whose waves are asked for while a person has chosen none. */
  readonly followed: string;
  readonly sparks: Sparks;
  /** Words for the live region. */
  readonly announcement: string;
}

export type Action =
  | { readonly type: "pane"; readonly pane: PaneFacts; readonly host: HostFacts }
  | { readonly type: "scope"; readonly scope: Scope }
  | {
      readonly type: "snapshot";
      readonly snapshot: LiveStatus;
      readonly at: number;
      readonly isPolled: boolean;
    }
  | { readonly type: "failure"; readonly problem: Problem }
  | { readonly type: "schedule"; readonly at: number | null }
  | { readonly type: "asked"; readonly key: string; readonly asked: Asked }
  | { readonly type: "fold"; readonly section: string; readonly isOpen: boolean };

export function initialState(host: HostFacts, pane: PaneFacts, scope: Scope): State {
  return {
    host,
    pane,
    scope,
    snapshot: null,
    takenAt: 0,
    isPolled: false,
    problem: null,
    retryAt: null,
    asked: {},
    folded: new Set(),
    followed: "",
    sparks: new Map(),
    announcement: "",
  };
}
