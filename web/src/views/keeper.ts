/** Keeps a keyboard user's place: when the focused row goes, its neighbour gets the focus. */

const FOCUSABLE = "button, select, a[href], summary";

/** Runs `render` and mends the focus after it, within `root`. */
export function keepingFocus(root: HTMLElement, render: () => void): void {
  const before = root.ownerDocument.activeElement;
  const isOurs = before instanceof HTMLElement && before !== root && root.contains(before);
  if (!isOurs) {
    render();
    return;
  }
  const row = before.closest("[data-key]");
  const list = row?.closest<HTMLElement>("[data-list]");
  const index = row && list ? rows(list).indexOf(row) : -1;
  const section = before.closest("details");
  render();
  if (before.isConnected) {
    // A row that moved lost the focus on its way.
    before.focus({ preventScroll: true });
    return;
  }
  const candidates = list?.isConnected && index >= 0 ? rows(list) : [];
  const neighbour = candidates[Math.min(index, candidates.length - 1)];
  const next =
    neighbour?.querySelector<HTMLElement>(FOCUSABLE) ??
    (section?.isConnected ? section.querySelector<HTMLElement>(FOCUSABLE) : null) ??
    root.querySelector<HTMLElement>(FOCUSABLE) ??
    root;
  next.focus({ preventScroll: true });
}

function rows(list: HTMLElement): readonly Element[] {
  return [...list.children].filter((row) => row.hasAttribute("data-key"));
}
