/** Which host there is: an injected one, else the Apps SDK, else MCP Apps around a frame, else none. */
import type { Host, HostPage } from "./host";
import { NO_HOST, unusableHost } from "./host";
import { injectedHost } from "./injected";
import { mcpAppsHost } from "./mcp_apps";
import { isOpenai, openaiHost } from "./openai";

/** Reads what the page's window holds; speaks with the window around it only where nothing is held. */
export function chooseHost(page: HostPage): Host {
  if (page.kasmosMonitorHost !== undefined) return injectedHost(page.kasmosMonitorHost);
  if (isOpenai(page.openai)) return openaiHost(page.openai, page);
  if (page.parent !== page) return mcpAppsHost(page);
  return unusableHost("none", NO_HOST, {});
}
