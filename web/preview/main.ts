/**
 * The preview's host: a slim bar, the monitor in a pane, and a strip that shows every follow-up
 * message. It lies outside the monitor's bundle and makes the page's only network call.
 * `?host=openai` offers `window.openai` instead of the monitor's own host contract.
 */
import { isMode, MODES } from "../src/contract/host";
import type { DisplayMode, MonitorHost, Scope, Theme, Visibility } from "../src/contract/host";
import type { Badge } from "../src/contract/live_status.gen";
import { isRecord, parseScope } from "../src/contract/parse";
import "./preview.css";

const ENDPOINT = "v1/widget-preview/open-monitor";
const TIMEOUT_MS = 10_000;
/** The strip keeps the newest messages, so that a page open for days stays small. */
const MOST_MESSAGES = 50;
const VISIBILITIES = ["expanded", "collapsed", "hidden"] as const;
const THEMES = ["light", "dark"] as const;

interface Seed {
  readonly serveUrl: string;
  readonly secret: string;
  readonly scope: Scope;
  readonly mode: DisplayMode;
  readonly theme: Theme | null;
}

interface Writable {
  displayMode: DisplayMode;
  visibility: Visibility;
  theme: Theme;
  state: Scope;
}

const seed = readSeed(document.getElementById("kasmos-seed")?.textContent ?? "{}");
const isOpenai = new URLSearchParams(location.search).get("host") === "openai";
const listeners = new Set<() => void>();
let accepts = true;

const pane: Writable = {
  displayMode: seed.mode === "sidebar" && isOpenai ? "fullscreen" : seed.mode,
  visibility: "expanded",
  theme: seed.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"),
  state: seed.scope,
};
const badgeText = element("span", "badge");
const messages = element("ol", "messages");
messages.setAttribute("aria-label", "messages");
// It scrolls, so the keyboard must reach it.
messages.tabIndex = 0;
offerHost();
drawBar();
dress();

function readSeed(text: string): Seed {
  const parsed: unknown = JSON.parse(text);
  const given = isRecord(parsed) ? parsed : {};
  const { serve_url: serveUrl, secret, mode, theme } = given;
  return {
    serveUrl: typeof serveUrl === "string" ? serveUrl : "",
    secret: typeof secret === "string" ? secret : "",
    scope: parseScope(given),
    mode: isMode(mode) ? mode : "fullscreen",
    theme: theme === "light" || theme === "dark" ? theme : null,
  };
}

