// Written by scripts/gen-contract from the pydantic models. Do not edit.

/** One agent that runs, waits, is paused or needs a look, in order of task, role and wave. */
export interface ActiveAgent {
  /** The task it works on; empty for an agent without one. */
  readonly task: string;
  /** What it does, such as `coder`. */
  readonly role: string;
  /** The wave it works in. */
  readonly wave?: number;
  /** Omitted when neither a report nor recent output supports one. */
  readonly stage?: "loading" | "ready" | "running";
  /** It reported that it waits for a person. */
  readonly ready?: boolean;
  /** Its process lives and is not paused. */
  readonly active?: boolean;
  /** Basename of its working tree, never a path. */
  readonly worktree?: string;
  /** Its git branch. */
  readonly branch?: string;
  /** The subtask it works on. */
  readonly task_number?: number;
  /** Its last output or report. */
  readonly last_activity?: string;
  /** It was stopped on purpose. */
  readonly paused?: boolean;
  /** Stable key of the agent. */
  readonly id?: string;
  /** Basename of its command, such as `codex`. */
  readonly program?: string;
  /** When the stage began. */
  readonly stage_since?: string;
  /** `unknown` or `stale`; omitted when good. */
  readonly health?: "unknown" | "stale";
  /** What the stage rests on. */
  readonly evidence?: "report" | "output" | "process";
}

/** One durable condition that may need a person, most urgent kind first, oldest first. */
export interface AttentionItem {
  /** The task concerned; empty for an agent without one. */
  readonly task: string;
  /** `needs_decision`: a wave is done or the task is blocked. `review_feedback`: a fixer must address it. `stale_instance`: an agent needs a look. */
  readonly kind: "needs_decision" | "review_feedback" | "stale_instance" | (string & {});
  /** The reason, where there is one. */
  readonly detail?: string;
  /** Since when it waits. */
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
  /** When it was written. */
  readonly at: string;
  /** A lifecycle event, or what else happened. */
  readonly kind: string;
  /** What happened, in words. */
  readonly message: string;
  /** The task concerned. */
  readonly task?: string;
  /** The agent concerned. */
  readonly agent?: string;
  /** The wave concerned. */
  readonly wave?: number;
  /** The subtask concerned. */
  readonly task_number?: number;
  /** How loud it is. */
  readonly level?: "info" | "warn" | "error";
}

/** One subtask of the focused task; `number` is unique in the task. */
export interface FocusSubtask {
  /** Its number, 1..N over all waves. */
  readonly number: number;
  /** What it is about. */
  readonly title: string;
  /** How far it is. */
  readonly status: SubtaskStatus;
}

/** One wave of the focused task with all its subtasks. */
export interface FocusWave {
  /** Its number, from 1. */
  readonly wave: number;
  /** What it is about. */
  readonly title?: string;
  /** It is being worked on. */
  readonly active?: boolean;
  /** Its subtasks by number. */
  readonly tasks: readonly FocusSubtask[];
}

/** How many tasks stand in each active status; `total` is the sum of the five. */
export interface LifecycleCounts {
  /** A plan is being made. */
  readonly planning: number;
  /** Waits to be started. */
  readonly ready: number;
  /** Is being worked on, or fixed. */
  readonly implementing: number;
  /** Is under review. */
  readonly reviewing: number;
  /** Is being verified. */
  readonly verifying: number;
  /** Sum of the five. */
  readonly total: number;
}

