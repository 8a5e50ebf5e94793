/** The whole of the monitor for one frame: the chosen view and the live region. */
import type { DisplayMode } from "../contract/host";
import type { Frame } from "../state/derive";
import * as say from "../state/say";
import type { Acts } from "./acts";
import { fullscreen } from "./fullscreen";
import { html } from "./html";
import type { Template } from "./html";
import { inline } from "./inline";
import { pip } from "./pip";

/** The live region stands first and always, so that it is known before it speaks. */
export function app(frame: Frame, act: Acts, mode: DisplayMode): Template {
  return html`<div class="aloud" role="status" aria-live="polite">${frame.state.announcement}</div>
    <main class="pane mode-${mode} is-${frame.situation.kind}" aria-label=${say.monitor}>${view(frame, act, mode)}</main>`;
}

function view(frame: Frame, act: Acts, mode: DisplayMode): Template {
  switch (mode) {
    case "pip":
      return pip(frame, act);
    case "inline":
      return inline(frame, act);
    case "fullscreen":
    case "sidebar":
      return fullscreen(frame, act);
  }
}
