/** The two selectors. Options hold names as text. */
import type { LiveStatus } from "../../contract/live_status.gen";
import type { Focus } from "../../state/focus";
import * as say from "../../state/say";
import type { Acts } from "../acts";
import { html, nothing, repeat } from "../html";
import type { Template } from "../html";

export function projectSelect(projects: readonly string[], chosen: string, act: Acts): Template {
  const isListed = projects.includes(chosen);
  return html`<select class="project" aria-label=${say.project} @change=${chosenValue(act.chooseProject)}>
    ${isListed ? nothing : html`<option value="" .selected=${true}>${chosen || say.chooseProject}</option>`}
    ${repeat(projects, (each) => each, (each) => html`<option dir="auto" value=${each} .selected=${each === chosen}>${each}</option>`)}
  </select>`;
}

/** The first option follows whatever most needs a look. */
export function taskSelect({ tasks = [], truncated }: LiveStatus, focus: Focus | null, act: Acts): Template {
  const chosen = focus?.isChosen ? focus.filename : "";
  const names = tasks.map((task) => task.filename);
  const followed = focus && !focus.isChosen ? say.follow(focus.filename) : say.followUrgent;
  return html`<select class="task" aria-label=${say.task} @change=${chosenValue(act.chooseTask)}>
    <option dir="auto" value="" .selected=${!chosen}>${names.length || chosen ? followed : say.noTasks}</option>
    ${chosen && !names.includes(chosen) ? html`<option dir="auto" value=${chosen} .selected=${true}>${chosen}</option>` : nothing}
    ${repeat(names, (each) => each, (each) => html`<option dir="auto" value=${each} .selected=${each === chosen}>${each}</option>`)}
    ${truncated.tasks ? html`<option disabled>${say.andMore(truncated.tasks)}</option>` : nothing}
  </select>`;
}

function chosenValue(choose: (value: string) => void): (event: Event) => void {
  return ({ target }) => {
    if (target instanceof HTMLSelectElement) choose(target.value);
  };
}
