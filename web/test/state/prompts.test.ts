import { describe, expect, test } from "vitest";
import { approveReview, lookAt, quoted, startWave } from "../../src/state/prompts";
import { fixture } from "../fixtures";

/** Removes every quoted part; what is left is what the monitor itself says. */
function outside(prompt: string): string {
  return prompt.replace(/"(?:[^"\\]|\\.)*"/g, "<data>");
}

describe("a quoted name cannot end its quotation", () => {
  test.each([
    ["a quote", 'a" and more', '"a\\" and more"'],
    ["an escape before the quote", 'a\\" more', '"a\\\\\\" more"'],
    ["line ends", "a\nb\u2028c\r", '"a\\u000ab\\u2028c\\u000d"'],
    ["what reorders text", "a\u202eb", '"a\\u202eb"'],
    ["other quotes", "a\u201d\u00bb`b", '"a\\u201d\\u00bb\\u0060b"'],
    ["a lone surrogate", "a\ud800b", '"a\\ud800b"'],
  ])("%s", (_, text, expected) => {
    expect(quoted(text)).toBe(expected);
  });

  test("and is cut when it is long, never inside a character", () => {
    expect(quoted("\u{1f469}".repeat(400))).toBe(`"${"\u{1f469}".repeat(300)}…"`);
  });
});

describe("a message", () => {
  const hostile = fixture("hostile");
  const [item] = hostile.attention;
  if (!item) throw new Error("the fixture has no attention item");

  test("says the same outside its quotations, whatever the names are", () => {
    const plain = { task: "a", kind: "stale_instance", detail: "b", agent: "c" } as const;
    expect(outside(lookAt(item, hostile.project, "k").prompt)).toBe(outside(lookAt(plain, "d", "k").prompt));
    expect(outside(startWave(item.task, item.task, 2).prompt)).toBe(outside(startWave("a", "b", 2).prompt));
    expect(outside(approveReview(item.task, item.task, 1).prompt)).toBe(outside(approveReview("a", "b", 1).prompt));
  });

  test("leaves the approval gate in place", () => {
    expect(startWave("a", "b", 2).prompt).toMatch(/^Please start wave 2 of task "a" of project "b".*approval gate/);
    expect(lookAt(item, "b", "k").prompt).toMatch(/change nothing before I agree/);
  });
});
