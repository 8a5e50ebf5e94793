/** Which of the states that must look different this is, and the sentence that says so. */
import type { LiveStatus } from "../contract/live_status.gen";
import { areAgentsKnown, isUnseen } from "./agents";
import type { Problem, State } from "./state";
import { span } from "./words";

export type SituationKind =
  | "loading"
  | "live"
  | "opened"
  | "store_only"
  | "stale"
  | "offline"
  | "incompatible"
  | "store_error"
  | "choose_project"
  | "no_projects"
  | "nothing_here";

export interface Situation {
  readonly kind: SituationKind;
  /** Two or three words for the corner of a pane. */
  readonly label: string;
  /** The label where it heads a whole pane. */
  readonly title: string;
  /** A whole sentence that says what to do; empty when all is well. */
  readonly text: string;
  /** The command that mends it or starts something. */
  readonly command: string;
  /** Names to choose from. */
  readonly projects: readonly string[];
  readonly canRetry: boolean;
}

/** A snapshot older than this shows its age even while the connection is fine. */
const FRESH_MS = 5000;

export function situation(state: State, now: number): Situation {
  const { host, snapshot, problem } = state;
  if (host.problem !== null) return withoutHost(host.name, host.problem);
  if (problem) return troubled(state, problem, now);
  if (!snapshot) {
    return say("loading", "loading", host.isReady ? "asking for the first snapshot" : "waiting for the host");
  }
  return answered(state, snapshot, now);
}

function say(
  kind: SituationKind,
  label: string,
  text: string,
  more: Partial<Situation> = {},
): Situation {
  return { kind, label, title: label, text, command: "", projects: [], canRetry: false, ...more };
}

function withoutHost(name: string, problem: string): Situation {
  if (name === "injected") {
    return say("incompatible", "incompatible", `${problem} · update one of them`);
  }
  return say("offline", "offline", `${problem} · open the monitor in a browser`, {
    command: "kas monitor open",
  });
}

function troubled({ snapshot, takenAt, retryAt, scope }: State, problem: Problem, now: number): Situation {
  const retry = retryAt === null ? "" : ` · retrying in ${span(Math.max(retryAt - now, 1000))}`;
  const old = snapshot ? `, showing what was known ${span(now - takenAt)} ago` : "";
  const canRetry = true;
  const wrong = cause(problem);
  if (problem.kind === "incompatible") {
    return say("incompatible", "incompatible", `${wrong}${old} · update kasmos, then reload`, {
      command: "pip install --upgrade kasmos",
      canRetry,
    });
  }
  if (problem.kind === "error" && problem.projects.length > 0) {
    const text = problem.code === "unknown_project" && scope.project
      ? `project “${scope.project}” is not known · choose another`
      : "several projects are known · choose one";
    return say("choose_project", "choose a project", text, { projects: problem.projects });
  }
  if (problem.kind === "error" && problem.code.startsWith("store")) {
    return say("store_error", "store error", `${wrong}${old}${retry}`, {
      command: "kas monitor status",
      canRetry,
    });
  }
  if (snapshot) {
    return say("stale", `stale · ${span(now - takenAt)}`, `${wrong}${old}${retry}`, { canRetry });
  }
  const command = problem.kind === "unreachable" || problem.kind === "timeout" ? "kas serve" : "";
  return say("offline", "offline", `${wrong}${retry}`, { command, canRetry });
}

function cause(problem: Problem): string {
  switch (problem.kind) {
    case "unreachable":
      return "cannot reach kas serve";
    case "timeout":
      return "kas serve did not answer within 8s";
    case "bad":
      return `bad reply: ${problem.why}`;
    case "incompatible":
      return `the server speaks schema ${problem.found}, this monitor reads schema 2`;
    case "error":
      return problem.message;
  }
}

function answered({ isPolled, takenAt }: State, snapshot: LiveStatus, now: number): Situation {
  const waited = now - takenAt;
  const old = waited >= FRESH_MS ? ` · ${span(waited)}` : "";
  if (!snapshot.project) {
    return say("no_projects", "no project", "register a repository to begin", {
      command: "kas daemon add PATH",
    });
  }
  if (!isPolled) return say("opened", "as opened", "");
  if (!areAgentsKnown(snapshot)) {
    const why = snapshot.notices?.find(isUnseen)?.message ?? "the daemon is not seen: agents are unknown";
    return say("store_only", `store only${old}`, `${why} · tasks come from the store`, {
      command: "kas daemon start",
    });
  }
  const isEmpty =
    snapshot.lifecycle.total === 0 &&
    snapshot.active_agents.length === 0 &&
    snapshot.attention.length === 0;
  if (isEmpty) {
    return say("nothing_here", `live${old}`, "create a task to see it here", {
      title: "nothing here yet",
      command: "kas task create NAME",
    });
  }
  return say("live", `live${old}`, "");
}
