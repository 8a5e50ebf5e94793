import { afterEach, expect, test } from "vitest";
import { moment, num, span, speak } from "../../src/state/language";

afterEach(() => speak("en-US", "UTC"));

test("ages are short, one unit each, and nothing where there is less than a second", () => {
  speak("en-US", "UTC");
  expect([0, 999, 12_000, 240_000, 7_200_000, 260_000_000, -5].map(span)).toEqual([
    "", "", "12s", "4m", "2h", "3d", "",
  ]);
});

test("numbers, ages and dates are written as the host says", () => {
  const at = Date.parse("2026-03-01T23:30:00Z");
  speak("de-DE", "Asia/Tokyo");
  expect([num(1234), moment(at)]).toEqual(["1.234", "02.03.2026, 08:30:00"]);
  speak("ar-EG", null);
  expect([num(12), span(12_000)]).toEqual(["١٢", new Intl.NumberFormat("ar-EG", { style: "unit", unit: "second", unitDisplay: "narrow" }).format(12)]);
});

test("a locale or a time zone that this browser does not know counts as not said, alone", () => {
  const at = Date.parse("2026-03-01T23:30:00Z");
  speak("not a locale", "Asia/Tokyo");
  expect(moment(at)).toBe(new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium", timeZone: "Asia/Tokyo" }).format(at));
  speak("de-DE", "Mars/Olympus");
  expect(num(1234)).toBe("1.234");
  speak("not a locale", "Mars/Olympus");
  expect(num(1234)).toBe(new Intl.NumberFormat().format(1234));
});
