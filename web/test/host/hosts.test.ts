import { describe, expect, test, vi } from "vitest";
import { chooseHost } from "../../src/host/choose";
import { FakePage } from "./page";

function page(globals: object, around: FakePage | null = null): FakePage {
  return new FakePage(globals, around);
}

/** What a host that says nothing more leaves open. */
const UNSAID = { insets: "", locale: null, timeZone: null };

function injected(more: object = {}): object {
  return {
    contractVersion: 1,
    displayMode: "pip",
    visibility: "collapsed",
    theme: "dark",
    refresh: vi.fn(() => Promise.resolve("answer")),
    subscribe: () => () => undefined,
    ...more,
  };
}

describe("which host", () => {
  test("is the injected one even where the Apps SDK is there too", () => {
    const host = chooseHost(page({ kasmosMonitorHost: injected(), openai: { callTool: vi.fn() } }));
    expect([host.name, host.problem]).toEqual(["injected", null]);
  });

  test("is the Apps SDK only where it can call tools", () => {
    expect(chooseHost(page({ openai: { callTool: vi.fn() } })).name).toBe("openai");
    expect(chooseHost(page({ openai: {} })).name).toBe("none");
    expect(chooseHost(page({ openai: {} }, page({}))).name).toBe("mcp_apps");
  });

  test("is MCP Apps only in a frame, and after the other two", () => {
    const around = page({});
    const openai = { callTool: vi.fn() };
    const names = [{}, { openai }, { openai, kasmosMonitorHost: injected() }].map((globals) => chooseHost(page(globals, around)).name);
    expect(names).toEqual(["mcp_apps", "openai", "injected"]);
    expect(around.posted.length).toBe(1);
    expect(chooseHost(page({})).name).toBe("none");
  });

  test.each([2, "1", undefined])("of contract version %s is incompatible", (contractVersion) => {
    const host = chooseHost(page({ kasmosMonitorHost: injected({ contractVersion }) }));
    expect(host.problem).toMatch(/needs version 1/);
  });
});

describe("an injected host", () => {
  test("is read again each time, and what it does not say is null", () => {
    const given: Record<string, unknown> = { ...injected() };
    const host = chooseHost(page({ kasmosMonitorHost: given }));
    expect(host.environment()).toEqual({ mode: "pip", visibility: "collapsed", theme: "dark", maxHeight: null, ...UNSAID });
    Object.assign(given, { displayMode: "nonsense", visibility: "?", theme: 1, maxHeight: 240 });
    expect(host.environment()).toEqual({ mode: "inline", visibility: null, theme: null, maxHeight: 240, ...UNSAID });
  });

  test("starts with the kept selection, else with the input", () => {
    const input = { project: "a", task: "b" };
    expect(chooseHost(page({ kasmosMonitorHost: injected({ input }) })).scope).toEqual(input);
    expect(chooseHost(page({ kasmosMonitorHost: injected({ input, state: { project: "c" } }) })).scope).toEqual({ project: "c" });
  });

  test("offers only what it can do", () => {
    const host = chooseHost(page({ kasmosMonitorHost: injected() }));
    expect([host.sendPrompt, host.setBadge, host.saveState, host.requestMode, host.modes]).toEqual([
      undefined, undefined, undefined, undefined, [],
    ]);
  });

  test.each([
    [() => undefined, "sent"],
    [() => Promise.resolve({ isError: true }), "refused"],
    [() => false, "refused"],
    [() => Promise.reject(new Error("no")), "refused"],
    [() => { throw new Error("no"); }, "refused"],
  ])("answers a message sent with %s", async (sendPrompt, expected) => {
    const host = chooseHost(page({ kasmosMonitorHost: injected({ sendPrompt }) }));
    expect(await host.sendPrompt?.("hello")).toBe(expected);
  });

  test.each([
    () => { throw new Error("no"); },
    () => Promise.reject(new Error("no")),
  ])("may throw or reject wherever it is told something", async (fails) => {
    const more = { saveState: fails, setBadge: fails, requestDisplayMode: fails, subscribe: () => fails };
    const host = chooseHost(page({ kasmosMonitorHost: injected(more) }));
    const badge = { level: "idle", running_agents: 0, blocked: 0, implementing: 0, reviewing: 0 } as const;
    host.saveState?.({ project: "a" });
    host.setBadge?.(badge);
    host.subscribe(() => undefined)();
    chooseHost(page({ kasmosMonitorHost: injected({ subscribe: fails }) })).subscribe(() => undefined)();
    await expect(host.requestMode?.("pip")).resolves.toBe(undefined);
  });

  test("can do only what is a method of it", () => {
    const more = { saveState: "x", setBadge: 1, requestDisplayMode: {}, sendPrompt: true };
    const host = chooseHost(page({ kasmosMonitorHost: injected(more) }));
    expect([host.sendPrompt, host.setBadge, host.saveState, host.requestMode, host.modes]).toEqual([
      undefined, undefined, undefined, undefined, [],
    ]);
  });
});

