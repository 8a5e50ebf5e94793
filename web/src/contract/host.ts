/** The host contract, version 1: what a page outside the Apps SDK offers the monitor. */
import type { Badge, MonitorScope } from "./live_status.gen";

export const HOST_CONTRACT_VERSION = 1;
export const ROOT_ID = "root";

export const MODES = ["pip", "inline", "fullscreen", "sidebar"] as const;
export type DisplayMode = (typeof MODES)[number];
export type Visibility = "expanded" | "collapsed" | "hidden";
export type Theme = "light" | "dark";
export type Scope = MonitorScope;

/** `window.kasmosMonitorHost`, as a host writes it. The monitor reads it again after each call of a
 *  listener. */
export interface MonitorHost {
  readonly contractVersion: number;
  readonly displayMode: DisplayMode;
  readonly visibility: Visibility;
  readonly theme: Theme;
  readonly snapshot?: unknown;
  readonly input?: Scope;
  readonly state?: Scope;
  readonly maxHeight?: number;
  refresh(scope: Scope): Promise<unknown>;
  subscribe(listener: () => void): () => void;
  saveState?(scope: Scope): void;
  setBadge?(badge: Badge): void;
  requestDisplayMode?(mode: DisplayMode): unknown;
  sendPrompt?(text: string): unknown;
}

export function isMode(value: unknown): value is DisplayMode {
  return MODES.some((mode) => mode === value);
}
