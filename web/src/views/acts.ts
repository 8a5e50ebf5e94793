/** What a person can do in the monitor. Only `ask` leaves it, as a message in the conversation. */
import type { DisplayMode } from "../contract/host";
import type { Ask } from "../state/prompts";

export interface Acts {
  retry(): void;
  chooseProject(project: string): void;
  chooseTask(task: string): void;
  chooseMode(mode: DisplayMode): void;
  fold(section: string, isOpen: boolean): void;
  ask(ask: Ask): void;
}
