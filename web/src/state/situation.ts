/** Which of the states that must look different this is, and the sentence that says so. */
import type { LiveStatus } from "../contract/live_status.gen";
import { areAgentsKnown, isUnseen } from "./agents";
import { TIMEOUT_MS } from "./state";
import type { Problem, State } from "./state";
import { span } from "./language";
import * as say from "./say";
import { joined } from "./words";

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
    return told("loading", say.loading, host.isReady ? say.asksFirst : say.waitsForHost);
  }
  return answered(state, snapshot, now);
}

function told(
  kind: SituationKind,
  label: string,
  text: string,
  more: Partial<Situation> = {},
): Situation {
  return { kind, label, title: label, text, command: "", projects: [], canRetry: false, ...more };
}

function withoutHost(name: string, problem: string): Situation {
  if (name === "injected") {
    return told("incompatible", say.incompatible, say.updateOne(problem));
  }
  return told("offline", say.offline, say.inBrowser(problem), {
    command: "kas monitor open",
  });
}

function troubled({ snapshot, takenAt, retryAt, scope }: State, problem: Problem, now: number): Situation {
  const retry = retryAt === null ? "" : ` · ${say.retrying(span(Math.max(retryAt - now, 1000)))}`;
  const old = snapshot ? say.known(span(Math.max(now - takenAt, 1000))) : "";
  const canRetry = true;
  const wrong = cause(problem);
  if (problem.kind === "incompatible") {
    return told("incompatible", say.incompatible, `${wrong}${old} · ${say.updateAll}`, {
      command: "pip install --upgrade kasmos",
      canRetry,
    });
  }
  if (problem.kind === "error" && problem.projects.length > 0) {
    const text = problem.code === "unknown_project" && scope.project
      ? say.unknownProject(scope.project)
      : say.severalProjects;
    return told("choose_project", say.chooseProject, text, { projects: problem.projects });
  }
  if (problem.kind === "error" && problem.code.startsWith("store")) {
    return told("store_error", say.storeError, `${wrong}${old}${retry}`, {
      command: "kas monitor status",
      canRetry,
    });
  }
  if (snapshot) {
    return told("stale", joined(" · ", say.stale, span(now - takenAt)), `${wrong}${old}${retry}`, { canRetry });
  }
  const command = problem.kind === "unreachable" || problem.kind === "timeout" ? "kas serve" : "";
  return told("offline", say.offline, `${wrong}${retry}`, { command, canRetry });
}

function cause(problem: Problem): string {
  switch (problem.kind) {
    case "unreachable":
      return say.unreachable;
    case "timeout":
      return say.timeout(span(TIMEOUT_MS));
    case "bad":
      return say.badReply(problem.why);
    case "incompatible":
      return say.otherSchema(problem.found);
    case "error":
      return problem.message;
  }
}

function answered({ isPolled, takenAt }: State, snapshot: LiveStatus, now: number): Situation {
  const waited = now - takenAt;
  const old = waited >= FRESH_MS ? ` · ${span(waited)}` : "";
  if (!snapshot.project) {
    return told("no_projects", say.noProject, say.registerOne, {
      command: "kas daemon add PATH",
    });
  }
  if (!isPolled) return told("opened", say.asOpened, "");
  if (!areAgentsKnown(snapshot)) {
    const why = snapshot.notices?.find(isUnseen)?.message ?? say.daemonUnseen;
    return told("store_only", `${say.storeOnly}${old}`, say.fromStore(why), {
      command: "kas daemon start",
    });
  }
  const isEmpty =
    snapshot.lifecycle.total === 0 &&
    snapshot.active_agents.length === 0 &&
    snapshot.attention.length === 0;
  if (isEmpty) {
    return told("nothing_here", `${say.live}${old}`, say.createOne, {
      title: say.nothingHere,
      command: "kas task create NAME",
    });
  }
  return told("live", `${say.live}${old}`, "");
}
