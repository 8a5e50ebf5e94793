// A host of the kasmos monitor, contract version 1, with every required and optional member.
// docs/host-contract.md says what the monitor does with each of them.
"use strict";

const BADGES = { idle: "○", running: "▶", attention: "◆", offline: "✕" };
const KEPT = "kasmos-monitor-scope";
const address = new URLSearchParams(location.search);

// What the host decides. The page's address says how it begins: ?displayMode=pip&theme=dark.
const pane = {
  contractVersion: Number(address.get("contractVersion") ?? 1),
  displayMode: address.get("displayMode") ?? "inline",
  visibility: address.get("visibility") ?? "expanded",
  theme: address.get("theme") ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"),
  maxHeight: Number(address.get("maxHeight") ?? 0),
  snapshot: undefined,
  messages: "accepted",
};
const listeners = new Set();

// The monitor reads properties again after each call of its listener, so getters are enough.
window.kasmosMonitorHost = {
  // Read once, when the monitor's script runs. Another version is shown as incompatible.
  get contractVersion() { return pane.contractVersion; },
  get displayMode() { return pane.displayMode; },
  // Of the pane, not of the window: a hidden pane asks nothing.
  get visibility() { return pane.visibility; },
  get theme() { return pane.theme; },
  // Of an inline pane, in CSS pixels; undefined where it may be as high as it likes.
  get maxHeight() { return pane.maxHeight || undefined; },
  // A result that the monitor did not ask for: at the start, or with a later notification.
  get snapshot() { return pane.snapshot; },

  // What the host was opened with. What was kept, by saveState below, goes before it.
  get input() { return { project: address.get("project") ?? "", task: address.get("task") ?? "" }; },
  get state() { return kept(); },
  saveState(scope) { localStorage.setItem(KEPT, JSON.stringify(scope)); },

  refresh: ask,
  subscribe(listener) {
    listeners.add(listener);
    return () => listeners.delete(listener);
  },

  // Called when it changed. A closed pane would show it on its tab; here it is this page's tab.
  setBadge({ level, running_agents: running, blocked, project = "" }) {
    document.title = `${BADGES[level]} ${blocked || running || ""} ${project || "kasmos"}`.replace(/ +/g, " ");
    byId("badge").textContent = `${level} · ${running} running · ${blocked} blocked`;
  },

  // A host may refuse a mode: it leaves displayMode as it is, and the monitor stays so.
  requestDisplayMode(mode) { set({ displayMode: mode }); },

  // Puts the text into the conversation. Returning is "sent"; a rejection is shown as refused.
  async sendPrompt(text) {
    if (pane.messages === "refused") throw new Error("this host refuses messages");
    const item = document.createElement("li");
    // Text, never HTML: names of tasks are data.
    item.textContent = text;
    byId("prompts").append(item);
  },
};

// Asks for one snapshot. The monitor calls this by its own cadence: a host never polls.
async function ask({ project, task }) {
  const response = await fetch("v1/monitor/snapshot", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ project, task }),
    // The monitor gives up after 8 s; nobody waits for an answer after that.
    signal: AbortSignal.timeout(8000),
  });
  const answer = await response.json();
  // An error of kasmos is an answer too, and names what is wrong. Anything else is a failure.
  if (response.ok || answer.isError) return answer;
  throw new Error(`kas serve answered ${response.status}`);
}

function kept() {
  try {
    return JSON.parse(localStorage.getItem(KEPT) ?? "{}");
  } catch {
    return {};
  }
}

// Changes what the host says, and tells who listens.
function set(change) {
  Object.assign(pane, change);
  dress();
  for (const listener of [...listeners]) listener();
}

function dress() {
  const { dataset } = document.documentElement;
  // The theme is not among them: the monitor puts it there, and this page's colours follow it.
  dataset.mode = pane.displayMode;
  dataset.pane = pane.visibility;
  for (const control of document.querySelectorAll("#bar [name]")) control.value = pane[control.name] || "";
}

function byId(id) {
  return document.getElementById(id);
}

byId("bar").addEventListener("change", ({ target: { name, value } }) => {
  if (name === "contractVersion") {
    // No host changes its version while it runs: the page begins anew.
    address.set(name, value);
    location.search = address;
  } else {
    set({ [name]: name === "maxHeight" ? Number(value) : value });
  }
});
byId("push").addEventListener("click", () => {
  const { input, state } = window.kasmosMonitorHost;
  ask(state.project || state.task ? state : input).then(
    (snapshot) => set({ snapshot }),
    // The monitor finds out by itself that nothing answers.
    () => undefined,
  );
});
dress();
