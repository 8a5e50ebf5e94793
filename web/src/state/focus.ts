/** The task in focus: the chosen one, else the followed one, with what may be asked about it. */
import type { LiveStatus, TaskFocus, TaskSummary } from "../contract/live_status.gen";
import type { Scope } from "../contract/host";
import type { Ask } from "./prompts";
import { approveReview, startWave } from "./prompts";
import type { State } from "./state";

export interface Focus {
  readonly filename: string;
  /** Whether a person chose it. */
  readonly isChosen: boolean;
  readonly summary: TaskSummary | null;
  /** Its waves and readiness; null until they were answered. */
  readonly detail: TaskFocus | null;
  readonly isMissing: boolean;
  readonly ask: Ask | null;
}

/** What a refresh asks for: the selection, with the followed task where none was chosen. */
export function asking({ scope, followed, pane }: State): Scope {
  const isDeep = pane.mode === "fullscreen" || pane.mode === "sidebar" || pane.mode === "inline";
  return scope.task || !followed || !isDeep ? scope : { ...scope, task: followed };
}

export function focus({ scope, followed }: State, status: LiveStatus): Focus | null {
  const chosen = taskName(scope.task ?? "");
  const filename = chosen || followed || status.focus?.filename || "";
  if (!filename) return null;
  const summary = status.tasks?.find((task) => task.filename === filename) ?? null;
  const detail = status.focus?.filename === filename ? status.focus : null;
  return {
    filename,
    isChosen: chosen !== "",
    summary,
    detail,
    isMissing:
      !summary && !detail && (status.notices ?? []).some(({ code }) => code === "focus_not_found"),
    ask: ask(status.project, filename, summary, detail),
  };
}

/** The store trims names and ignores `.md` at their end; so does a comparison with them. */
function taskName(task: string): string {
  return task.trim().replace(/\.md$/, "");
}

function ask(
  project: string,
  task: string,
  summary: TaskSummary | null,
  detail: TaskFocus | null,
): Ask | null {
  const status = detail?.readiness.status ?? summary?.status;
  if (status === "reviewing") {
    const cycle = detail?.readiness.review_cycle ?? summary?.review_cycle ?? 0;
    return approveReview(task, project, cycle);
  }
  const total = detail?.waves.length ?? summary?.total_waves ?? 0;
  if (status === "ready" && total > 0) return startWave(task, project, 1);
  if (status === "implementing" && summary?.phase === "wave_waiting") {
    const next = (summary.active_wave ?? 0) + 1;
    return next <= total ? startWave(task, project, next) : null;
  }
  return null;
}
