/** The tasks in active statuses; choosing one brings it into focus. */
import type { LiveStatus, TaskSummary } from "../../contract/live_status.gen";
import type { Focus } from "../../state/focus";
import * as say from "../../state/say";
import { joined, waveWords } from "../../state/words";
import type { Acts } from "../acts";
import { html, nothing, repeat } from "../html";
import type { Template } from "../html";
import { mark } from "./mark";
import type { Mark } from "./mark";
import { code, more, name, progress } from "./text";

export function taskList(status: LiveStatus, focus: Focus | null, act: Acts): Template {
  const tasks = status.tasks ?? [];
  if (tasks.length === 0) return html`<p class="none">${say.noActiveTasks}</p>`;
  return html`<ul class="rows tasks" data-list="tasks">
      ${repeat(tasks, (task) => task.filename, (task) => {
        const isFocused = task.filename === focus?.filename;
        return html`<li data-key=${task.filename} class=${isFocused ? "is-focused" : ""}>
          <button aria-pressed=${isFocused} @click=${() => act.chooseTask(task.filename)}>
            ${mark(taskMark(task))}
            <span class="what">${name(task.filename, "strong")}${task.topic ? html` <span class="topic">${name(task.topic)}</span>` : nothing}</span>
            ${progress(task.subtasks_done, task.subtasks_total)}
            <span class="extra"><span>${stateWords(task)}</span><span>${waveWords(task)}</span>${code(task.branch)}<span>${extras(task)}</span></span>
          </button>
        </li>`;
      })}
    </ul>${more(status.truncated.tasks)}`;
}

export function taskMark(task: TaskSummary): Mark {
  if (task.blocked) return "wait";
  switch (task.status) {
    case "implementing":
    case "reviewing":
    case "verifying":
      return "run";
    case "done":
      return "done";
    case "planning":
    case "ready":
    case "cancelled":
      return "pending";
  }
}

function stateWords({ phase, status }: TaskSummary): string {
  return phase && phase !== status ? `${say.word(status)} · ${say.word(phase)}` : say.word(status);
}

function extras({ review_cycle, pr_check_status, pr_review_decision }: TaskSummary): string {
  return joined(
    " · ",
    review_cycle ? say.reviewCycle(review_cycle) : "",
    pr_check_status && say.checks(say.word(pr_check_status)),
    pr_review_decision && say.pullRequest(say.word(pr_review_decision)),
  );
}
