/** The agents: a table where there is room, two lines each where there is not. */
import type { ActiveAgent, LiveStatus } from "../../contract/live_status.gen";
import type { AgentWord } from "../../state/agents";
import { agentTitle, agentWord, areAgentsKnown } from "../../state/agents";
import type { Times } from "../../state/derive";
import { keyed, place } from "../../state/words";
import { html, nothing, repeat } from "../html";
import type { Template } from "../html";
import { mark } from "./mark";
import type { Mark } from "./mark";
import { code, more, name, when } from "./text";

const MARKS: Readonly<Record<AgentWord, Mark>> = {
  running: "run",
  ready: "turn",
  loading: "load",
  quiet: "quiet",
  paused: "pause",
  unknown: "unknown",
  "needs a look": "broken",
};
const COLUMNS = ["state", "role", "task", "wave", "last activity", "branch", "worktree"];

export function agentTable(status: LiveStatus, times: Times): Template {
  if (!areAgentsKnown(status)) {
    return html`<p class="none">${mark("unknown")}<span>agents unknown · the daemon is not seen</span></p>`;
  }
  const agents = keyed(status.active_agents, agentKey);
  if (agents.length === 0) return html`<p class="none">no agents are listed</p>`;
  return html`<table class="agents" role="table">
      <thead role="rowgroup"><tr role="row">${COLUMNS.map((each) => html`<th role="columnheader" scope="col">${each}</th>`)}</tr></thead>
      <tbody role="rowgroup" data-list="agents">${repeat(agents, ([key]) => key, ([key, agent]) => row(key, agent, times))}</tbody>
    </table>${more(status.truncated.active_agents)}`;
}

function agentKey({ id, task, role, wave, task_number }: ActiveAgent): string {
  return id ?? JSON.stringify([task, role, wave, task_number]);
}

function row(key: string, agent: ActiveAgent, times: Times): Template {
  const word = agentWord(agent);
  const where = place(", ", agent.wave, agent.task_number);
  return html`<tr role="row" data-key=${key} class="is-${MARKS[word]}">
    <td role="cell" class="c-state" title=${agent.evidence ? `seen by ${agent.evidence}` : ""}>${mark(MARKS[word])}<span>${word}${agent.stage && agent.stage_since && !agent.paused ? html` ${when(agent.stage_since, times)}` : nothing}</span></td>
    <td role="cell" class="c-role">${name(agentTitle(agent))}</td>
    <td role="cell" class="c-task">${agent.task ? name(agent.task) : html`<span class="dim">no task</span>`}</td>
    <td role="cell" class="c-wave" title=${where}>${where.replace("wave ", "w").replace(/,? ?task /, " #")}</td>
    <td role="cell" class="c-last">${when(agent.last_activity, times)}</td>
    <td role="cell" class="c-branch">${code(agent.branch)}</td>
    <td role="cell" class="c-tree">${code(agent.worktree)}</td>
  </tr>`;
}
