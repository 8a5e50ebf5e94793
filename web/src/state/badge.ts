/** What a host may show of a closed pane. */
import type { Badge } from "../contract/live_status.gen";
import { areAgentsKnown, runningCount, waitingTotal } from "./agents";
import type { State } from "./state";

/** Returns the badge, or null while nothing has been answered. Counts include what was cut off. */
export function badge(state: State): Badge | null {
  const { snapshot, problem, scope, isPolled } = state;
  if (!problem && !isPolled) return null;
  const running = snapshot && areAgentsKnown(snapshot)
    ? runningCount(snapshot) + (snapshot.truncated.active_agents ?? 0)
    : 0;
  const blocked = snapshot ? waitingTotal(snapshot) : 0;
  const isOffline = problem !== null || !snapshot || !areAgentsKnown(snapshot);
  const project = snapshot?.project ?? scope.project;
  return {
    level: isOffline ? "offline" : blocked ? "attention" : running ? "running" : "idle",
    running_agents: running,
    blocked,
    implementing: snapshot?.lifecycle.implementing ?? 0,
    reviewing: snapshot?.lifecycle.reviewing ?? 0,
    ...(project && { project }),
    ...(scope.task && { task: scope.task }),
  };
}
