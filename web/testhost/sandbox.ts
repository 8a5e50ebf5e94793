/**
 * The page between host and view, on an origin of its own: passes messages on and loads the view
 * into an inner frame, which has this page's policy from its header.
 */
import { isRecord } from "../src/contract/parse";

const LOAD = "ui/notifications/sandbox-resource-ready";
const host = new URL(document.referrer).origin;
const inner = document.createElement("iframe");
inner.setAttribute("sandbox", "allow-scripts allow-same-origin");
document.body.append(inner);

window.addEventListener("message", ({ source, origin, data }: MessageEvent<unknown>) => {
  if (source === window.parent && origin === host) {
    if (isRecord(data) && data["method"] === LOAD) load(data["params"]);
    else inner.contentWindow?.postMessage(data, "*");
  } else if (source === inner.contentWindow) {
    window.parent.postMessage(data, host);
  }
});
window.parent.postMessage({ jsonrpc: "2.0", method: "ui/notifications/sandbox-proxy-ready", params: {} }, host);

/** Written into the same window each time, as real hosts do: timers of the view before go on. */
function load(params: unknown): void {
  const view = inner.contentDocument;
  const html = isRecord(params) ? params["html"] : undefined;
  if (!view || typeof html !== "string") throw new Error("there is nothing to load");
  view.open();
  // eslint-disable-next-line @typescript-eslint/no-deprecated, no-restricted-syntax -- the view is the host's to write
  view.write(html);
  view.close();
}
