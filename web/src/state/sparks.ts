/** What polls have seen of each agent's activity, the newest last. Kept in memory alone. */
import type { LiveStatus } from "../contract/live_status.gen";
import { agentKey } from "./agents";

export interface Spark {
  /** The last activity that was told. */
  readonly last: string | undefined;
  /** For each poll, whether it was active since the one before. */
  readonly looks: readonly boolean[];
}

export type Sparks = ReadonlyMap<string, Spark>;

export const LONGEST = 60;

/** Adds one look; an agent that is gone takes what was seen of it along. */
export function looked(before: Sparks, { active_agents }: LiveStatus): Sparks {
  return new Map(
    active_agents.map((agent) => {
      const key = agentKey(agent);
      const known = before.get(key);
      const last = agent.last_activity;
      // The first look has nothing to compare with.
      const looks = known ? [...known.looks, last !== known.last] : [];
      return [key, { last, looks: looks.slice(-LONGEST) }];
    }),
  );
}
