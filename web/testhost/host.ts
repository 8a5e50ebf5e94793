/**
 * A host of MCP Apps for the end-to-end tests: the official bridge, connected to kas serve through
 * the page's own origin. Tests open panes, turn switches and read what went over the wire.
 */
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import type { CallToolResult } from "@modelcontextprotocol/client";
import {
  AppBridge,
  getToolUiResourceUri,
  isToolVisibilityModelOnly,
  PostMessageTransport,
} from "@modelcontextprotocol/ext-apps/app-bridge";
import type { McpUiDisplayMode, McpUiHostContext } from "@modelcontextprotocol/ext-apps/app-bridge";
import { isRecord } from "../src/contract/parse";

const TOOL = "open_monitor";
const INFO = { name: "kasmos-test-host", version: "1.0.0" };
const READY = "ui/notifications/sandbox-proxy-ready";

/** What a pane's host does otherwise than it should. */
interface Switches {
  readonly input?: Record<string, string>;
  readonly context?: McpUiHostContext;
  /** Never answers anything. */
  readonly isSilent?: boolean;
  /** Refuses messages, links, modes and tool calls. */
  readonly isDenying?: boolean;
  /** Tool calls never settle. */
  readonly isHanging?: boolean;
  readonly hasNoInput?: boolean;
  readonly hasNoResult?: boolean;
}

/** Everything that a pane's view sent. */
interface Wire {
  readonly messages: unknown[];
  readonly prompts: string[];
  readonly links: string[];
  readonly modes: string[];
  readonly heights: number[];
}

class Pane {
  readonly frame: HTMLIFrameElement;
  readonly wire: Wire = { messages: [], prompts: [], links: [], modes: [], heights: [] };
  readonly #client: Client;
  readonly #switches: Switches;
  #bridge: AppBridge | null = null;
  #context: McpUiHostContext;
  #html = "";
  #result: CallToolResult | null = null;

  constructor(name: string, client: Client, switches: Switches) {
    this.#client = client;
    this.#switches = switches;
    this.#context = { theme: "light", displayMode: "inline", availableDisplayModes: ["inline"], ...switches.context };
    this.frame = document.createElement("iframe");
    this.frame.id = name;
    this.frame.setAttribute("sandbox", "allow-scripts allow-same-origin");
    window.addEventListener("message", ({ source, data }: MessageEvent<unknown>) => {
      if (source === this.frame.contentWindow) this.wire.messages.push(data);
    });
  }

  /** Calls the tool, reads its view, and shows it behind the sandbox. */
  async open(): Promise<void> {
    const { tools } = await this.#client.listTools();
    const tool = tools.find(({ name }) => name === TOOL);
    const uri = tool && getToolUiResourceUri(tool);
    if (!uri) throw new Error(`${TOOL} has no view`);
    this.#result = await this.#client.callTool({ name: TOOL, arguments: this.#switches.input ?? {} });
    const [view] = (await this.#client.readResource({ uri })).contents;
    if (!view || !("text" in view)) throw new Error("the view is no text");
    this.#html = view.text;
    const meta: unknown = view._meta?.["ui"];
    const csp = isRecord(meta) ? meta["csp"] : undefined;
    if (csp === undefined) throw new Error("the view declares no policy");
    const origin = document.documentElement.dataset["sandbox"] ?? "";
    const isThere = new Promise<void>((resolve) => {
      window.addEventListener("message", ({ source, data }: MessageEvent<unknown>) => {
        if (source === this.frame.contentWindow && isRecord(data) && data["method"] === READY) resolve();
      });
    });
    this.frame.src = `${origin}/sandbox.html?csp=${encodeURIComponent(JSON.stringify(csp))}`;
    document.body.append(this.frame);
    await isThere;
    await this.load();
  }

  /** Puts the view into the frame, also once more: then with a bridge of its own. */
  async load(): Promise<void> {
    if (this.#switches.isSilent) {
      const method = "ui/notifications/sandbox-resource-ready";
      this.frame.contentWindow?.postMessage({ jsonrpc: "2.0", method, params: { html: this.#html } }, "*");
      return;
    }
    await this.#bridge?.close();
    const bridge = await this.#connect();
    this.#bridge = bridge;
    const isInitialized = new Promise<void>((resolve) => {
      bridge.addEventListener("initialized", () => resolve());
    });
    await bridge.sendSandboxResourceReady({ html: this.#html });
    await isInitialized;
    if (!this.#switches.hasNoInput) await bridge.sendToolInput({ arguments: this.#switches.input ?? {} });
    if (!this.#switches.hasNoResult) await this.sendResult({});
  }

  /** Sends the tool's result once more, with other structured content where some is given. */
  async sendResult(change: object): Promise<void> {
    if (!this.#result) return;
    const { structuredContent } = this.#result;
    const known = isRecord(structuredContent) ? structuredContent : {};
    await this.#bridge?.sendToolResult({ ...this.#result, structuredContent: { ...known, ...change } });
  }

  change(context: McpUiHostContext): void {
    this.#context = { ...this.#context, ...context };
    this.#bridge?.setHostContext(this.#context);
  }

  async teardown(): Promise<unknown> {
    return this.#bridge?.teardownResource({});
  }

  async #connect(): Promise<AppBridge> {
    const { isDenying, isHanging } = this.#switches;
    const capabilities = { openLinks: {}, serverTools: {}, message: { text: {} } };
    const bridge = new AppBridge(this.#client, INFO, capabilities, { hostContext: this.#context });
    bridge.onmessage = ({ content: [block] }) => {
      this.wire.prompts.push(block?.type === "text" ? block.text : "");
      return Promise.resolve(isDenying ? { isError: true } : {});
    };
    bridge.onopenlink = ({ url }) => {
      this.wire.links.push(url);
      return Promise.resolve(isDenying ? { isError: true } : {});
    };
    bridge.onrequestdisplaymode = ({ mode }) => {
      this.wire.modes.push(mode);
      if (!isDenying) this.change({ displayMode: mode });
      const set: McpUiDisplayMode = this.#context.displayMode ?? "inline";
      return Promise.resolve({ mode: set });
    };
    bridge.addEventListener("sizechange", ({ height }) => {
      if (height === undefined) return;
      this.wire.heights.push(height);
      this.frame.style.height = `${height}px`;
    });
    const { contentWindow } = this.frame;
    if (!contentWindow) throw new Error("the frame has no window");
    await bridge.connect(new PostMessageTransport(contentWindow, contentWindow));
    // Connecting passes calls on to the server, so what they do otherwise is said after it.
    const { tools } = await this.#client.listTools();
    const hidden = new Set(tools.filter(isToolVisibilityModelOnly).map(({ name }) => name));
    bridge.oncalltool = (params) => {
      if (hidden.has(params.name)) return Promise.reject(new Error(`${params.name} is for the model alone`));
      return this.#client.callTool(params);
    };
    if (isDenying) bridge.oncalltool = () => Promise.reject(new Error("denied"));
    if (isHanging) bridge.oncalltool = () => new Promise(() => undefined);
    return bridge;
  }
}

const panes = new Map<string, Pane>();
let client: Promise<Client> | null = null;

async function connected(): Promise<Client> {
  const made = new Client(INFO);
  await made.connect(new StreamableHTTPClientTransport(new URL("/mcp", location.href)));
  return made;
}

async function open(name: string, switches: Switches): Promise<void> {
  const pane = new Pane(name, await (client ??= connected()), switches);
  panes.set(name, pane);
  await pane.open();
}

Object.assign(window, { panes, openPane: open });
