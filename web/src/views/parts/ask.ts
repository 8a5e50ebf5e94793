/** A button that sends a follow-up message, and what became of it. */
import type { Frame } from "../../state/derive";
import type { Ask } from "../../state/prompts";
import * as say from "../../state/say";
import type { Acts } from "../acts";
import { html, nothing } from "../html";
import type { Template } from "../html";
import { mark } from "./mark";

/** `subject` completes the label for those who do not see the row. */
export function askButton(
  frame: Frame,
  act: Acts,
  ask: Ask | null,
  subject: string,
): Template | typeof nothing {
  if (!ask || !frame.state.host.canSend) return nothing;
  const result = frame.fate(ask)?.result;
  const isBusy = result === "sending" || result === "sent";
  const words =
    result === "sending"
      ? say.asking
      : result === "sent"
        ? say.sent
        : result === "refused"
          ? say.refused
          : ask.label;
  return html`<button class="ask is-${result ?? "idle"}" aria-disabled=${isBusy} aria-label="${words}: ${subject}" title=${words} @click=${() => act.ask(ask)}>${result === "sent" ? mark("done") : result === "refused" ? mark("broken") : nothing}<span>${words}</span></button>`;
}
