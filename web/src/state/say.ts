/**
 * Every word that the monitor shows, in one table; another language is another table of this shape.
 * Names, commands and what the server writes stay as they are, and so do the messages to the agent
 * (prompts.ts): the skill that answers them reads English. A build with one table writes each text
 * where it is used.
 */
import { num } from "./language";

/** `1 agent`, `2 agents`. */
function plural(count: number, noun: string): string {
  return `${num(count)} ${noun}${count === 1 ? "" : "s"}`;
}

export const say = {
  // Pieces
  now: "now",
  /** A word of the contract: a status, a stage, a decision; one of a later version as it is. */
  word: (word: string) => word.replaceAll("_", " "),
  wave: (wave: number) => `wave ${num(wave)}`,
  task: "task",
  taskNumber: (number: number) => `task ${num(number)}`,
  waveOf: (wave: number, total: number) => `wave ${num(wave)} of ${num(total)}`,
  waves: (total: number) => plural(total, "wave"),
  noWaves: "no waves",
  ratio: (done: number, total: number) => `${num(done)}/${num(total)}`,
  andMore: (count: number) => `and ${num(count)} more`,
  more: (count: number) => `${num(count)} more`,

  // Who waits
  needsDecision: "needs a decision",
  hasFeedback: "has review feedback",
  needsLook: "agent needs a look",
  waveDone: (wave: number) => `wave ${num(wave)} is done`,
  someAgent: "an",
  agent: "agent",
  waiting: (count: number) => `${num(count)} wait${count === 1 ? "s" : ""}`,
  forYou: "for you",
  moreWait: (count: number, first: string) => `${num(count)} more wait for you, first ${first}`,
  nothingWaits: "nothing waits for you",
  nothingStored: "nothing waits in the store",
  healthUnknown: "nothing waits in the store · the health of agents is unknown",

  // Actions
  look: "look",
  startWave: (wave: number) => `start wave ${num(wave)}`,
  approveReview: "approve review",
  asking: "asking…",
  sent: "asked in the conversation",
  refused: "refused · try again",
  retry: "retry now",
  showAs: "show as",
  showAsMode: (mode: string) => `show as ${mode}`,

  // Choosing
  project: "project",
  chooseProject: "choose a project",
  follow: (task: string) => `follow: ${task}`,
  followUrgent: "follow the most urgent",
  noTasks: "no tasks",

  // Sections
  monitor: "kasmos monitor",
  attention: "attention",
  tasks: "tasks",
  focus: "focus",
  agents: "agents",
  events: "events",
  active: (count: number) => `${num(count)} active`,
  byStatus: "tasks by status",
  short: { planning: "plan", ready: "ready", implementing: "impl", reviewing: "rev", verifying: "ver" },
  daemonUp: (uptime: string) => `daemon up ${uptime}`,
  repositories: (count: number) => `repositories ${num(count)}`,

  // Tasks
  noActiveTasks: "no active tasks",
  noFocus: "no task is in focus",
  notInProject: "this task is not in the project",
  wavesComing: "its waves are on the way",
  noWavesInPlan: "no waves in the plan",
  activeWave: "active",
  reviewCycle: (cycle: number) => `review cycle ${num(cycle)}`,
  feedback: "review feedback to address",
  checks: (word: string) => `checks ${word}`,
  pullRequest: (word: string) => `pull request ${word}`,
  verification: (word: string) => `verification ${word}`,
  openPullRequest: "open pull request",

  // Agents
  needsLookWord: "needs a look",
  need: (count: number) => `${num(count)} ${count === 1 ? "needs" : "need"} a look`,
  counted: (count: number, word: string) => `${num(count)} ${word}`,
  agentsUnknown: "agents unknown",
  agentsUnseen: "agents unknown · the daemon is not seen",
  noAgents: "no agents",
  noAgentsListed: "no agents are listed",
  running: (count: number) => `${num(count)} running`,
  runningOf: (count: number, total: number) => `${num(count)} running of ${num(total)}`,
  columns: ["state", "role", "task", "wave", "activity", "branch", "worktree"],
  noTask: "no task",
  seenBy: (evidence: string) => `seen by ${evidence}`,
  activity: (seen: number, polls: number) => `active in ${num(seen)} of the last ${num(polls)} looks`,
  allMoving: "all moving",
  idle: "idle",
  since: "since",

  // Events
  eventsUnseen: "events cannot be seen",
  noEvents: "no events yet",

  // States, and what to do
  loading: "loading",
  asksFirst: "asking for the first snapshot",
  waitsForHost: "waiting for the host",
  live: "live",
  asOpened: "as opened",
  storeOnly: "store only",
  fromStore: (why: string) => `${why} · tasks come from the store`,
  daemonUnseen: "the daemon is not seen: agents are unknown",
  stale: "stale",
  offline: "offline",
  incompatible: "incompatible",
  storeError: "store error",
  noProject: "no project",
  registerOne: "register a repository to begin",
  nothingHere: "nothing here yet",
  createOne: "create a task to see it here",
  updateOne: (why: string) => `${why} · update one of them`,
  inBrowser: (why: string) => `${why} · open the monitor in a browser`,
  updateAll: "update kasmos, then reload",
  known: (age: string) => `, showing what was known ${age} ago`,
  retrying: (age: string) => `retrying in ${age}`,
  unknownProject: (project: string) => `project “${project}” is not known · choose another`,
  severalProjects: "several projects are known · choose one",
  unreachable: "cannot reach kas serve",
  timeout: (age: string) => `kas serve did not answer within ${age}`,
  badReply: (why: string) => `bad reply: ${why}`,
  otherSchema: (found: string) => `the server speaks schema ${found}, this monitor reads schema 2`,
};
