/**
 * The boundary: untrusted values become typed ones here and nowhere else, which is why this is the
 * only file with `as`. Knows the contract, nothing of where a value came from.
 */
import type { LiveStatus, MonitorScope } from "./live_status.gen";
import { SHAPES } from "./shapes.gen";

export const SCHEMA_VERSION = 2;
/** The longest name that is kept of a scope; names in the store are shorter. */
const SCOPE_LIMIT = 1000;
const NO_REASON = "the server reported an error";

/** What an answer to `refresh` turned out to be. */
export type Reply =
  | { readonly kind: "snapshot"; readonly snapshot: LiveStatus }
  | {
      readonly kind: "error";
      readonly code: string;
      readonly message: string;
      readonly projects: readonly string[];
    }
  | { readonly kind: "incompatible"; readonly found: string }
  | { readonly kind: "bad"; readonly why: string };

/** Narrows to an object with unknown values. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Narrows to something that can be called. */
export function isMethod(value: unknown): value is (...args: unknown[]) => unknown {
  return typeof value === "function";
}

/** Reads an answer: a bare snapshot, a tool result around one or its text, or any as JSON text. */
export function parseReply(value: unknown): Reply {
  let answer = value;
  if (typeof answer === "string") {
    try {
      answer = JSON.parse(answer);
    } catch {
      return { kind: "bad", why: "the answer is not JSON" };
    }
  }
  if (!isRecord(answer)) return { kind: "bad", why: "the answer is empty" };
  if (answer["isError"] === true) return parseError(answer);
  if (isRecord(answer["structuredContent"])) return parseSnapshot(answer["structuredContent"]);
  if (typeof answer["result"] === "string") return parseReply(answer["result"]);
  // Some hosts pass on the text alone.
  const text = firstText(answer["content"]);
  if (text !== undefined) return parseReply(text);
  return parseSnapshot(answer);
}

/** Reads `{project?, task?}`; anything that is not a plain text is left out. */
export function parseScope(value: unknown): MonitorScope {
  const scope: { project?: string; task?: string } = {};
  if (isRecord(value)) {
    const { project, task } = value;
    if (typeof project === "string" && project) scope.project = project.slice(0, SCOPE_LIMIT);
    if (typeof task === "string" && task) scope.task = task.slice(0, SCOPE_LIMIT);
  }
  return scope;
}

function parseSnapshot(value: Readonly<Record<string, unknown>>): Reply {
  const version = value["schema_version"];
  if (typeof version === "number" && version !== SCHEMA_VERSION) {
    return { kind: "incompatible", found: String(version) };
  }
  try {
    return { kind: "snapshot", snapshot: read(value, "LiveStatus", "snapshot") as LiveStatus };
  } catch (error) {
    return { kind: "bad", why: error instanceof Mismatch ? error.message : "unreadable" };
  }
}

function parseError(answer: Readonly<Record<string, unknown>>): Reply {
  const meta = isRecord(answer["_meta"]) ? answer["_meta"] : {};
  const error = isRecord(meta["kasmos/error"]) ? meta["kasmos/error"] : {};
  const names = meta["kasmos/projects"];
  const { code, message } = error;
  return {
    kind: "error",
    code: typeof code === "string" ? code : "failed",
    message: (typeof message === "string" ? message : firstText(answer["content"]) ?? NO_REASON).slice(0, 500),
    projects: Array.isArray(names) ? names.filter((name) => typeof name === "string") : [],
  };
}

function firstText(content: unknown): string | undefined {
  const first: unknown = Array.isArray(content) ? content[0] : undefined;
  const text = isRecord(first) ? first["text"] : undefined;
  return typeof text === "string" ? text : undefined;
}

class Mismatch extends Error {}

/** Copies what the shape names out of `value`, so that nothing a host changes later is seen. */
function read(value: unknown, kind: string, where: string): unknown {
  if (kind.startsWith("[")) {
    if (!Array.isArray(value)) throw new Mismatch(`${where} is not a list`);
    return value.map((item: unknown) => read(item, kind.slice(1), where));
  }
  const shape = SHAPES[kind];
  if (!shape) {
    if (!holds(value, kind)) throw new Mismatch(`${where} has a value that cannot be read`);
    return value;
  }
  if (!isRecord(value)) throw new Mismatch(`${where} is not an object`);
  const copy: Record<string, unknown> = {};
  for (const [marked, inner] of Object.entries(shape)) {
    const isOptional = marked.endsWith("?");
    const key = isOptional ? marked.slice(0, -1) : marked;
    const given = value[key];
    if (given === undefined || given === null) {
      if (!isOptional) throw new Mismatch(`${where}.${key} is missing`);
    } else {
      copy[key] = read(given, inner, `${where}.${key}`);
    }
  }
  return copy;
}

function holds(value: unknown, kind: string): boolean {
  switch (kind[0]) {
    case "s":
      return typeof value === "string";
    case "n":
      return Number.isFinite(value);
    case "b":
      return typeof value === "boolean";
    case "t":
      return typeof value === "string" && Number.isFinite(Date.parse(value));
    default:
      return typeof value === "string" && kind.slice(1).split("|").includes(value);
  }
}
