/** Who waits for a person, why, and for how long. */
import type { LiveStatus } from "../../contract/live_status.gen";
import { areAgentsKnown } from "../../state/agents";
import type { Frame } from "../../state/derive";
import { lookAt } from "../../state/prompts";
import * as say from "../../state/say";
import { attentionKey, attentionWords, keyed } from "../../state/words";
import type { Acts } from "../acts";
import { html, nothing, repeat } from "../html";
import type { Template } from "../html";
import { askButton } from "./ask";
import { mark } from "./mark";
import { more, name, when } from "./text";

/** At most `limit` rows; the rest is counted. */
export function attentionList(frame: Frame, act: Acts, status: LiveStatus, limit = Infinity): Template {
  const items = keyed(status.attention.slice(0, limit), attentionKey);
  const hidden = status.attention.length - items.length + (status.truncated.attention ?? 0);
  if (items.length === 0) return html`<p class="none">${mark("done")}<span>${quietWords(status)}</span></p>`;
  return html`<ul class="rows attention" data-list="attention">
      ${repeat(items, ([key]) => key, ([key, item]) => {
        const subject = item.task || say.someAgent;
        const isAgent = item.kind === "stale_instance";
        return html`<li data-key=${key} class="kind-${isAgent ? "broken" : "wait"}">
          ${mark(isAgent ? "broken" : "wait")}
          <span class="what">${name(subject, "strong")}
            <span class="why">${attentionWords(item, status)}${item.detail ? html`: <bdi title=${item.detail}>${item.detail}</bdi>` : nothing}</span></span>
          <span class="age">${when(item.since, frame.now)}</span>
          ${askButton(frame, act, lookAt(item, status.project, `look\u0000${key}`), item.task || say.agent)}
        </li>`;
      })}
    </ul>${more(hidden)}`;
}

function quietWords(status: LiveStatus): string {
  return areAgentsKnown(status)
    ? say.nothingWaits
    : say.healthUnknown;
}