/** The one call: an answer of any status is passed on, as long as it is one. */
async function refresh(scope: Scope): Promise<unknown> {
  const base = seed.serveUrl || document.baseURI.replace(/[?#].*$/, "");
  const response = await fetch(new URL(ENDPOINT, base.endsWith("/") || !seed.serveUrl ? base : `${base}/`), {
    method: "POST",
    headers: {
      "Content-Type": "application/json",
      ...(seed.secret && { "X-Kasmos-Preview": seed.secret }),
    },
    body: JSON.stringify(parseScope(scope)),
    credentials: "omit",
    cache: "no-store",
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  const text = await response.text();
  if (response.ok) return text;
  return refusal(text) ?? text;
}

/** A refusal of the server's guard is no tool result; it is shown like one. */
function refusal(text: string): unknown {
  try {
    const body: unknown = JSON.parse(text);
    const error = isRecord(body) ? body["error"] : undefined;
    return isRecord(error) ? { isError: true, _meta: { "kasmos/error": error } } : undefined;
  } catch {
    return undefined;
  }
}

function offerHost(): void {
  if (isOpenai) {
    Object.assign(window, { openai: appsSdk() });
    return;
  }
  const host: MonitorHost = {
    contractVersion: 1,
    get displayMode() {
      return pane.displayMode;
    },
    get visibility() {
      return pane.visibility;
    },
    get theme() {
      return pane.theme;
    },
    get state() {
      return pane.state;
    },
    refresh,
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    saveState(scope) {
      pane.state = parseScope(scope);
    },
    setBadge: showBadge,
    requestDisplayMode: (mode) => set({ displayMode: mode }),
    sendPrompt,
  };
  Object.assign(window, { kasmosMonitorHost: host });
}

function appsSdk(): object {
  return {
    toolInput: seed.scope,
    toolOutput: null,
    widgetState: null,
    get displayMode() {
      return pane.displayMode;
    },
    get theme() {
      return pane.theme;
    },
    callTool: (name: string, scope: Scope) =>
      name === "refresh_monitor"
        ? refresh(scope).then((text) => (typeof text === "string" ? { result: text } : text))
        : Promise.reject(new Error(`the monitor may not call ${name}`)),
    setWidgetState: (scope: Scope) => {
      pane.state = parseScope(scope);
      return Promise.resolve();
    },
    requestDisplayMode: ({ mode }: { mode: DisplayMode }) => {
      set({ displayMode: mode });
      return Promise.resolve({ mode });
    },
    sendFollowUpMessage: ({ prompt }: { prompt: string }) => sendPrompt(prompt),
  };
}

function sendPrompt(text: string): Promise<void> {
  if (!accepts) return Promise.reject(new Error("the preview refuses messages"));
  const item = element("li");
  const head = element("p", "head");
  head.textContent = `chat request · ${new Date().toLocaleTimeString()}`;
  const body = element("p", "text");
  body.dir = "auto";
  body.textContent = text;
  item.append(head, body);
  messages.prepend(item);
  while (messages.children.length > MOST_MESSAGES) messages.lastElementChild?.remove();
  document.documentElement.dataset["messages"] = "some";
  return Promise.resolve();
}

function showBadge({ level, running_agents: running, blocked }: Badge): void {
  badgeText.textContent = `badge ${level} · ${running} running · ${blocked} blocked`;
}

function set(change: Partial<Writable>): void {
  Object.assign(pane, change);
  dress();
  for (const listener of [...listeners]) listener();
  window.dispatchEvent(new CustomEvent("openai:set_globals", { detail: { globals: change } }));
}

function dress(): void {
  const { dataset } = document.documentElement;
  dataset["mode"] = pane.displayMode;
  dataset["visibility"] = pane.visibility;
  dataset["theme"] = pane.theme;
  for (const select of document.querySelectorAll<HTMLSelectElement>("#host-bar select")) {
    const value = { mode: pane.displayMode, theme: pane.theme, pane: pane.visibility }[select.name];
    if (value) select.value = value;
  }
}

function drawBar(): void {
  const bar = document.getElementById("host-bar");
  const strip = document.getElementById("conversation");
  const modes = MODES.filter((mode) => !isOpenai || mode !== "sidebar");
  const title = element("strong");
  title.textContent = isOpenai ? "preview · window.openai" : "preview";
  bar?.append(
    title,
    choice("mode", modes, (value) => {
      if (isMode(value)) set({ displayMode: value });
    }),
    choice("theme", THEMES, (value) => set({ theme: value === "dark" ? "dark" : "light" })),
    ...(isOpenai
      ? []
      : [
          choice("pane", VISIBILITIES, (value) => {
            const visibility = VISIBILITIES.find((each) => each === value);
            if (visibility) set({ visibility });
          }),
        ]),
    choice("messages", ["accepted", "refused"], (value) => {
      accepts = value === "accepted";
    }),
    badgeText,
  );
  const head = element("h2");
  head.textContent = "conversation";
  const note = element("p", "hint");
  note.textContent =
    "What the monitor's buttons ask appears here as a chat request. Nothing is changed by it.";
  strip?.append(head, note, messages);
}

function choice(name: string, values: readonly string[], chosen: (value: string) => void): HTMLElement {
  const label = element("label");
  const select = element("select");
  select.name = name;
  for (const value of values) {
    const option = element("option");
    option.value = value;
    option.textContent = value;
    select.append(option);
  }
  select.addEventListener("change", () => chosen(select.value));
  label.append(`${name} `, select);
  return label;
}

function element<K extends keyof HTMLElementTagNameMap>(tag: K, kind = ""): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  if (kind) made.className = kind;
  return made;
}
