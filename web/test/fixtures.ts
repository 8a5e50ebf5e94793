/** The snapshots that Python wrote from the models, parsed as the monitor parses them. */
/// <reference types="vite/client" />
import type { LiveStatus } from "../src/contract/live_status.gen";
import { parseReply } from "../src/contract/parse";

const files = import.meta.glob<unknown>("../src/contract/fixtures/*.json", {
  eager: true,
  import: "default",
});

export const raw: Readonly<Record<string, unknown>> = Object.fromEntries(
  Object.entries(files).map(([path, value]) => [path.replace(/^.*\/|\.json$/g, ""), value]),
);

export function fixture(name: string, change: Partial<LiveStatus> = {}): LiveStatus {
  const reply = parseReply(raw[name]);
  if (reply.kind !== "snapshot") throw new Error(`fixture ${name} is ${reply.kind}`);
  return { ...reply.snapshot, ...change };
}
