/** Starts the monitor on a page: the only file that runs when it is loaded. */
import { ROOT_ID } from "./contract/host";
import { chooseHost } from "./host/choose";
import { mount } from "./mount";
import { browserClock } from "./poll/clock";
import "./style/monitor.css";

function start(): void {
  const root = document.getElementById(ROOT_ID);
  if (!root) return;
  const unmount = mount(root, chooseHost(window), browserClock);
  window.addEventListener("pagehide", ({ persisted }) => {
    if (!persisted) unmount();
  });
}

if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
else start();
