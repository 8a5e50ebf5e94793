/** The words, ages and keys that more than one view uses. */
import type { AttentionItem, TaskSummary } from "../contract/live_status.gen";

const KINDS: Readonly<Record<string, string>> = {
  needs_decision: "needs a decision",
  review_feedback: "has review feedback",
  stale_instance: "agent needs a look",
};
const UNITS = [
  ["d", 86_400],
  ["h", 3600],
  ["m", 60],
  ["s", 1],
] as const;

/** The kind in words; one of a later version is shown as it is called. */
export function kindWords(kind: string): string {
  return KINDS[kind] ?? plain(kind);
}

/** `wave_waiting` as `wave waiting`. */
export function plain(word: string): string {
  return word.replaceAll("_", " ");
}

/** `now`, `12s`, `4m`, `2h`, `3d`; never in the future. */
export function span(ms: number): string {
  const seconds = Math.floor(Math.max(ms, 0) / 1000);
  const unit = UNITS.find(([, size]) => seconds >= size);
  return unit ? `${Math.floor(seconds / unit[1])}${unit[0]}` : "now";
}

/** How long before `now` something was; both are timestamps of the same clock, the server's. */
export function age(at: string, now: string): string {
  return span(Date.parse(now) - Date.parse(at));
}

/** Making one costs as much as writing a hundred dates. */
const formats = new Map<string, Intl.DateTimeFormat>();

/** Writes a moment out. A locale or time zone that this browser does not know counts as not said. */
export function dates(locale: string | null, timeZone: string | null): Intl.DateTimeFormat {
  const key = JSON.stringify([locale, timeZone]);
  const format = formats.get(key) ?? dateFormat(locale, timeZone);
  formats.set(key, format);
  return format;
}

function dateFormat(locale: string | null, timeZone: string | null): Intl.DateTimeFormat {
  const style = { dateStyle: "medium", timeStyle: "medium" } as const;
  try {
    return new Intl.DateTimeFormat(locale ?? undefined, { ...style, ...(timeZone && { timeZone }) });
  } catch {
    return new Intl.DateTimeFormat(undefined, style);
  }
}

/** The parts that say something, joined. */
export function joined(separator: string, ...parts: readonly (string | undefined)[]): string {
  return parts.filter((part) => part).join(separator);
}

/** `wave 2, task 3`, as far as either is known. */
export function place(separator: string, wave: number | undefined, task: number | undefined): string {
  return joined(separator, wave ? `wave ${wave}` : "", task ? `task ${task}` : "");
}

/** `1 agent`, `2 agents`. */
export function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

export function attentionKey(item: AttentionItem): string {
  return JSON.stringify([item.kind, item.task, item.agent, item.since, item.detail]);
}

/** How far a task is. A plan without waves is `no waves`, never complete. */
export function waveWords({ active_wave = 0, total_waves = 0 }: TaskSummary): string {
  if (!total_waves) return "no waves";
  return active_wave ? `wave ${active_wave} of ${total_waves}` : plural(total_waves, "wave");
}

/** A key per item that survives new items before it; equal items are told apart by their order. */
export function keyed<T>(items: readonly T[], name: (item: T) => string): readonly (readonly [string, T])[] {
  const seen = new Map<string, number>();
  return items
    .toReversed()
    .map((item): readonly [string, T] => {
      const key = name(item);
      const count = seen.get(key) ?? 0;
      seen.set(key, count + 1);
      return [count ? `${key}\u0000${count}` : key, item];
    })
    .toReversed();
}