describe("the Apps SDK", () => {
  test("is asked through refresh_monitor and nothing else", async () => {
    const callTool = vi.fn(() => Promise.resolve("answer"));
    const host = chooseHost(page({ openai: { callTool } }));
    expect(await host.refresh({ project: "a" })).toBe("answer");
    expect(callTool.mock.calls).toEqual([["refresh_monitor", { project: "a", task: "" }]]);
  });

  test("tells of changes by its event, until nobody listens", () => {
    const globals = page({ openai: { callTool: vi.fn() } });
    const listener = vi.fn();
    const stop = chooseHost(globals).subscribe(listener);
    globals.dispatchEvent(new Event("openai:set_globals"));
    stop();
    globals.dispatchEvent(new Event("openai:set_globals"));
    expect(listener).toHaveBeenCalledTimes(1);
  });

  test("is never asked for a sidebar", () => {
    const openai = { callTool: vi.fn(), requestDisplayMode: vi.fn() };
    expect(chooseHost(page({ openai })).modes).toEqual(["pip", "inline", "fullscreen"]);
  });

  test("tells the edges of the device, and how dates are written", () => {
    const safeArea = { insets: { top: 8, right: 0, bottom: 16, left: -2 } };
    const openai = { callTool: vi.fn(), safeArea, locale: "de", timeZone: "Asia/Tokyo" };
    expect(chooseHost(page({ openai })).environment()).toMatchObject({
      insets: "8px 0px 16px 0px",
      locale: "de",
      timeZone: "Asia/Tokyo",
    });
  });

  test("opens links where it can", () => {
    const openExternal = vi.fn();
    expect(chooseHost(page({ openai: { callTool: vi.fn(), openExternal } })).openLink?.("https://a.example/")).toBe(true);
    expect(openExternal).toHaveBeenCalledWith({ href: "https://a.example/" });
    expect(chooseHost(page({ openai: { callTool: vi.fn() } })).openLink).toBe(undefined);
  });

  test("sends a follow-up message, keeps the selection and hears the height", async () => {
    const openai = {
      callTool: vi.fn(),
      sendFollowUpMessage: vi.fn(() => Promise.resolve()),
      setWidgetState: vi.fn(() => Promise.reject(new Error("not now"))),
      notifyIntrinsicHeight: vi.fn(),
    };
    const host = chooseHost(page({ openai }));
    expect(await host.sendPrompt?.("hi")).toBe("sent");
    host.saveState?.({ project: "a" });
    host.reportHeight?.(120);
    expect(openai.sendFollowUpMessage).toHaveBeenCalledWith({ prompt: "hi" });
    expect(openai.setWidgetState).toHaveBeenCalledWith({ project: "a" });
    expect(openai.notifyIntrinsicHeight).toHaveBeenCalledWith(120);
  });
});
