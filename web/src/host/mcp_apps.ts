/**
 * A host of MCP Apps: JSON-RPC with the window around ours, protocol 2026-01-26. Source of the
 * messages: the specification of ext-apps; its `schema.json` checks in tests what is sent here.
 *
 *  ui/initialize, again after 1 s ──> answered ──> initialized ──> tool-input, or 300 ms ──> ready
 *        └── 5 s: no host, until one answers after all
 */
import { version } from "../../package.json";
import type { DisplayMode, Scope } from "../contract/host";
import { isMode } from "../contract/host";
import { isRecord, parseScope } from "../contract/parse";
import type { Host, HostPage } from "./host";
import { NO_HOST, readEnvironment, REFRESH_TOOL, SDK_MODES, sendResult } from "./host";

const PROTOCOL = "2026-01-26";
const AGAIN_MS = 1000;
const GIVE_UP_MS = 5000;
/** How long the arguments of the tool call may take; then the monitor asks without them. */
const INPUT_MS = 300;
/** A late answer still counts; one later than this is forgotten. */
const CALL_MS = 60_000;
/** A person may have to agree to a message first. */
const MESSAGE_MS = 600_000;
const HEIGHT_MS = 50;
const METHOD_NOT_FOUND = -32_601;

type Fields = Readonly<Record<string, unknown>>;

interface Call {
  readonly until: number;
  readonly resolve: (result: unknown) => void;
  readonly reject: (reason: Error) => void;
}

