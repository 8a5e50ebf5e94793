/** An agent's recent activity: a bar for each look that found it active since the one before. */
import { LONGEST } from "../../state/sparks";
import * as say from "../../state/say";
import { html, nothing } from "../html";
import type { Piece } from "../html";

export function spark(looks: readonly boolean[] = []): Piece {
  if (looks.length === 0) return nothing;
  const from = LONGEST - looks.length;
  const bars = looks.map((isActive, index) => (isActive ? `M${from + index}.5 1v9` : "")).join("");
  const words = say.activity(looks.filter(Boolean).length, looks.length);
  return html`<svg class="spark" width=${LONGEST} height="12" role="img" aria-label=${words}><path class="rest" d="M${from} 10.5H${LONGEST}"></path><path d=${bars}></path></svg>`;
}
