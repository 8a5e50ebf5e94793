// Written by scripts/gen-contract from the pydantic models. Do not edit.

/** What a key holds: `s`tring, `n`umber, `b`oolean, `t`imestamp, `=words`, or a shape;
 *  `[` before it: an array; a key that ends with `?` may be missing. */
export const SHAPES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  LiveStatus: { "schema_version": "n", "generated_at": "t", "project": "s", "daemon_running": "b", "uptime?": "s", "repo_count?": "n", "lifecycle": "LifecycleCounts", "active_agents": "[ActiveAgent", "attention": "[AttentionItem", "truncated": "Truncation", "projects?": "[s", "tasks?": "[TaskSummary", "events?": "[EventItem", "focus?": "TaskFocus", "notices?": "[Notice" },
  LifecycleCounts: { "planning": "n", "ready": "n", "implementing": "n", "reviewing": "n", "verifying": "n", "total": "n" },
  ActiveAgent: { "task": "s", "role": "s", "wave?": "n", "stage?": "=loading|ready|running", "ready?": "b", "active?": "b", "worktree?": "s", "branch?": "s", "task_number?": "n", "last_activity?": "t", "paused?": "b", "id?": "s", "program?": "s", "stage_since?": "t", "health?": "=unknown|stale", "evidence?": "=report|output|process" },
  AttentionItem: { "task": "s", "kind": "s", "detail?": "s", "since?": "t", "agent?": "s" },
  Truncation: { "active_agents?": "n", "attention?": "n", "tasks?": "n", "events?": "n" },
  TaskSummary: { "filename": "s", "status": "=planning|ready|implementing|reviewing|verifying|done|cancelled", "phase?": "=planned|wave_running|wave_waiting|fixing|reviewing", "topic?": "s", "branch?": "s", "active_wave?": "n", "total_waves?": "n", "subtasks_done": "n", "subtasks_total": "n", "review_cycle?": "n", "pr_url?": "s", "pr_check_status?": "=pending|passing|failing", "pr_review_decision?": "=required|approved|changes_requested", "blocked?": "b" },
  EventItem: { "at": "t", "kind": "s", "message": "s", "task?": "s", "agent?": "s", "wave?": "n", "task_number?": "n", "level?": "=info|warn|error" },
  TaskFocus: { "filename": "s", "goal?": "s", "waves": "[FocusWave", "readiness": "Readiness" },
  Notice: { "code": "s", "message": "s" },
  FocusWave: { "wave": "n", "title?": "s", "active?": "b", "tasks": "[FocusSubtask" },
  Readiness: { "status": "=planning|ready|implementing|reviewing|verifying|done|cancelled", "review_cycle?": "n", "has_review_feedback?": "b", "pr_check_status?": "=pending|passing|failing", "pr_review_decision?": "=required|approved|changes_requested", "last_verify_outcome?": "=approved|failed" },
  FocusSubtask: { "number": "n", "title": "s", "status": "=pending|running|done|failed|blocked" },
};
