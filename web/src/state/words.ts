/** The sentences, ages and keys that more than one view uses. */
import type { AttentionItem, LiveStatus, TaskSummary } from "../contract/live_status.gen";
import { span } from "./language";
import * as say from "./say";

/** The kind in words; one of a later version is shown as it is called. */
export function kindWords(kind: string): string {
  switch (kind) {
    case "needs_decision":
      return say.needsDecision;
    case "review_feedback":
      return say.hasFeedback;
    case "stale_instance":
      return say.needsLook;
    default:
      return say.word(kind);
  }
}

/** Why somebody waits; between two waves, which one is done. */
export function attentionWords({ kind, task, detail }: AttentionItem, { tasks }: LiveStatus): string {
  const found = tasks?.find(({ filename }) => filename === task);
  const isDone = kind === "needs_decision" && !detail && found?.phase === "wave_waiting";
  return kindWords(kind) + (isDone && found.active_wave ? `: ${say.waveDone(found.active_wave)}` : "");
}

/** How long before `now` something was; both are timestamps of the same clock, the server's. */
export function age(at: string, now: number): string {
  return span(now - Date.parse(at)) || say.now;
}

/** The parts that say something, joined. */
export function joined(separator: string, ...parts: readonly (string | undefined)[]): string {
  return parts.filter((part) => part).join(separator);
}

/** `wave 2, task 3`, as far as either is known. */
export function place(separator: string, wave: number | undefined, task: number | undefined): string {
  return joined(separator, wave ? say.wave(wave) : "", task ? say.taskNumber(task) : "");
}

export function attentionKey(item: AttentionItem): string {
  return JSON.stringify([item.kind, item.task, item.agent, item.since, item.detail]);
}

/** How far a task is. A plan without waves is `no waves`, never complete. */
export function waveWords({ active_wave = 0, total_waves = 0 }: TaskSummary): string {
  if (!total_waves) return say.noWaves;
  return active_wave ? say.waveOf(active_wave, total_waves) : say.waves(total_waves);
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
