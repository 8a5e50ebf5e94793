/** An agent's recent activity: a bar for each look that found it active since the one before. */
import type { Spark } from "../../state/sparks";
import { LONGEST } from "../../state/sparks";
import { say } from "../../state/say";
import { html, nothing } from "../html";
import type { Piece } from "../html";

export function spark(bits: Spark["bits"] | undefined): Piece {
  if (!bits) return nothing;
  const from = LONGEST - bits.length;
  const bars = [...bits].map((bit, index) => (bit === "1" ? `M${from + index}.5 1v9` : "")).join("");
  const words = say.activity(bits.replaceAll("0", "").length, bits.length);
  return html`<svg class="spark" width=${LONGEST} height="12" role="img" aria-label=${words}><title>${words}</title><path class="rest" d="M${from} 10.5H${LONGEST}"></path><path d=${bars}></path></svg>`;
}
