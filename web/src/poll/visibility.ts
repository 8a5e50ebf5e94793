/** Who sees the pane, and how often it therefore asks. */
import type { DisplayMode, Visibility } from "../contract/host";

const RANK: Readonly<Record<Visibility, number>> = { hidden: 0, collapsed: 1, expanded: 2 };

/** Where the host reports the pane's visibility, that decides; else the document's. */
export function effectiveVisibility(
  reported: Visibility | null,
  isDocumentHidden: boolean,
): Visibility {
  return reported ?? (isDocumentHidden ? "hidden" : "expanded");
}

/** Milliseconds between polls; null where none is due. */
export function cadence(mode: DisplayMode, visibility: Visibility): number | null {
  switch (visibility) {
    case "hidden":
      return null;
    case "collapsed":
      return 15_000;
    case "expanded":
      return mode === "inline" ? 3000 : 2000;
  }
}

/** Whether more of the pane is seen now than before. */
export function isMoreVisible(now: Visibility, before: Visibility): boolean {
  return RANK[now] > RANK[before];
}
