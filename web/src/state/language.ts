/** Counts, ages and dates as the person writes them. The language is set before each frame. */

const DATE = { dateStyle: "medium", timeStyle: "medium" } as const;
const UNITS = [
  ["day", 86_400],
  ["hour", 3600],
  ["minute", 60],
  ["second", 1],
] as const;

interface Language {
  readonly moment: Intl.DateTimeFormat;
  readonly num: Intl.NumberFormat;
  readonly spans: readonly Intl.NumberFormat[];
}

let spoken = "";
let language = make();

/** Takes over the host's words for it; each that this browser does not know counts as not said. */
export function speak(locale: string | null, timeZone: string | null): void {
  const asked = JSON.stringify([locale, timeZone]);
  if (asked === spoken) return;
  spoken = asked;
  // Making one costs as much as writing a hundred dates.
  language = make(usable((locales) => make(locales), locale), usable((zone) => make(undefined, zone), timeZone));
}

function usable(make: (given: string) => unknown, given: string | null): string | undefined {
  try {
    make(given ?? "");
    return given ?? undefined;
  } catch {
    return undefined;
  }
}

function make(locale?: string, timeZone?: string): Language {
  return {
    moment: new Intl.DateTimeFormat(locale, { ...DATE, ...(timeZone && { timeZone }) }),
    num: new Intl.NumberFormat(locale),
    spans: UNITS.map(
      ([unit]) => new Intl.NumberFormat(locale, { style: "unit", unit, unitDisplay: "narrow", useGrouping: false }),
    ),
  };
}

export function num(count: number): string {
  return language.num.format(count);
}

/** `12s`, `4m`, `2h`, `3d`; empty for less than a second, and for what lies in the future. */
export function span(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  const index = UNITS.findIndex(([, size]) => seconds >= size);
  return language.spans[index]?.format(Math.floor(seconds / (UNITS[index]?.[1] ?? 1))) ?? "";
}

/** Date and time of a moment, in milliseconds since 1970. */
export function moment(at: number): string {
  return language.moment.format(at);
}
