// Written by scripts/gen-contract from the pydantic models. Do not edit.

/** One agent that runs, waits, is paused or needs a look, in order of task, role and wave. */
export interface ActiveAgent {
  /** The task it works on; empty for an agent without one. */
  readonly task: string;
  readonly role: string;
  readonly wave?: number;
  /** Omitted when neither a report nor recent output supports one. */
  readonly stage?: "loading" | "ready" | "running";
  /** It reported that it waits for a person. */
  readonly ready?: boolean;
  /** Its process lives and is not paused. */
  readonly active?: boolean;
  /** Basename of its working tree, never a path. */
  readonly worktree?: string;
  readonly branch?: string;
  readonly task_number?: number;
  readonly last_activity?: string;
  readonly paused?: boolean;
  /** Stable key of the agent. */
  readonly id?: string;
  /** Basename of its command, such as `codex`. */
  readonly program?: string;
  readonly stage_since?: string;
  /** `unknown` or `stale`; omitted when good. */
  readonly health?: "unknown" | "stale";
  /** What the stage rests on. */
  readonly evidence?: "report" | "output" | "process";
}

/** One durable condition that may need a person, most urgent kind first, oldest first. */
export interface AttentionItem {
  readonly task: string;
  readonly kind: "needs_decision" | "review_feedback" | "stale_instance" | (string & {});
  readonly detail?: string;
  readonly since?: string;
  /** The agent's id, for `stale_instance`. */
  readonly agent?: string;
}

/** What a host may show of a closed pane; counts include what was truncated. */
export interface Badge {
  readonly level: "idle" | "running" | "attention" | "offline";
  readonly running_agents: number;
  readonly blocked: number;
  readonly implementing: number;
  readonly reviewing: number;
  readonly project?: string;
  readonly task?: string;
}

/** One event, newest first in its array; `message` has at most 240 graphemes. */
export interface EventItem {
  readonly at: string;
  readonly kind: string;
  readonly message: string;
  readonly task?: string;
  readonly agent?: string;
  readonly wave?: number;
  readonly task_number?: number;
  readonly level?: "info" | "warn" | "error";
}

/** One subtask of the focused task; `number` is unique in the task. */
export interface FocusSubtask {
  readonly number: number;
  readonly title: string;
  readonly status: SubtaskStatus;
}

/** One wave of the focused task with all its subtasks. */
export interface FocusWave {
  readonly wave: number;
  readonly title?: string;
  readonly active?: boolean;
  readonly tasks: readonly FocusSubtask[];
}

/** How many tasks stand in each active status; `total` is the sum of the five. */
export interface LifecycleCounts {
  readonly planning: number;
  readonly ready: number;
  readonly implementing: number;
  readonly reviewing: number;
  readonly verifying: number;
  readonly total: number;
}

/** The snapshot: what a group of coding agents is doing right now. */
export interface LiveStatus {
  readonly schema_version: 2;
  readonly generated_at: string;
  readonly project: string;
  readonly daemon_running: boolean;
  /** Whole seconds as `45s`, `3m0s`, `1h0m5s`. */
  readonly uptime?: string;
  readonly repo_count?: number;
  readonly lifecycle: LifecycleCounts;
  readonly active_agents: readonly ActiveAgent[];
  readonly attention: readonly AttentionItem[];
  readonly truncated: Truncation;
  readonly projects?: readonly string[];
  readonly tasks?: readonly TaskSummary[];
  readonly events?: readonly EventItem[];
  readonly focus?: TaskFocus;
  readonly notices?: readonly Notice[];
}

/** The only state that a widget owns and the only input of a refresh. */
export interface MonitorScope {
  readonly project?: string;
  readonly task?: string;
}

/** Something that could not be seen, so that nobody takes its absence for an all-clear. */
export interface Notice {
  readonly code: "daemon_unreachable" | "daemon_incompatible" | "daemon_slow" | "daemon_other_store" | "events_unavailable" | "focus_not_found" | "no_projects" | "plan_unreadable" | "store_read_only" | (string & {});
  readonly message: string;
}

/** What happens inside a status; each phase belongs to one status. */
export type Phase = "planned" | "wave_running" | "wave_waiting" | "fixing" | "reviewing";

/** How near the focused task is to being done. */
export interface Readiness {
  readonly status: TaskStatus;
  readonly review_cycle?: number;
  readonly has_review_feedback?: boolean;
  readonly pr_check_status?: "pending" | "passing" | "failing";
  readonly pr_review_decision?: "required" | "approved" | "changes_requested";
  readonly last_verify_outcome?: "approved" | "failed";
}

/** How far one subtask is. */
export type SubtaskStatus = "pending" | "running" | "done" | "failed" | "blocked";

/** One task in full: its goal, its waves and its readiness. */
export interface TaskFocus {
  readonly filename: string;
  readonly goal?: string;
  /** Empty when the plan has no waves, which is not the same as complete. */
  readonly waves: readonly FocusWave[];
  readonly readiness: Readiness;
}

/** Where a task is in its life. */
export type TaskStatus = "planning" | "ready" | "implementing" | "reviewing" | "verifying" | "done" | "cancelled";

/** One task in an active status. Sorted by filename. */
export interface TaskSummary {
  readonly filename: string;
  readonly status: TaskStatus;
  readonly phase?: Phase;
  readonly topic?: string;
  readonly branch?: string;
  readonly active_wave?: number;
  readonly total_waves?: number;
  readonly subtasks_done: number;
  readonly subtasks_total: number;
  readonly review_cycle?: number;
  readonly pr_url?: string;
  readonly pr_check_status?: "pending" | "passing" | "failing";
  readonly pr_review_decision?: "required" | "approved" | "changes_requested";
  /** It has an attention item, counted before the cut. */
  readonly blocked?: boolean;
}

/** How many items were left out of each capped array. */
export interface Truncation {
  readonly active_agents?: number;
  readonly attention?: number;
  readonly tasks?: number;
  readonly events?: number;
}
