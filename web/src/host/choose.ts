/**
 * Which host there is: an injected one, else the Apps SDK, else none. MCP Apps has its place after
 * these two: a host that answers `ui/initialize`.
 */
import type { Host } from "./host";
import { unusableHost } from "./host";
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
  return unusableHost("none", "no host answers here", {});
}
