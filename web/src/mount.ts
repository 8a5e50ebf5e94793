/** Wires a host, the poller, the state and the views together, once per mounted monitor. */
import type { DisplayMode, Scope } from "./contract/host";
import type { Host } from "./host/host";
import type { Clock, TimerId } from "./poll/clock";
import { createPoller, isSameScope } from "./poll/poller";
import { effectiveVisibility } from "./poll/visibility";
import { badge } from "./state/badge";
import { derive, layout, looks } from "./state/derive";
import { asking } from "./state/focus";
import type { Ask } from "./state/prompts";
import { reduce } from "./state/reducer";
import type { Action, HostFacts, PaneFacts, State } from "./state/state";
import { initialState } from "./state/state";
import type { Acts } from "./views/acts";
import { app } from "./views/app";
import { render } from "./views/html";
import { keepingFocus } from "./views/keeper";

const TICK_MS = 1000;

/** Draws the monitor into `root` until the returned function is called, which stops everything. */
export function mount(root: HTMLElement, host: Host, clock: Clock): () => void {
  const page = root.ownerDocument;
  const view = page.defaultView ?? window;
  let state: State = initialState(facts(), pane(), host.scope);
  let ticker: TimerId | null = null;
  let isDrawing = false;
  let isStopped = false;
  let lastBadge = "";
  let lastLooks = "";
  let lastDrawn = state.snapshot;
  let lastHeight = 0;
  let lastPushed = host.pushed();
  let lastScope = host.scope;
  let lastVariables: Host["variables"];
  let isBegun = false;
  let hasChosen = false;

  const poller = createPoller(
    {
      clock,
      refresh: () => (isThere() ? host.refresh(asking(state)) : Promise.reject(new Error("gone"))),
      onSnapshot: (snapshot, isPolled) =>
        dispatch({ type: "snapshot", snapshot, at: clock.now(), isPolled }),
      onFailure: (problem) => dispatch({ type: "failure", problem }),
      onSchedule: (at) => dispatch({ type: "schedule", at }),
    },
    state.scope,
    state.pane,
  );

  const act: Acts = {
    retry: () => poller.refresh(),
    chooseProject: (project) => choose(project ? { project } : {}),
    chooseTask(task) {
      const project = state.snapshot?.project ?? state.scope.project ?? "";
      choose({ ...(project && { project }), ...(task && { task }) });
    },
    chooseMode(mode) {
      // A host may refuse a mode; then the pane stays as the host says it is.
      host.requestMode?.(mode).catch(() => undefined);
    },
    fold(section, isOpen) {
      if (state.folded.has(section) === isOpen) dispatch({ type: "fold", section, isOpen });
    },
    ask: (ask) => void send(ask),
  };

  function pane(): PaneFacts {
    const said = host.environment();
    return { ...said, visibility: effectiveVisibility(said.visibility, page.hidden) };
  }

  function facts(): HostFacts {
    const { name, problem, isReady, modes } = host;
    return { name, problem, isReady, modes, canSend: host.sendPrompt !== undefined };
  }

  /** False once the page was written anew under the monitor, which then ends: no event tells it. */
  function isThere(): boolean {
    if (!root.isConnected) unmount();
    return root.isConnected;
  }

  function dispatch(action: Action): void {
    if (isStopped) return;
    const before = state;
    state = reduce(state, action);
    if (state !== before) draw();
  }

  function choose(scope: Scope): void {
    if (isSameScope(scope, state.scope)) return;
    hasChosen = true;
    host.saveState?.(scope);
    select(scope);
  }

  function select(scope: Scope): void {
    dispatch({ type: "scope", scope });
    poller.select(scope);
  }

  async function send(ask: Ask): Promise<void> {
    const { fate } = derive(state, clock.now());
    // Two clicks before a redraw are still one message.
    if (!host.sendPrompt || (fate(ask) && fate(ask)?.result !== "refused")) return;
    dispatch({ type: "asked", key: ask.key, asked: { result: "sending", at: clock.now() } });
    const result = await host.sendPrompt(ask.prompt);
    dispatch({ type: "asked", key: ask.key, asked: { result, at: clock.now() } });
  }

  function hostChanged(): void {
    if (host.scope !== lastScope) {
      lastScope = host.scope;
      // What a person chose stays.
      if (!hasChosen) select(lastScope);
    }
    const pushed = host.pushed();
    if (pushed !== lastPushed) {
      lastPushed = pushed;
      if (pushed !== undefined) poller.push(pushed);
    }
    paneChanged();
    begin();
  }

  function paneChanged(): void {
    const now = { pane: pane(), host: facts() };
    const { pane: before, host: known } = state;
    if (JSON.stringify(now) !== JSON.stringify({ pane: before, host: known })) dispatch({ type: "pane", ...now });
    poller.show(now.pane);
  }

  function begin(): void {
    if (isBegun || !host.isReady || host.problem !== null) return;
    isBegun = true;
    poller.start(lastPushed);
  }

  /** Changes within one task are drawn together. */
  function draw(): void {
    if (isDrawing) return;
    isDrawing = true;
    queueMicrotask(() => {
      isDrawing = false;
      if (!isStopped) drawNow();
    });
  }

  function drawNow(): void {
    if (!isThere()) return;
    const mode = layout(state, view.innerWidth, view.innerHeight);
    dress(mode);
    const now = clock.now();
    const frame = derive(state, now);
    const look = mode + looks(frame, now);
    if (look !== lastLooks || state.snapshot !== lastDrawn) {
      lastLooks = look;
      lastDrawn = state.snapshot;
      keepingFocus(root, () => render(app(frame, act, mode), root));
    }
    tellHost();
    tick();
  }

  function dress(mode: DisplayMode): void {
    const { theme, maxHeight, insets } = state.pane;
    const { dataset, style } = page.documentElement;
    if (theme && dataset["theme"] !== theme) dataset["theme"] = theme;
    const limit = mode === "inline" && maxHeight !== null ? `${maxHeight}px` : "";
    if (root.style.maxHeight !== limit) root.style.maxHeight = limit;
    if (root.style.padding !== insets) root.style.padding = insets;
    if (host.variables === lastVariables) return;
    for (const name of Object.keys(lastVariables ?? {})) style.removeProperty(name);
    lastVariables = host.variables;
    for (const [name, value] of Object.entries(lastVariables ?? {})) style.setProperty(name, value);
  }

  function tellHost(): void {
    const now = badge(state);
    const text = JSON.stringify(now);
    if (now && text !== lastBadge) {
      lastBadge = text;
      host.setBadge?.(now);
    }
    // Reading a height lays the page out, so only where somebody wants it.
    if (!host.reportHeight || state.pane.mode !== "inline") return;
    const height = Math.ceil(root.scrollHeight);
    if (height > 0 && height !== lastHeight) {
      lastHeight = height;
      host.reportHeight(height);
    }
  }

  /** Ages and countdowns go on while somebody sees them. */
  function tick(): void {
    if (ticker !== null) clock.cancel(ticker);
    const isSeen = state.pane.visibility !== "hidden" && host.problem === null;
    ticker = isSeen ? clock.after(TICK_MS, draw) : null;
  }

  /** Links are the host's to open, where it takes them. */
  function follow(event: Event): void {
    const link = event.target instanceof Element ? event.target.closest("a") : null;
    if (link && host.openLink?.(link.href)) event.preventDefault();
  }

  const stopListening = host.subscribe(hostChanged);
  page.addEventListener("visibilitychange", paneChanged);
  view.addEventListener("resize", draw);
  root.addEventListener("click", follow);
  host.onEnd?.(unmount);
  drawNow();
  begin();
  return unmount;

  function unmount(): void {
    if (isStopped) return;
    isStopped = true;
    poller.stop();
    stopListening();
    page.removeEventListener("visibilitychange", paneChanged);
    view.removeEventListener("resize", draw);
    root.removeEventListener("click", follow);
    if (ticker !== null) clock.cancel(ticker);
    render(null, root);
  }
}
