// A host of the contract that answers inside the page with what a test puts there, and that
// watches what the monitor does with it. It runs before anything else in the page.
"use strict";
(() => {
  // How it begins stands behind the address.
  const { host, answers } = JSON.parse(decodeURIComponent(location.hash.slice(1)));
  const listeners = new Set();
  const pane = {
    // Read at each request: a snapshot, an error of a tool, null for a failure, undefined: never.
    answers,
    asked: 0,
    settled: 0,
    prompts: [],
    spoken: [],
    listens: new Set(),
    violations: [],
    ran: 0,
    tell() {
      for (const listener of listeners) listener();
    },
    /** Changes what the host says. */
    set(change) {
      Object.assign(host, change);
      pane.tell();
    },
    /** Lets the monitor ask once more, at once, and waits until the answer is drawn. */
    async again(next) {
      pane.answers = next;
      const before = pane.settled;
      pane.set({ visibility: "hidden" });
      pane.set({ visibility: "expanded" });
      for (let turns = 0; pane.settled === before; turns += 1) {
        if (turns > 500) throw new Error("the monitor does not ask");
        await pane.drawn();
      }
      await pane.drawn();
    },
    /** Answers and drawing are microtasks: they are over before a message arrives. */
    drawn: () =>
      new Promise((done) => {
        const { port1, port2 } = new MessageChannel();
        port1.onmessage = () => done(port1.close());
        port2.postMessage(0);
      }),
  };
  Object.assign(host, {
    async refresh() {
      pane.asked += 1;
      if (pane.answers === undefined) return new Promise(() => {});
      try {
        if (pane.answers === null) throw new Error("nobody there");
        return structuredClone(pane.answers);
      } finally {
        pane.settled += 1;
      }
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    saveState() {},
    setBadge() {},
    requestDisplayMode(mode) {
      pane.set({ displayMode: mode });
    },
    sendPrompt(text) {
      pane.prompts.push(text);
    },
  });
  const { addEventListener } = EventTarget.prototype;
  EventTarget.prototype.addEventListener = function (type, ...rest) {
    if (this instanceof Element) pane.listens.add(`${this.localName}@${type}`);
    return addEventListener.call(this, type, ...rest);
  };
  addEventListener.call(document, "securitypolicyviolation", ({ blockedURI }) => {
    pane.violations.push(blockedURI);
  });
  addEventListener.call(document, "DOMContentLoaded", () => {
    const told = new MutationObserver(() => {
      const text = document.querySelector("[aria-live]")?.textContent ?? "";
      if (text !== pane.spoken.at(-1)) pane.spoken.push(text);
    });
    told.observe(document.getElementById("root"), { subtree: true, childList: true, characterData: true });
  });
  window.pane = pane;
  window.kasmosMonitorHost = host;
})();
