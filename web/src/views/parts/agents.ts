/** The agents: a table where there is room, two lines each where there is not. */
import type { ActiveAgent, LiveStatus } from "../../contract/live_status.gen";
import type { AgentWord } from "../../state/agents";
import { agentKey, agentTitle, agentWord, areAgentsKnown } from "../../state/agents";
import type { Frame } from "../../state/derive";
import { num } from "../../state/language";
import * as say from "../../state/say";
import { joined, keyed, place } from "../../state/words";
import { html, nothing, repeat } from "../html";
import type { Template } from "../html";
import { mark } from "./mark";
import type { Mark } from "./mark";
import { spark } from "./spark";
import { code, more, name, when } from "./text";

const MARKS: Readonly<Record<AgentWord, Mark>> = {
  running: "run",
  ready: "turn",
  loading: "load",
  quiet: "quiet",
  paused: "pause",
  unknown: "unknown",
  stale: "broken",
};

export function agentTable(frame: Frame, status: LiveStatus): Template {
  if (!areAgentsKnown(status)) {
    return html`<p class="none">${mark("unknown")}<span>${say.agentsUnseen}</span></p>`;
  }
  const agents = keyed(status.active_agents, agentKey);
  if (agents.length === 0) return html`<p class="none">${say.noAgentsListed}</p>`;
  return html`<table class="agents" role="table">
      <thead role="rowgroup"><tr role="row">${say.columns.map((each) => html`<th role="columnheader" scope="col">${each}</th>`)}</tr></thead>
      <tbody role="rowgroup" data-list="agents">${repeat(agents, ([key]) => key, ([key, agent]) => row(key, agent, frame))}</tbody>
    </table>${more(status.truncated.active_agents)}`;
}

function row(key: string, agent: ActiveAgent, { now, state }: Frame): Template {
  const word = agentWord(agent);
  const where = place(", ", agent.wave, agent.task_number);
  return html`<tr role="row" data-key=${key} class="is-${MARKS[word]}">
    <td role="cell" class="c-state" title=${agent.evidence ? say.seenBy(say.word(agent.evidence)) : ""}>${mark(MARKS[word])}<span>${word === "stale" ? say.needsLookWord : say.word(word)}${agent.stage && agent.stage_since && !agent.paused ? html` ${when(agent.stage_since, now)}` : nothing}</span></td>
    <td role="cell" class="c-role">${name(agentTitle(agent))}</td>
    <td role="cell" class="c-task">${agent.task ? name(agent.task) : html`<span class="dim">${say.noTask}</span>`}</td>
    <td role="cell" class="c-wave" title=${where}>${joined(" ", agent.wave ? `w${num(agent.wave)}` : "", agent.task_number ? `#${num(agent.task_number)}` : "")}</td>
    <td role="cell" class="c-last">${spark(state.sparks.get(key)?.looks)}${when(agent.last_activity, now)}</td>
    <td role="cell" class="c-branch">${code(agent.branch)}</td>
    <td role="cell" class="c-tree">${code(agent.worktree)}</td>
  </tr>`;
}
