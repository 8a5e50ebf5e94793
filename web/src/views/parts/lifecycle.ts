/** How many tasks stand where. */
import type { LifecycleCounts } from "../../contract/live_status.gen";
import { num } from "../../state/language";
import * as say from "../../state/say";
import { html } from "../html";
import type { Template } from "../html";

const STATUSES = ["planning", "ready", "implementing", "reviewing", "verifying"] as const;

export function lifecycle(counts: LifecycleCounts): Template {
  return html`<ol class="lifecycle" aria-label=${say.byStatus}>
    ${STATUSES.map(
      (status) =>
        html`<li class="s-${status} ${counts[status] ? "" : "is-zero"}" title=${say.counted(counts[status], say.word(status))}>
          <span class="full">${say.word(status)}</span><span class="short" aria-hidden="true">${say.short[status]}</span> <b>${num(counts[status])}</b>
        </li>`,
    )}
  </ol>`;
}
