/** What a person can do in the monitor. Only `ask` leaves it, as a message in the conversation. */
import type { DisplayMode } from "../contract/host";
import type { Ask } from "../state/prompts";

export interface Acts {
  readonly retry: () => void;
  readonly chooseProject: (project: string) => void;
  readonly chooseTask: (task: string) => void;
  readonly chooseMode: (mode: DisplayMode) => void;
  readonly fold: (section: string, isOpen: boolean) => void;
  readonly ask: (ask: Ask) => void;
}
