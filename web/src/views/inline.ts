/** The pane inside a conversation: what waits, where everything is, and one task's progress. */
import { agentsLine, areAgentsKnown } from "../state/agents";
import type { Frame } from "../state/derive";
import * as say from "../state/say";
import type { Acts } from "./acts";
import { html, nothing } from "./html";
import type { Template } from "./html";
import { attentionList } from "./parts/attention";
import { focusLine } from "./parts/focus";
import { banner, card, header } from "./parts/header";
import { lifecycle } from "./parts/lifecycle";
import { mark } from "./parts/mark";
import { taskSelect } from "./parts/select";

const MOST_ROWS = 3;

export function inline(frame: Frame, act: Acts): Template {
  const { situation, status, focus } = frame;
  if (!status || situation.kind === "no_projects") {
    return html`${header(frame, act)}${status ? banner(frame, act) : nothing}${card(frame, act)}`;
  }
  return html`${header(frame, act)}${banner(frame, act)}
    ${situation.kind === "nothing_here" ? card(frame, act) : attentionList(frame, act, status, MOST_ROWS)}
    ${lifecycle(status.lifecycle)}
    <div class="taskline"><label>${say.task} ${taskSelect(status, focus, act)}</label>${focusLine(frame, act)}</div>
    <p class="agentline">${areAgentsKnown(status) ? nothing : mark("unknown")}<span>${agentsLine(status)}</span></p>`;
}
