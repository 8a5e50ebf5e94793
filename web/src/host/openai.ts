/** The Apps SDK: `window.openai`. Each global is looked for before it is used. */
import { isMethod, isRecord, parseScope } from "../contract/parse";
import type { Host } from "./host";
import { readEnvironment, REFRESH_TOOL, SDK_MODES, sendResult } from "./host";

const GLOBALS_CHANGED = "openai:set_globals";

type Method = (...args: unknown[]) => unknown;

/** Whether `value` can call tools, which is the least that the monitor needs. */
export function isOpenai(value: unknown): value is Readonly<Record<string, unknown>> {
  return isRecord(value) && isMethod(value["callTool"]);
}

/** Wraps `window.openai`; `target` is where its change event arrives. */
export function openaiHost(openai: Readonly<Record<string, unknown>>, target: EventTarget): Host {
  const method = (name: string): Method | undefined => {
    const found = openai[name];
    return isMethod(found) ? (...args) => found.apply(openai, args) : undefined;
  };
  const kept = parseScope(openai["widgetState"]);
  const send = method("sendFollowUpMessage");
  const request = method("requestDisplayMode");
  const save = method("setWidgetState");
  const report = method("notifyIntrinsicHeight");
  const open = method("openExternal");
  return {
    name: "openai",
    problem: null,
    isReady: true,
    modes: request ? SDK_MODES : [],
    scope: kept.project || kept.task ? kept : parseScope(openai["toolInput"]),
    environment() {
      const area = openai["safeArea"];
      return readEnvironment(openai, isRecord(area) ? area["insets"] : undefined);
    },
    pushed: () => openai["toolOutput"] ?? undefined,
    async refresh({ project = "", task = "" }) {
      return await method("callTool")?.(REFRESH_TOOL, { project, task });
    },
    subscribe(listener) {
      target.addEventListener(GLOBALS_CHANGED, listener);
      return () => target.removeEventListener(GLOBALS_CHANGED, listener);
    },
    ...(save && {
      saveState(scope) {
        // Keeping the selection is a comfort: a host that refuses it breaks nothing.
        Promise.resolve(save(scope)).catch(() => undefined);
      },
    }),
    ...(request && {
      requestMode: async (mode) => {
        await request({ mode });
      },
    }),
    ...(send && { sendPrompt: (prompt) => sendResult(() => send({ prompt })) }),
    ...(open && {
      openLink(href) {
        open({ href });
        return true;
      },
    }),
    ...(report && { reportHeight: (height) => void report(height) }),
  };
}
