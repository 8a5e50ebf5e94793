import { describe, expect, test } from "vitest";
import { isRecord, parseReply, parseScope } from "../../src/contract/parse";
import { fixture, raw } from "../fixtures";

describe("a snapshot", () => {
  test.each(Object.keys(raw))("of the fixture %s is read whole", (name) => {
    expect(parseReply(raw[name])).toEqual({ kind: "snapshot", snapshot: raw[name] });
  });

  test("is found in a tool result, in JSON text and in text inside a result", () => {
    const expected = { kind: "snapshot", snapshot: fixture("empty") };
    expect(parseReply({ structuredContent: raw["empty"], content: [] })).toEqual(expected);
    expect(parseReply(JSON.stringify({ structuredContent: raw["empty"] }))).toEqual(expected);
    expect(parseReply({ result: JSON.stringify(raw["empty"]) })).toEqual(expected);
    expect(parseReply({ content: [{ type: "text", text: JSON.stringify(raw["empty"]) }] })).toEqual(expected);
  });

  test("loses unknown keys and nulls, and shares nothing with what a host may change later", () => {
    const given = { ...fixture("empty"), surprise: { deep: true }, focus: null };
    const reply = parseReply(given);
    expect(reply).toEqual({ kind: "snapshot", snapshot: fixture("empty") });
    given.project = "changed";
    expect(reply).toEqual({ kind: "snapshot", snapshot: fixture("empty") });
  });

  test("keeps the open words of a later version", () => {
    const attention = [{ task: "a", kind: "on_fire" }];
    expect(parseReply({ ...fixture("empty"), attention })).toMatchObject({
      kind: "snapshot",
      snapshot: { attention },
    });
  });

  test("of another schema version is incompatible, whatever else it holds", () => {
    expect(parseReply({ schema_version: 3 })).toEqual({ kind: "incompatible", found: "3" });
    expect(parseReply({ structuredContent: { schema_version: 1 } })).toEqual({
      kind: "incompatible",
      found: "1",
    });
  });
});

describe("a bad reply", () => {
  test.each([
    ["nothing", undefined],
    ["null", null],
    ["a list", []],
    ["text that is no JSON", "<html>"],
    ["JSON with NaN (D13)", '{"schema_version": 2, "repo_count": NaN}'],
    ["a number that is not finite", { ...fixture("empty"), repo_count: Number.NaN }],
    ["a missing key", { ...fixture("empty"), lifecycle: undefined }],
    ["a wrong type", { ...fixture("empty"), active_agents: {} }],
    ["a closed word that is unknown", { ...fixture("agents_3"), active_agents: [{ task: "", role: "", health: "fine" }] }],
    ["a time that is none", { ...fixture("empty"), generated_at: "yesterday" }],
  ])("is %s", (_, value) => {
    expect(parseReply(value).kind).toBe("bad");
  });
});

test("an error carries its code, its message and the projects to choose from", () => {
  expect(
    parseReply({
      isError: true,
      content: [{ type: "text", text: "choose" }],
      _meta: {
        "kasmos/error": { code: "project_required", message: "several" },
        "kasmos/projects": ["a", 1, "b"],
      },
    }),
  ).toEqual({ kind: "error", code: "project_required", message: "several", projects: ["a", "b"] });
  expect(parseReply({ isError: true, content: [{ type: "text", text: "boom" }] })).toEqual({
    kind: "error",
    code: "failed",
    message: "boom",
    projects: [],
  });
});

test("a scope keeps plain texts only", () => {
  expect(parseScope({ project: "a", task: 3, other: "x" })).toEqual({ project: "a" });
  expect(parseScope(null)).toEqual({});
  expect(isRecord([])).toBe(false);
});
