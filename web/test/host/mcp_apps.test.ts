import schema from "@modelcontextprotocol/ext-apps/schema.json";
import { CallToolRequestSchema, JSONRPCMessageSchema } from "@modelcontextprotocol/core";
import { Ajv2020 } from "ajv/dist/2020.js";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { isRecord } from "../../src/contract/parse";
import type { Host } from "../../src/host/host";
import { mcpAppsHost } from "../../src/host/mcp_apps";
import { raw } from "../fixtures";
import { FakePage } from "./page";
import type { Message } from "./page";

const CONTEXT = {
  theme: "dark",
  displayMode: "inline",
  availableDisplayModes: ["inline", "fullscreen", "nonsense"],
  containerDimensions: { width: 400, maxHeight: 300 },
  safeAreaInsets: { top: 1, right: 2, bottom: 3, left: 4 },
  locale: "de-DE",
  timeZone: "Asia/Tokyo",
};

const ajv = new Ajv2020({ strict: false, validateFormats: false });
const definitions: Readonly<Record<string, object>> = schema.$defs;

let around: FakePage;
let page: FakePage;
let host: Host;
let heard: number;

/** The definition whose messages have this method. */
function definitionOf(method: string): object | undefined {
  return Object.values(definitions).find(
    (each) =>
      "properties" in each &&
      isRecord(each.properties) &&
      isRecord(each.properties["method"]) &&
      each.properties["method"]["const"] === method,
  );
}

/** What the official schemas have against a message. */
function faults(message: Message): unknown {
  const { method, params } = message;
  const envelope = JSONRPCMessageSchema.safeParse(message);
  if (!envelope.success) return envelope.error.message;
  if (typeof method !== "string") return null;
  if (method === "tools/call") return CallToolRequestSchema.safeParse({ method, params }).error ?? null;
  const definition = definitionOf(method);
  if (!definition) return `the schema knows no ${method}`;
  const isValid = ajv.compile(definition);
  return isValid({ method, params }) ? null : isValid.errors;
}

function sent(method: string): readonly Message[] {
  return around.posted.filter((message) => message["method"] === method);
}

function answer(method: string, result: unknown): void {
  page.hear({ jsonrpc: "2.0", id: sent(method).at(-1)?.["id"], result });
}

function tell(name: string, params: unknown): void {
  page.hear({ jsonrpc: "2.0", method: `ui/notifications/${name}`, params });
}

async function pass(ms: number): Promise<void> {
  await vi.advanceTimersByTimeAsync(ms);
}

async function connect(hostContext: object = CONTEXT, hostCapabilities: object = { openLinks: {} }): Promise<void> {
  const hostInfo = { name: "a host", version: "1" };
  answer("ui/initialize", { protocolVersion: "2026-01-26", hostInfo, hostCapabilities, hostContext });
  await pass(0);
}

beforeEach(() => {
  vi.useFakeTimers();
  around = new FakePage();
  page = new FakePage({}, around);
  host = mcpAppsHost(page);
  heard = 0;
  host.subscribe(() => {
    heard += 1;
  });
});
afterEach(() => {
  expect(around.posted.map(faults)).toEqual(around.posted.map(() => null));
  vi.useRealTimers();
});

describe("the beginning", () => {
  test("introduces the monitor, and says so when it was answered", async () => {
    expect(around.posted).toEqual([
      {
        jsonrpc: "2.0",
        id: around.posted[0]?.["id"],
        method: "ui/initialize",
        params: {
          appInfo: { name: "kasmos-monitor", version: "0.1.0" },
          appCapabilities: { availableDisplayModes: ["pip", "inline", "fullscreen"] },
          protocolVersion: "2026-01-26",
        },
      },
    ]);
    expect([host.isReady, host.problem]).toEqual([false, null]);
    await connect();
    expect(around.posted.slice(1)).toEqual([{ jsonrpc: "2.0", method: "ui/notifications/initialized", params: {} }]);
  });

  test("is ready with the arguments of the tool call, which are the first selection", async () => {
    await connect();
    expect(host.isReady).toBe(false);
    tell("tool-input", { arguments: { project: "alpha", task: 3 } });
    expect([host.isReady, host.scope]).toEqual([true, { project: "alpha" }]);
  });

  test("waits 300 ms for these arguments and never for a result", async () => {
    await connect();
    await pass(299);
    expect(host.isReady).toBe(false);
    await pass(1);
    expect([host.isReady, host.scope]).toEqual([true, {}]);
    await pass(60_000);
    expect([host.problem, sent("ui/initialize").length]).toEqual([null, 1]);
  });

  test("is tried once more after a second, and said once", async () => {
    await pass(1000);
    const [first, second] = sent("ui/initialize");
    expect(first?.["id"]).not.toBe(second?.["id"]);
    await connect();
    page.hear({ jsonrpc: "2.0", id: first?.["id"], result: { hostContext: { theme: "light" } } });
    await pass(60_000);
    expect([sent("ui/initialize").length, sent("ui/notifications/initialized").length]).toEqual([2, 1]);
    expect(host.environment().theme).toBe("dark");
  });

  test("without an answer for 5 s is no host, until one answers after all", async () => {
    await pass(4999);
    expect(host.problem).toBe(null);
    await pass(1);
    expect([host.problem, heard]).toEqual(["no host answers here", 1]);
    await connect();
    await pass(300);
    expect([host.problem, host.isReady]).toEqual([null, true]);
  });

  test("with a refusal is no host either", async () => {
    page.hear({ jsonrpc: "2.0", id: around.posted[0]?.["id"], error: { code: -32_000, message: "no" } });
    await pass(5000);
    expect(host.problem).toBe("no host answers here");
  });
});

