/** The first line of a pane: project, freshness, modes; and below it what is wrong, if anything. */
import { isUnseen } from "../../state/agents";
import type { Frame } from "../../state/derive";
import { moment } from "../../state/language";
import * as say from "../../state/say";
import type { SituationKind } from "../../state/situation";
import type { Acts } from "../acts";
import { html, nothing } from "../html";
import type { Piece, Template } from "../html";
import { mark } from "./mark";
import type { Mark } from "./mark";
import { projectSelect } from "./select";
import { name } from "./text";

const MARKS: Readonly<Record<SituationKind, Mark>> = {
  loading: "load",
  live: "run",
  opened: "quiet",
  store_only: "unknown",
  stale: "old",
  offline: "lost",
  incompatible: "odd",
  store_error: "broken",
  choose_project: "wait",
  no_projects: "pending",
  nothing_here: "new",
};

export function situationMark(kind: SituationKind): Template {
  return mark(MARKS[kind]);
}

export function header(frame: Frame, act: Acts): Template {
  const { situation, status, state } = frame;
  const projects = status?.projects ?? [];
  const project = status?.project ?? state.scope.project ?? "";
  return html`<header>
    <h1>${projects.length > 1 ? projectSelect(projects, project, act) : name(project || "kasmos")}</h1>
    <span class="fresh is-${situation.kind}" title=${status ? moment(Date.parse(status.generated_at)) : ""}>${situationMark(situation.kind)}<span>${situation.label}</span></span>
    ${modeButtons(frame, act)}
  </header>`;
}

export function modeButtons({ state }: Frame, act: Acts): Piece {
  const others = state.host.modes.filter((mode) => mode !== state.pane.mode);
  if (others.length === 0) return nothing;
  return html`<span class="modes" role="group" aria-label=${say.showAs}>
    ${others.map(
      (mode) =>
        html`<button class="mode to-${mode}" title=${say.showAsMode(say.word(mode))} aria-label=${say.showAsMode(say.word(mode))} @click=${() => act.chooseMode(mode)}>
          <svg viewBox="0 0 16 16" aria-hidden="true"><path d=${MODE_PATHS[mode]}></path></svg>
        </button>`,
    )}
  </span>`;
}

const MODE_PATHS = {
  pip: "M1.5 2.5h13v11h-13zM8.5 8.5h4v3h-4z",
  inline: "M1.5 4.5h13v7h-13zM1.5 1.5h13M1.5 14.5h13",
  fullscreen: "M1.5 6V1.5H6M10 1.5h4.5V6M14.5 10v4.5H10M6 14.5H1.5V10",
  sidebar: "M1.5 2.5h13v11h-13zM10 2.5v11",
} as const;

/** What is wrong and what to do; nothing while all is well. */
export function banner({ situation, status }: Frame, act: Acts): Piece {
  // What the situation says already is not said twice.
  const notices = (status?.notices ?? []).filter(
    (notice) =>
      notice.code !== situation.kind && !(situation.kind === "store_only" && isUnseen(notice)),
  );
  return html`${situation.text && status && situation.kind !== "nothing_here" && situation.kind !== "no_projects"
      ? html`<div class="banner is-${situation.kind}">
          ${situationMark(situation.kind)}<span class="says">${situation.text}</span>${remedy(situation.command)}
          ${situation.projects.length ? projectSelect(situation.projects, "", act) : nothing}
          ${situation.canRetry ? retry(act) : nothing}
        </div>`
      : nothing}
  ${notices.map(
    ({ code, message }) =>
      html`<div class="banner is-notice" data-code=${code}>${mark("unknown")}<span class="says"><bdi title=${message}>${message}</bdi></span></div>`,
  )}`;
}

/** A whole pane for states that have nothing else to show. */
export function card({ situation }: Frame, act: Acts): Template {
  return html`<div class="card is-${situation.kind}">
    ${situationMark(situation.kind)}
    <div>
      <h2>${situation.title}</h2>
      <p>${situation.text}</p>
      ${remedy(situation.command)}
      ${situation.projects.length
        ? html`<ul class="choices" data-list="projects">${situation.projects.map(
            (each) => html`<li data-key=${each}><button @click=${() => act.chooseProject(each)}>${name(each)}</button></li>`,
          )}</ul>`
        : nothing}
      ${situation.canRetry ? retry(act) : nothing}
    </div>
  </div>`;
}

function remedy(command: string): Piece {
  return command ? html`<code>${command}</code>` : nothing;
}

function retry(act: Acts): Template {
  return html`<button class="retry" @click=${() => act.retry()}>${say.retry}</button>`;
}
