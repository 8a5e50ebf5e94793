/** What a page may hold beside the browser's own globals. */
interface Window {
  readonly kasmosMonitorHost?: unknown;
  readonly openai?: unknown;
}
declare module "*.css";
