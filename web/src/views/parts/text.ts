/** Names, times and progress: the small pieces of every row. */
import { moment } from "../../state/language";
import * as say from "../../state/say";
import { age } from "../../state/words";
import { html, nothing } from "../html";
import type { Piece, Template } from "../html";

const MOST_DOTS = 12;
const BAR = 72;

/** A name from outside, kept apart from the text around it. */
export function name(text: string, kind = ""): Template {
  return html`<bdi class="name ${kind}" title=${text}>${text}</bdi>`;
}

/** A name in the host's mono; nothing where it is empty. */
export function code(text: string | undefined): Piece {
  return text ? name(text, "code") : nothing;
}

/** An age with the exact time on hover. */
export function when(at: string | undefined, now: number): Piece {
  if (!at) return nothing;
  const exact = moment(Math.min(Date.parse(at), now));
  return html`<time datetime=${at} title=${exact}>${age(at, now)}</time>`;
}

/** Done of total, as dots while they can be counted, else as a bar, and always as a number. */
export function progress(done: number, total: number): Piece {
  if (total <= 0) return nothing;
  const isDots = total <= MOST_DOTS;
  const filled = isDots ? dots(0, done) : `M0 3h${(BAR * Math.min(done / total, 1)).toFixed(1)}v6H0z`;
  const rest = isDots ? dots(done, total) : `M.5 3.5h${BAR - 1}v5H.5z`;
  return html`<span class="progress"><svg width=${isDots ? total * 9 : BAR} height="12" aria-hidden="true">
      <path class="filled" d=${filled}></path>
      <path class="rest" d=${rest}></path></svg><span class="count">${say.ratio(done, total)}</span></span>`;
}

function dots(from: number, to: number): string {
  const count = Math.max(Math.min(to, MOST_DOTS) - from, 0);
  return Array.from({ length: count }, (_, n) => `M${(from + n) * 9 + 1} 6a3 3 0 1 1 6 0 3 3 0 0 1-6 0z`).join("");
}

/** `and 7 more`, where something was cut off. */
export function more(count: number | undefined): Piece {
  return count ? html`<p class="more">${say.andMore(count)}</p>` : nothing;
}