/** The snapshot: what a group of coding agents is doing right now. */
export interface LiveStatus {
  /** Version of this shape; check it before reading on. */
  readonly schema_version: 2;
  /** When the snapshot was assembled; ages are relative to it. */
  readonly generated_at: string;
  /** The project shown; empty when none is known. */
  readonly project: string;
  /** Whether a daemon of this store answered; false means that agents are unknown. */
  readonly daemon_running: boolean;
  /** Whole seconds as `45s`, `3m0s`, `1h0m5s`. */
  readonly uptime?: string;
  /** Repositories that the daemon knows. */
  readonly repo_count?: number;
  /** Tasks in each active status. */
  readonly lifecycle: LifecycleCounts;
  /** Agents that run, wait, are paused or need a look. */
  readonly active_agents: readonly ActiveAgent[];
  /** What may need a person, most urgent first. */
  readonly attention: readonly AttentionItem[];
  /** How much the cap cut off. */
  readonly truncated: Truncation;
  /** Every known project, sorted. */
  readonly projects?: readonly string[];
  /** Active tasks, sorted by filename. */
  readonly tasks?: readonly TaskSummary[];
  /** Recent events, newest first. */
  readonly events?: readonly EventItem[];
  /** The task asked for, in full. */
  readonly focus?: TaskFocus;
  /** What could not be seen. */
  readonly notices?: readonly Notice[];
}

/** The only state that a widget owns and the only input of a refresh. */
export interface MonitorScope {
  readonly project?: string;
  readonly task?: string;
}

/** Something that could not be seen, so that nobody takes its absence for an all-clear. */
export interface Notice {
  /** What could not be seen, for programs. */
  readonly code: "daemon_unreachable" | "daemon_incompatible" | "daemon_slow" | "daemon_other_store" | "events_unavailable" | "focus_not_found" | "no_projects" | "plan_unreadable" | "store_read_only" | (string & {});
  /** The same in words. */
  readonly message: string;
}

/** What happens inside a status; each phase belongs to one status. */
export type Phase = "planned" | "wave_running" | "wave_waiting" | "fixing" | "reviewing";

/** How near the focused task is to being done. */
export interface Readiness {
  /** Where the task is in its life. */
  readonly status: TaskStatus;
  /** How often a review asked for changes. */
  readonly review_cycle?: number;
  /** Current feedback waits for a fixer. */
  readonly has_review_feedback?: boolean;
  /** The pull request's checks. */
  readonly pr_check_status?: "pending" | "passing" | "failing";
  /** The pull request's review. */
  readonly pr_review_decision?: "required" | "approved" | "changes_requested";
  /** How the last verification ended. */
  readonly last_verify_outcome?: "approved" | "failed";
}

/** How far one subtask is. */
export type SubtaskStatus = "pending" | "running" | "done" | "failed" | "blocked";

/** One task in full: its goal, its waves and its readiness. */
export interface TaskFocus {
  /** The task's name. */
  readonly filename: string;
  /** The plan's goal. */
  readonly goal?: string;
  /** Empty when the plan has no waves, which is not the same as complete. */
  readonly waves: readonly FocusWave[];
  /** How near it is to being done. */
  readonly readiness: Readiness;
}

/** Where a task is in its life. */
export type TaskStatus = "planning" | "ready" | "implementing" | "reviewing" | "verifying" | "done" | "cancelled";

/** One task in an active status. Sorted by filename. */
export interface TaskSummary {
  /** The task's name. */
  readonly filename: string;
  /** Where it is in its life. */
  readonly status: TaskStatus;
  /** What happens inside the status. */
  readonly phase?: Phase;
  /** What it belongs to. */
  readonly topic?: string;
  /** Its git branch. */
  readonly branch?: string;
  /** The wave being worked on. */
  readonly active_wave?: number;
  /** Waves of its plan; none is `no waves`, not complete. */
  readonly total_waves?: number;
  /** Subtasks that are done. */
  readonly subtasks_done: number;
  /** Subtasks of its plan. */
  readonly subtasks_total: number;
  /** How often a review asked for changes. */
  readonly review_cycle?: number;
  /** Address of its pull request. */
  readonly pr_url?: string;
  /** The pull request's checks. */
  readonly pr_check_status?: "pending" | "passing" | "failing";
  /** The pull request's review. */
  readonly pr_review_decision?: "required" | "approved" | "changes_requested";
  /** It has an attention item, counted before the cut. */
  readonly blocked?: boolean;
}

/** How many items were left out of each capped array. */
export interface Truncation {
  /** Agents left out. */
  readonly active_agents?: number;
  /** Attention items left out. */
  readonly attention?: number;
  /** Tasks left out. */
  readonly tasks?: number;
  /** Events left out. */
  readonly events?: number;
}
