/** How many tasks stand where. */
import type { LifecycleCounts } from "../../contract/live_status.gen";
import { html } from "../html";
import type { Template } from "../html";

const STATUSES = [
  ["planning", "plan"],
  ["ready", "ready"],
  ["implementing", "impl"],
  ["reviewing", "rev"],
  ["verifying", "ver"],
] as const;

export function lifecycle(counts: LifecycleCounts): Template {
  return html`<ol class="lifecycle" aria-label="tasks by status">
    ${STATUSES.map(
      ([status, short]) =>
        html`<li class="s-${status} ${counts[status] ? "" : "is-zero"}" title="${status} ${counts[status]}">
          <span class="full">${status}</span><span class="short" aria-hidden="true">${short}</span> <b>${counts[status]}</b>
        </li>`,
    )}
  </ol>`;
}