describe("the context", () => {
  test("is read, and what a change leaves out stays", async () => {
    await connect();
    const before = {
      mode: "inline",
      visibility: null,
      theme: "dark",
      maxHeight: 300,
      insets: "1px 2px 3px 4px",
      locale: "de-DE",
      timeZone: "Asia/Tokyo",
    };
    expect([host.environment(), host.modes]).toEqual([before, ["inline", "fullscreen"]]);
    tell("host-context-changed", { visibility: "hidden", theme: "light", availableDisplayModes: ["pip"], containerDimensions: { height: 90 } });
    expect([host.environment(), host.modes]).toEqual([{ ...before, theme: "light", maxHeight: 90 }, ["pip"]]);
    expect(heard).toBe(2);
  });

  test("gives colours only when they are colours, and text and ground come together", async () => {
    vi.stubGlobal("CSS", { supports: (_: string, value: string) => value.startsWith("#") });
    const given = {
      "--color-background-primary": "#123",
      "--color-text-primary": "#fed",
      "--color-text-danger": "url(https://a.example/)",
      "--font-sans": "Inter",
      "--border-radius-sm": "2px",
      "--font-mono": 3,
      "--k-bg": "#000",
    };
    await connect({ styles: { variables: given } });
    const rest = { "--font-sans": "Inter", "--border-radius-sm": "2px" };
    expect(host.variables).toEqual({ "--color-background-primary": "#123", "--color-text-primary": "#fed", ...rest });
    const before = host.variables;
    tell("host-context-changed", { theme: "dark" });
    expect(host.variables).toBe(before);
    tell("host-context-changed", { styles: { variables: { ...given, "--color-text-primary": "red" } } });
    expect(host.variables).toEqual(rest);
    vi.unstubAllGlobals();
  });
});

describe("what is heard", () => {
  test("comes from the window around, or is nothing", async () => {
    await connect();
    const stranger = new FakePage();
    const result = { content: [], structuredContent: raw["empty"] };
    for (const source of [stranger, page, null]) {
      page.hear({ jsonrpc: "2.0", method: "ui/notifications/tool-result", params: result }, source);
      page.hear({ jsonrpc: "2.0", id: 7, method: "ping" }, source);
    }
    for (const odd of [null, "text", [], 3, { method: "ping", id: 1 }, { jsonrpc: "1.0", method: "ping", id: 1 }]) page.hear(odd);
    expect([host.pushed(), around.posted.length]).toEqual([undefined, 2]);
    tell("tool-result", result);
    expect(host.pushed()).toEqual(result);
  });

  test("of other kinds changes nothing", async () => {
    await connect();
    const before = heard;
    for (const name of ["tool-input-partial", "tool-cancelled", "something-new"]) tell(name, { arguments: { project: "a" } });
    page.hear({ jsonrpc: "2.0", method: "notifications/tools/list_changed" });
    expect([heard, host.scope, around.posted.length]).toEqual([before, {}, 2]);
  });

  test("as a question is answered: ping, teardown also with the id 0, and others with a refusal", async () => {
    const end = vi.fn();
    host.onEnd?.(end);
    await connect();
    page.hear({ jsonrpc: "2.0", id: "p", method: "ping" });
    page.hear({ jsonrpc: "2.0", id: 4, method: "tools/list", params: {} });
    expect(end).not.toHaveBeenCalled();
    page.hear({ jsonrpc: "2.0", id: 0, method: "ui/resource-teardown", params: {} });
    expect(end).toHaveBeenCalledTimes(1);
    expect(around.posted.slice(2)).toEqual([
      { jsonrpc: "2.0", id: "p", result: {} },
      { jsonrpc: "2.0", id: 4, error: { code: -32_601, message: "tools/list is not known here" } },
      { jsonrpc: "2.0", id: 0, result: {} },
    ]);
  });
});

