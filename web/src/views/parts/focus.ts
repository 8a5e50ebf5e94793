/** The task in focus: goal, readiness, and every wave with every subtask. */
import type { FocusSubtask, FocusWave, SubtaskStatus, TaskFocus } from "../../contract/live_status.gen";
import type { Frame } from "../../state/derive";
import type { Focus } from "../../state/focus";
import { num } from "../../state/language";
import * as say from "../../state/say";
import { joined, waveWords } from "../../state/words";
import type { Acts } from "../acts";
import { html, nothing, repeat } from "../html";
import type { Piece, Template } from "../html";
import { askButton } from "./ask";
import { mark } from "./mark";
import type { Mark } from "./mark";
import { name, progress } from "./text";

const MARKS: Readonly<Record<SubtaskStatus, Mark>> = {
  pending: "pending",
  running: "run",
  done: "done",
  failed: "broken",
  blocked: "wait",
};

/** One line: how far the task in focus is. */
export function focusLine(frame: Frame, act: Acts): Piece {
  const { focus } = frame;
  if (!focus) return nothing;
  const { summary, filename } = focus;
  if (focus.isMissing) return html`<p class="focusline">${mark("unknown")}<span>${say.notInProject}</span></p>`;
  return html`<p class="focusline">
    ${summary ? html`<span class="waves">${waveWords(summary)}</span>${progress(summary.subtasks_done, summary.subtasks_total)}` : detailProgress(focus.detail)}
    ${readiness(focus)}
    ${askButton(frame, act, focus.ask, filename)}
  </p>`;
}

export function focusPanel(frame: Frame, act: Acts): Template {
  const { focus } = frame;
  if (!focus) return html`<p class="none">${say.noFocus}</p>`;
  const { detail, filename } = focus;
  return html`<div class="focus">
    <p class="title">${name(filename, "strong")}</p>
    ${detail?.goal ? html`<p class="goal"><bdi>${detail.goal}</bdi></p>` : nothing}
    ${focusLine(frame, act)}
    ${detail ? waves(detail) : focus.isMissing ? nothing : html`<p class="none">${mark("load")}<span>${say.wavesComing}</span></p>`}
  </div>`;
}

function detailProgress(detail: TaskFocus | null): Piece {
  if (!detail) return nothing;
  const tasks = detail.waves.flatMap((wave) => wave.tasks);
  return tasks.length
    ? progress(tasks.filter((task) => task.status === "done").length, tasks.length)
    : html`<span class="waves">${say.noWaves}</span>`;
}

/** Status, review cycle, feedback, checks, review and verification, as far as they are known. */
export function readiness({ detail, summary }: Focus): Piece {
  const ready = detail?.readiness;
  const status = ready?.status ?? summary?.status;
  if (!status) return nothing;
  const { review_cycle: cycle, pr_check_status: checks, pr_review_decision: decision } = ready ?? summary ?? {};
  const verified = ready?.last_verify_outcome;
  const url = summary?.pr_url ?? "";
  return html`<span class="readiness">
    ${fact(null, say.word(status))}
    ${cycle ? fact(null, say.reviewCycle(cycle)) : nothing}
    ${ready?.has_review_feedback ? fact("wait", say.feedback) : nothing}
    ${checks ? fact(checks === "passing" ? "done" : checks === "failing" ? "broken" : "load", say.checks(say.word(checks))) : nothing}
    ${decision ? fact(decision === "approved" ? "done" : "wait", say.pullRequest(say.word(decision))) : nothing}
    ${verified ? fact(verified === "approved" ? "done" : "broken", say.verification(say.word(verified))) : nothing}
    ${/^https?:\/\//.test(url) ? html`<a href=${url} target="_blank" rel="noopener noreferrer">${say.openPullRequest}</a>` : nothing}
  </span>`;
}

function fact(kind: Mark | null, words: string): Template {
  return html`<span class="fact">${kind ? mark(kind) : nothing}${words}</span>`;
}

function waves({ waves }: TaskFocus): Template {
  if (waves.length === 0) return html`<p class="none">${mark("unknown")}<span>${say.noWavesInPlan}</span></p>`;
  return html`<ol class="waves-list" data-list="waves">${repeat(waves, ({ wave }) => wave, waveRow)}</ol>`;
}

function waveRow(wave: FocusWave): Template {
  const done = wave.tasks.filter(({ status }) => status === "done").length;
  const isDone = wave.tasks.length > 0 && done === wave.tasks.length;
  return html`<li data-key=${wave.wave} class=${wave.active ? "is-active" : ""}>
    <p class="wave">${mark(wave.active && !isDone ? "run" : isDone ? "done" : "pending")}<span class="strong">${say.wave(wave.wave)}</span>
      ${wave.title ? name(wave.title) : nothing}
      <span class="steps">${wave.tasks.map(({ status }) => mark(MARKS[status]))}<span class="count">${joined(" · ", say.ratio(done, wave.tasks.length), wave.active ? say.activeWave : "")}</span></span></p>
    <ol class="subtasks">${repeat(wave.tasks, ({ number }) => number, subtask)}</ol>
  </li>`;
}

function subtask({ number, title, status }: FocusSubtask): Template {
  return html`<li class="is-${status}" data-key=${number}>${mark(MARKS[status])}<span class="number">${num(number)}</span><bdi class="what">${title}</bdi><span class="state">${say.word(status)}</span></li>`;
}
