/** A headed part of a pane that can be folded; what is folded outlives every update. */
import type { Frame } from "../../state/derive";
import type { Acts } from "../acts";
import { html, nothing } from "../html";
import type { Template } from "../html";

export function section(
  { state }: Frame,
  act: Acts,
  id: string,
  title: string,
  note: string,
  body: Template,
): Template {
  return html`<details class="section on-${id}" ?open=${!state.folded.has(id)}
    @toggle=${({ target }: Event) => {
      if (target instanceof HTMLDetailsElement) act.fold(id, target.open);
    }}>
    <summary><h2>${title}</h2>${note ? html`<span class="note">${note}</span>` : nothing}</summary>
    ${body}
  </details>`;
}
