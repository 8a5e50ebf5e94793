/** What may be said of agents, and what may not. */
import type { ActiveAgent, LiveStatus, Notice } from "../contract/live_status.gen";
import * as say from "./say";

const WORDS = ["running", "ready", "loading", "quiet", "paused", "stale", "unknown"] as const;
export type AgentWord = (typeof WORDS)[number];

const UNSEEN = new Set(["daemon_unreachable", "daemon_incompatible", "daemon_other_store"]);

/** False where nobody sees the agents: then they are unknown, never "none" and never "0". */
export function areAgentsKnown({ daemon_running, notices = [] }: LiveStatus): boolean {
  return daemon_running && !notices.some(isUnseen);
}

/** Whether a notice says that agents cannot be seen. */
export function isUnseen({ code }: Notice): boolean {
  return UNSEEN.has(code);
}

/** One word per state; each that differs has its own. */
export function agentWord(agent: ActiveAgent): AgentWord {
  if (agent.health === "stale") return "stale";
  if (agent.health === "unknown") return "unknown";
  if (agent.paused) return "paused";
  if (agent.stage) return agent.stage;
  return agent.active ? "quiet" : "unknown";
}

export function agentTotal({ active_agents, truncated }: LiveStatus): number {
  return active_agents.length + (truncated.active_agents ?? 0);
}

/** How many listed agents are in each state, in the order in which they are told. */
export function agentCounts({ active_agents }: LiveStatus): readonly (readonly [AgentWord, number])[] {
  const counts = new Map(WORDS.map((word) => [word, 0]));
  for (const word of active_agents.map(agentWord)) counts.set(word, (counts.get(word) ?? 0) + 1);
  return [...counts].filter(([, count]) => count > 0);
}

/** `4 running · 1 ready`, `no agents`, or that nobody knows. */
export function agentsLine(status: LiveStatus): string {
  if (!areAgentsKnown(status)) return say.agentsUnknown;
  const parts = agentCounts(status).map(([word, count]) =>
    word === "stale" ? say.need(count) : say.counted(count, say.word(word)),
  );
  const more = status.truncated.active_agents;
  if (more) parts.push(say.more(more));
  return parts.join(" · ") || say.noAgents;
}

/** How many listed agents run. */
export function runningCount({ active_agents }: LiveStatus): number {
  return active_agents.filter((agent) => agentWord(agent) === "running").length;
}

/** For the narrowest pane: the running ones, and of how many. */
export function runningLine(status: LiveStatus): string {
  if (!areAgentsKnown(status)) return say.agentsUnknown;
  const total = agentTotal(status);
  const running = runningCount(status);
  if (!total) return say.noAgents;
  return running === total ? say.running(running) : say.runningOf(running, total);
}

/** What one agent is known by from poll to poll. */
export function agentKey({ id, task, role, wave, task_number }: ActiveAgent): string {
  return id ?? JSON.stringify([task, role, wave, task_number]);
}

/** Who an agent is: its role, and where it works. */
export function agentTitle({ role, program }: ActiveAgent): string {
  return program ? `${role} (${program})` : role;
}

export function waitingTotal({ attention, truncated }: LiveStatus): number {
  return attention.length + (truncated.attention ?? 0);
}

