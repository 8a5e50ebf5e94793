/** The rail: three lines that can be read at 240 × 80. */
import type { TaskSummary } from "../contract/live_status.gen";
import { areAgentsKnown, runningLine, waitingTotal } from "../state/agents";
import type { Frame } from "../state/derive";
import * as say from "../state/say";
import { attentionWords, waveWords } from "../state/words";
import type { Acts } from "./acts";
import { html, nothing } from "./html";
import type { Template } from "./html";
import { modeButtons, situationMark } from "./parts/header";
import { lifecycle } from "./parts/lifecycle";
import { mark } from "./parts/mark";
import { projectSelect } from "./parts/select";
import { name, progress, when } from "./parts/text";

const HEADING = html`<h1 class="aloud">kasmos</h1>`;

export function pip(frame: Frame, act: Acts): Template {
  const { situation, status, focus } = frame;
  if (!status || situation.kind === "choose_project" || situation.kind === "no_projects") {
    return html`<div class="rail">${HEADING}
      <p class="line is-${situation.kind}">${situationMark(situation.kind)}<span class="what strong">${situation.label}</span>${modeButtons(frame, act)}</p>
      <p class="line"><span class="says" title=${situation.text}>${situation.text}</span></p>
      <p class="line">${situation.projects.length ? projectSelect(situation.projects, "", act) : situation.command ? html`<code>${situation.command}</code>` : nothing}
        ${situation.canRetry ? html`<button class="retry" @click=${() => act.retry()}>${say.retry}</button>` : nothing}</p>
    </div>`;
  }
  const isFine = situation.kind === "live" || situation.kind === "opened" || situation.kind === "nothing_here";
  return html`<div class="rail">${HEADING}
    <p class="line">${headline(frame)}
      ${isFine || situation.kind === "store_only" ? nothing : html`<span class="fresh is-${situation.kind}" title=${situation.text}>${situationMark(situation.kind)}<span>${situation.label}</span></span>`}
      <span class="fact" title=${runningLine(status)}>${areAgentsKnown(status) ? nothing : mark("unknown")}<span>${runningLine(status)}</span></span>${modeButtons(frame, act)}</p>
    ${lifecycle(status.lifecycle)}
    <p class="line">${focus?.summary
      ? html`${name(focus.filename, "what strong")}<span class="waves">${focus.summary.active_wave ? waveWords(focus.summary) : readyWords(focus.summary)}</span>${progress(focus.summary.subtasks_done, focus.summary.subtasks_total)}`
      : html`<span class="what">${situation.command ? html`<code>${situation.command}</code>` : name(status.project)}</span>`}</p>
  </div>`;
}

/** How near a task without an active wave is to being done. */
function readyWords({ status, pr_check_status: checks }: TaskSummary): string {
  return checks ? `${say.word(status)} · ${say.checks(say.word(checks))}` : say.word(status);
}

/** Who waits and since when; else that all moves, or since when nothing does. */
function headline({ status, situation, now }: Frame): Template {
  if (!status) return html`${nothing}`;
  const waiting = waitingTotal(status);
  const [first] = status.attention;
  if (waiting && first) {
    const title = `${first.task || say.someAgent} ${attentionWords(first, status)}`;
    return html`<span class="what strong is-wait" title=${title}>${mark("wait")}<span>${say.waiting(waiting)}<span class="wide"> ${say.forYou}</span></span>${when(first.since, now)}</span>`;
  }
  if (situation.kind === "nothing_here") return html`<span class="what strong">${situationMark(situation.kind)}<span>${say.nothingHere}</span></span>`;
  if (!areAgentsKnown(status)) return html`<span class="what strong">${mark("unknown")}<span>${say.nothingStored}</span></span>`;
  if (status.active_agents.some(({ stage, active }) => active && stage !== "ready")) {
    return html`<span class="what strong is-run">${mark("run")}<span>${say.allMoving}</span></span>`;
  }
  const [last] = status.events ?? [];
  return html`<span class="what strong">${mark("quiet")}<span>${say.idle}</span>${last ? html` <span class="dim">${say.since}</span> ${when(last.at, now)}` : nothing}</span>`;
}
