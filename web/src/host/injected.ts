/** A host of the versioned contract: `window.kasmosMonitorHost`. */
import { HOST_CONTRACT_VERSION, MODES } from "../contract/host";
import type { MonitorHost } from "../contract/host";
import { isMethod, isRecord, parseScope } from "../contract/parse";
import type { Host } from "./host";
import { readEnvironment, sendResult, unusableHost } from "./host";

/** Narrows to what can be called at all; each property is checked again when it is read. */
function isHost(value: unknown): value is MonitorHost {
  return can(value, "refresh") && can(value, "subscribe");
}

function can(host: unknown, method: string): boolean {
  return isRecord(host) && isMethod(host[method]);
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
    modes: can(host, "requestDisplayMode") ? MODES : [],
    scope: kept.project || kept.task ? kept : parseScope(host.input),
    environment: () => readEnvironment(host),
    pushed: () => host.snapshot ?? undefined,
    refresh: async (scope) => host.refresh(scope),
    subscribe(listener) {
      let unsubscribe: unknown;
      void quietly(() => (unsubscribe = host.subscribe(listener)));
      return () => {
        if (isMethod(unsubscribe)) void quietly(unsubscribe);
      };
    },
    ...(can(host, "saveState") && { saveState: (scope) => void quietly(() => host.saveState?.(scope)) }),
    ...(can(host, "setBadge") && { setBadge: (badge) => void quietly(() => host.setBadge?.(badge)) }),
    ...(can(host, "requestDisplayMode") && { requestMode: (mode) => quietly(() => host.requestDisplayMode?.(mode)) }),
    ...(can(host, "sendPrompt") && { sendPrompt: (text) => sendResult(() => host.sendPrompt?.(text)) }),
  };
}

/** What a host throws, at once or later, is the host's affair: the monitor goes on. */
async function quietly(run: () => unknown): Promise<void> {
  try {
    await run();
  } catch {
    // Nobody waits for more than that it was told.
  }
}
