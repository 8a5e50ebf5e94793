/** A window as far as hosts are found through it: with or without another around it. */
import type { HostPage } from "../../src/host/host";

export type Message = Readonly<Record<string, unknown>>;

export class FakePage extends EventTarget implements HostPage {
  readonly kasmosMonitorHost?: unknown;
  readonly openai?: unknown;
  /** What was posted to this window, oldest first. */
  readonly posted: Message[] = [];
  readonly #around: FakePage | null;

  constructor(globals: Pick<HostPage, "kasmosMonitorHost" | "openai"> = {}, around: FakePage | null = null) {
    super();
    Object.assign(this, globals);
    this.#around = around;
  }

  get parent(): FakePage {
    return this.#around ?? this;
  }

  postMessage(message: Message): void {
    // A structured clone, as a browser makes one.
    this.posted.push(structuredClone(message));
  }

  setTimeout(run: () => void, ms: number): number {
    return Number(setTimeout(run, ms));
  }

  clearTimeout(id: number): void {
    clearTimeout(id);
  }

  /** Delivers a message, by default from the window around. */
  hear(data: unknown, source: unknown = this.#around): void {
    const event = new MessageEvent("message", { data: structuredClone(data) });
    Object.defineProperty(event, "source", { value: source });
    this.dispatchEvent(event);
  }
}