describe("what is asked", () => {
  test("is refresh_monitor with the selection and nothing else", async () => {
    await connect();
    const refreshed = host.refresh({ project: "alpha" });
    expect(sent("tools/call").map(({ params }) => params)).toEqual([{ name: "refresh_monitor", arguments: { project: "alpha" } }]);
    answer("tools/call", { structuredContent: raw["empty"] });
    expect(await refreshed).toEqual({ structuredContent: raw["empty"] });
  });

  test("gets its own answer, whatever order they come in, and each once", async () => {
    await connect();
    const both = Promise.all([host.refresh({ project: "a" }), host.refresh({ project: "b" })]);
    const [first, second] = sent("tools/call");
    page.hear({ jsonrpc: "2.0", id: 99, result: "stray" });
    page.hear({ jsonrpc: "2.0", id: second?.["id"], result: "for b" });
    page.hear({ jsonrpc: "2.0", id: second?.["id"], result: "again" });
    page.hear({ jsonrpc: "2.0", id: first?.["id"], result: "for a" });
    expect(await both).toEqual(["for a", "for b"]);
  });

  test("fails where the host refuses, and is forgotten when it was not answered for a minute", async () => {
    await connect();
    const refused = host.refresh({});
    page.hear({ jsonrpc: "2.0", id: sent("tools/call").at(-1)?.["id"], error: { code: -1, message: "no" } });
    await expect(refused).rejects.toThrow("refused");
    const forgotten = expect(host.refresh({})).rejects.toThrow("did not answer");
    await pass(60_001);
    void host.refresh({});
    await forgotten;
  });

  test("has other ids than a monitor that was in the frame before", async () => {
    await connect();
    void host.refresh({});
    await pass(5);
    mcpAppsHost(page);
    const ids = around.posted.flatMap(({ id }) => (id === undefined ? [] : [id]));
    expect(new Set(ids).size).toBe(ids.length);
  });

  test.each([
    [{}, "sent"],
    [{ isError: true }, "refused"],
  ])("as a message that the host answers with %o is %s", async (result, expected) => {
    await connect();
    const outcome = host.sendPrompt?.("hello");
    expect(sent("ui/message").map(({ params }) => params)).toEqual([{ role: "user", content: [{ type: "text", text: "hello" }] }]);
    answer("ui/message", result);
    expect(await outcome).toBe(expected);
  });

  test("as a mode may be answered with another one, or with nothing", async () => {
    await connect();
    const first = host.requestMode?.("fullscreen");
    answer("ui/request-display-mode", { mode: "pip" });
    await first;
    expect(host.environment().mode).toBe("pip");
    const second = host.requestMode?.("inline");
    answer("ui/request-display-mode", {});
    await second;
    expect(host.environment().mode).toBe("pip");
  });

  test("as a link is the host's only where it opens links", async () => {
    await connect();
    expect(host.openLink?.("https://a.example/")).toBe(true);
    expect(sent("ui/open-link").map(({ params }) => params)).toEqual([{ url: "https://a.example/" }]);
    around = new FakePage();
    page = new FakePage({}, around);
    host = mcpAppsHost(page);
    await connect({}, {});
    expect([host.openLink?.("https://a.example/"), sent("ui/open-link")]).toEqual([false, []]);
  });

  test("as a height is the last of several, and none before the host has answered", async () => {
    const heights = (): readonly unknown[] => sent("ui/notifications/size-changed").map(({ params }) => params);
    host.reportHeight?.(90);
    await pass(100);
    expect(heights()).toEqual([]);
    await connect();
    for (const height of [100, 120, 140]) host.reportHeight?.(height);
    await pass(100);
    expect(heights()).toEqual([{ height: 90 }, { height: 140 }]);
  });
});

test("after it nothing is heard, and no timer is left", async () => {
  const stop = host.subscribe(() => undefined);
  host.reportHeight?.(10);
  stop();
  await connect();
  page.hear({ jsonrpc: "2.0", id: 1, method: "ping" });
  expect([around.posted.length, vi.getTimerCount()]).toEqual([1, 0]);
});
