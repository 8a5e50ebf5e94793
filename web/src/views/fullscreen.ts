/** Everything. The same sections serve the sidebar, which stacks them. */
import { agentsLine, waitingTotal } from "../state/agents";
import type { Frame } from "../state/derive";
import { num } from "../state/language";
import * as say from "../state/say";
import { joined } from "../state/words";
import type { Acts } from "./acts";
import { html, nothing } from "./html";
import type { Template } from "./html";
import { agentTable } from "./parts/agents";
import { attentionList } from "./parts/attention";
import { eventList } from "./parts/events";
import { focusPanel } from "./parts/focus";
import { banner, card, header } from "./parts/header";
import { lifecycle } from "./parts/lifecycle";
import { section } from "./parts/section";
import { taskSelect } from "./parts/select";
import { taskList } from "./parts/tasks";

export function fullscreen(frame: Frame, act: Acts): Template {
  const { situation, status, focus, now } = frame;
  if (!status || situation.kind === "no_projects") {
    return html`${header(frame, act)}${status ? banner(frame, act) : nothing}${card(frame, act)}`;
  }
  const waiting = waitingTotal(status);
  return html`${header(frame, act)}${banner(frame, act)}
    ${situation.kind === "nothing_here" ? card(frame, act) : nothing}
    ${section(frame, act, "attention", say.attention, waiting ? num(waiting) : "", attentionList(frame, act, status))}
    ${lifecycle(status.lifecycle)}
    <div class="columns">
      ${section(frame, act, "tasks", say.tasks, say.active(status.lifecycle.total), taskList(status, focus, act))}
      ${section(frame, act, "focus", say.focus, "", html`<label class="pick">${say.task} ${taskSelect(status, focus, act)}</label>${focusPanel(frame, act)}`)}
    </div>
    ${section(frame, act, "agents", say.agents, agentsLine(status), agentTable(frame, status))}
    ${section(frame, act, "events", say.events, "", eventList(status, now))}
    <footer>${joined(" · ", status.uptime && say.daemonUp(status.uptime), status.repo_count ? say.repositories(status.repo_count) : "")}</footer>`;
}
