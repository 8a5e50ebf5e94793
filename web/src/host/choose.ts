/**
 * Which host there is: an injected one, else the Apps SDK, else none. MCP Apps has its place after
 * these two: a host that answers `ui/initialize`.
 */
import type { Host } from "./host";
import { injectedHost } from "./injected";
import { isOpenai, openaiHost } from "./openai";

/** The globals of a page that may hold a host. */
export interface HostGlobals {
  readonly kasmosMonitorHost?: unknown;
  readonly openai?: unknown;
}

export function chooseHost(globals: HostGlobals & EventTarget): Host {
  if (globals.kasmosMonitorHost !== undefined) return injectedHost(globals.kasmosMonitorHost);
  if (isOpenai(globals.openai)) return openaiHost(globals.openai, globals);
  return NO_HOST;
}

const NO_HOST: Host = {
  name: "none",
  problem: "no host answers here",
  modes: [],
  scope: {},
  environment: () => ({ mode: "inline", visibility: null, theme: null, maxHeight: null }),
  pushed: () => undefined,
  refresh: () => Promise.reject(new Error("no host")),
  subscribe: () => () => undefined,
};
