/** Numbers, ages and dates as the person writes them. The language is set before each frame. */

/** A moment written out. Making one costs as much as writing a hundred dates. */
const DATE = { dateStyle: "medium", timeStyle: "medium" } as const;
const UNITS = [
  ["day", 86_400],
  ["hour", 3600],
  ["minute", 60],
  ["second", 1],
] as const;

interface Language {
  readonly dates: Intl.DateTimeFormat;
  readonly numbers: Intl.NumberFormat;
  readonly units: readonly Intl.NumberFormat[];
}

let spoken = "";
let language = make(undefined, undefined);

/** Takes over the host's words for it; what this browser does not know counts as not said. */
export function speak(locale: string | null, timeZone: string | null): void {
  const asked = JSON.stringify([locale, timeZone]);
  if (asked === spoken) return;
  spoken = asked;
  const known = [[locale, timeZone], [locale], [null, timeZone]].find(canSpeak) ?? [];
  language = make(known[0] ?? undefined, known[1] ?? undefined);
}

function canSpeak([locale, timeZone]: readonly (string | null | undefined)[]): boolean {
  try {
    make(locale ?? undefined, timeZone ?? undefined);
    return true;
  } catch {
    return false;
  }
}

function make(locale: string | undefined, timeZone: string | undefined): Language {
  return {
    dates: new Intl.DateTimeFormat(locale, timeZone ? { ...DATE, timeZone } : DATE),
    numbers: new Intl.NumberFormat(locale),
    units: UNITS.map(([unit]) => new Intl.NumberFormat(locale, { style: "unit", unit, unitDisplay: "narrow" })),
  };
}

export function num(count: number): string {
  return language.numbers.format(count);
}

/** `12s`, `4m`, `2h`, `3d`; empty for less than a second, and for what lies in the future. */
export function span(ms: number): string {
  const seconds = Math.floor(Math.max(ms, 0) / 1000);
  const index = UNITS.findIndex(([, size]) => seconds >= size);
  const size = UNITS[index]?.[1] ?? 1;
  return language.units[index]?.format(Math.floor(seconds / size)) ?? "";
}

/** Date and time of a moment, in milliseconds since 1970. */
export function moment(at: number): string {
  return language.dates.format(at);
}