/** Speaks with the window around `page`; begins at once. */
export function mcpAppsHost(page: HostPage): Host {
  const around = page.parent;
  const calls = new Map<unknown, Call>();
  let listener = (): void => undefined;
  let end = (): void => undefined;
  let context: Fields = {};
  let variables: Readonly<Record<string, string>> = {};
  let canOpenLinks = false;
  let isConnected = false;
  let isReady = false;
  let problem: string | null = null;
  let scope: Scope = {};
  let pushed: unknown;
  const timers: number[] = [];
  let heightTimer = 0;
  let height = 0;
  // An answer to a monitor that was in this frame before must not be taken for one to this.
  let lastId = Date.now();

  function after(ms: number, run: () => void): void {
    timers.push(page.setTimeout(run, ms));
  }

  function send(message: Fields): void {
    around.postMessage({ jsonrpc: "2.0", ...message }, "*");
  }

  function notify(name: string, params: Fields): void {
    send({ method: `ui/notifications/${name}`, params });
  }

  function call(method: string, params: Fields, limitMs = CALL_MS): Promise<unknown> {
    const now = performance.now();
    // The next call is soon enough to give up old ones: polls go on all the time.
    for (const [id, { until }] of calls) if (until < now) settle(id, undefined, true);
    return new Promise((resolve, reject) => {
      calls.set(++lastId, { until: now + limitMs, resolve, reject });
      send({ id: lastId, method, params });
    });
  }

  function settle(id: unknown, result: unknown, isFailed: boolean): void {
    const waiting = calls.get(id);
    calls.delete(id);
    if (isFailed) waiting?.reject(new Error("the host refused, or did not answer"));
    else waiting?.resolve(result);
  }

  function hear(event: Event): void {
    if (!(event instanceof MessageEvent) || event.source !== around) return;
    const data: unknown = event.data;
    if (!isRecord(data) || data["jsonrpc"] !== "2.0") return;
    const { id, method } = data;
    if (typeof method !== "string") settle(id, data["result"], "error" in data);
    else if (id === undefined) told(method, isRecord(data["params"]) ? data["params"] : {});
    // An id of 0 is an id.
    else asked(id, method);
  }

  /** Before the host knows the view, it hears of no height. */
  function tellHeight(): void {
    if (isConnected && height) notify("size-changed", { height });
  }

  function asked(id: unknown, method: string): void {
    const isTeardown = method === "ui/resource-teardown";
    if (isTeardown || method === "ping") send({ id, result: {} });
    else send({ id, error: { code: METHOD_NOT_FOUND, message: `${method} is not known here` } });
    if (isTeardown) end();
  }

  function told(method: string, params: Fields): void {
    switch (method.replace("ui/notifications/", "")) {
      case "tool-input":
        scope = parseScope(params["arguments"]);
        isReady = isConnected;
        break;
      case "tool-result":
        pushed = params;
        break;
      case "host-context-changed":
        learn(params);
        break;
      default:
        return;
    }
    listener();
  }

  /** What a message about the context leaves out stays as it was. */
  function learn(change: Fields): void {
    context = { ...context, ...change };
    const { styles } = change;
    if (isRecord(styles) && isRecord(styles["variables"])) variables = usable(styles["variables"]);
  }

  function introduce(): void {
    const appInfo = { name: "kasmos-monitor", version };
    const appCapabilities = { availableDisplayModes: SDK_MODES };
    call("ui/initialize", { appInfo, appCapabilities, protocolVersion: PROTOCOL }).then(connected, () => undefined);
  }

  function connected(answer: unknown): void {
    if (isConnected || !isRecord(answer)) return;
    const { hostCapabilities, hostContext } = answer;
    isConnected = true;
    problem = null;
    canOpenLinks = isRecord(hostCapabilities) && "openLinks" in hostCapabilities;
    if (isRecord(hostContext)) learn(hostContext);
    notify("initialized", {});
    tellHeight();
    after(INPUT_MS, () => {
      isReady = true;
      listener();
    });
    listener();
  }

  function modes(): readonly DisplayMode[] {
    const given = context["availableDisplayModes"];
    return Array.isArray(given) ? SDK_MODES.filter((mode) => given.includes(mode)) : [];
  }

  page.addEventListener("message", hear);
  introduce();
  after(AGAIN_MS, () => {
    if (!isConnected) introduce();
  });
  after(GIVE_UP_MS, () => {
    if (isConnected) return;
    problem = NO_HOST;
    listener();
  });

  return {
    name: "mcp_apps",
    get problem() {
      return problem;
    },
    get isReady() {
      return isReady;
    },
    get modes() {
      return modes();
    },
    get scope() {
      return scope;
    },
    get variables() {
      return variables;
    },
    environment() {
      const { containerDimensions: box, safeAreaInsets: insets } = context;
      const { maxHeight, height } = isRecord(box) ? box : {};
      return readEnvironment({ ...context, visibility: null, maxHeight: maxHeight ?? height }, insets);
    },
    pushed: () => pushed,
    refresh: (asked) => call("tools/call", { name: REFRESH_TOOL, arguments: parseScope(asked) }),
    subscribe(given) {
      listener = given;
      return () => {
        page.removeEventListener("message", hear);
        [...timers, heightTimer].forEach((timer) => page.clearTimeout(timer));
      };
    },
    onEnd(given) {
      end = given;
    },
    async requestMode(mode) {
      const answer = await call("ui/request-display-mode", { mode });
      if (!isRecord(answer) || !isMode(answer["mode"])) return;
      learn({ displayMode: answer["mode"] });
      listener();
    },
    sendPrompt: (text) =>
      sendResult(() => call("ui/message", { role: "user", content: [{ type: "text", text }] }, MESSAGE_MS)),
    reportHeight(given) {
      height = given;
      page.clearTimeout(heightTimer);
      heightTimer = page.setTimeout(tellHeight, HEIGHT_MS);
    },
    openLink(url) {
      if (canOpenLinks) call("ui/open-link", { url }).catch(() => undefined);
      return canOpenLinks;
    },
  };
}

/** The variables that can be used; colours only where text and ground are given together. */
function usable(given: Fields): Readonly<Record<string, string>> {
  const hasGround = ["--color-background-primary", "--color-text-primary"].every((name) => isColor(given[name]));
  const kept: Record<string, string> = {};
  for (const [name, value] of Object.entries(given)) {
    const isKept = name.startsWith("--color-") ? hasGround && isColor(value) : /^--(font|border-radius)-/.test(name);
    if (isKept && typeof value === "string") kept[name] = value;
  }
  return kept;
}

function isColor(value: unknown): boolean {
  return typeof value === "string" && CSS.supports("color", value);
}
