/** The two selectors. Options hold names as text. */
import type { LiveStatus } from "../../contract/live_status.gen";
import type { Focus } from "../../state/focus";
import type { Acts } from "../acts";
import { html, nothing, repeat } from "../html";
import type { Template } from "../html";

export function projectSelect(projects: readonly string[], chosen: string, act: Acts): Template {
  const isListed = projects.includes(chosen);
  return html`<select class="project" aria-label="project" @change=${chosenValue(act.chooseProject)}>
    ${isListed ? nothing : html`<option value="" .selected=${true}>${chosen || "choose a project"}</option>`}
    ${repeat(projects, (each) => each, (each) => html`<option dir="auto" value=${each} .selected=${each === chosen}>${each}</option>`)}
  </select>`;
}

/** The first option follows whatever most needs a look. */
export function taskSelect({ tasks = [], truncated }: LiveStatus, focus: Focus | null, act: Acts): Template {
  const chosen = focus?.isChosen ? focus.filename : "";
  const names = tasks.map((task) => task.filename);
  const followed = focus && !focus.isChosen ? `follow: ${focus.filename}` : "follow the most urgent";
  return html`<select class="task" aria-label="task" @change=${chosenValue(act.chooseTask)}>
    <option dir="auto" value="" .selected=${!chosen}>${names.length || chosen ? followed : "no tasks"}</option>
    ${chosen && !names.includes(chosen) ? html`<option dir="auto" value=${chosen} .selected=${true}>${chosen}</option>` : nothing}
    ${repeat(names, (each) => each, (each) => html`<option dir="auto" value=${each} .selected=${each === chosen}>${each}</option>`)}
    ${truncated.tasks ? html`<option disabled>and ${truncated.tasks} more</option>` : nothing}
  </select>`;
}

function chosenValue(choose: (value: string) => void): (event: Event) => void {
  return ({ target }) => {
    if (target instanceof HTMLSelectElement) choose(target.value);
  };
}
