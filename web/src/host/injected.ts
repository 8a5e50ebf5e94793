/** A host of the versioned contract: `window.kasmosMonitorHost`. */
import { HOST_CONTRACT_VERSION, MODES } from "../contract/host";
import type { MonitorHost } from "../contract/host";
import { isMethod, isRecord, parseScope } from "../contract/parse";
import type { Host } from "./host";
import { readEnvironment, sendResult, unusableHost } from "./host";

/** Narrows to what can be called at all; each property is checked again when it is read. */
function isHost(value: unknown): value is MonitorHost {
  return isRecord(value) && isMethod(value["refresh"]) && isMethod(value["subscribe"]);
}

/** Wraps an injected host; one that cannot be used is a host with a `problem`. */
export function injectedHost(given: unknown): Host {
  const version = isRecord(given) ? given["contractVersion"] : undefined;
  if (version !== HOST_CONTRACT_VERSION || !isHost(given)) {
    const found = typeof version === "number" ? `version ${version}` : "no version";
    const why =
      version === HOST_CONTRACT_VERSION
        ? "the host offers no refresh or no subscribe"
        : `the host offers ${found} of the monitor's contract, this monitor needs version ${HOST_CONTRACT_VERSION}`;
    return unusableHost("injected", why, isRecord(given) ? given : {});
  }
  const host = given;
  const kept = parseScope(host.state);
  return {
    name: "injected",
    problem: null,
    isReady: true,
    modes: host.requestDisplayMode ? MODES : [],
    scope: kept.project || kept.task ? kept : parseScope(host.input),
    environment: () => readEnvironment(host),
    pushed: () => host.snapshot ?? undefined,
    refresh: async (scope) => host.refresh(scope),
    subscribe(listener) {
      const unsubscribe: unknown = host.subscribe(listener);
      return () => {
        if (isMethod(unsubscribe)) unsubscribe();
      };
    },
    ...(host.saveState && { saveState: (scope) => host.saveState?.(scope) }),
    ...(host.setBadge && { setBadge: (badge) => host.setBadge?.(badge) }),
    ...(host.requestDisplayMode && {
      requestMode: async (mode) => {
        await host.requestDisplayMode?.(mode);
      },
    }),
    ...(host.sendPrompt && { sendPrompt: (text) => sendResult(() => host.sendPrompt?.(text)) }),
  };
}
