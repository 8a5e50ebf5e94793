/**
 * Every word that the monitor shows, in one table; another language is another module in its place,
 * with the same names.
 * Names, commands and what the server writes stay as they are, and so do the messages to the agent
 * (prompts.ts): the skill that answers them reads English. Constants, not an object: the build writes
 * each text where it is used.
 */
import { num } from "./language";

/** `1 agent`, `2 agents`. */
function plural(count: number, noun: string): string {
  return `${num(count)} ${noun}${count === 1 ? "" : "s"}`;
}

// Pieces
export const now = "now";
/** A word of the contract: a status, a stage, a decision; one of a later version as it is. */
export const word = (word: string): string => word.replaceAll("_", " ");
export const wave = (wave: number): string => `wave ${num(wave)}`;
export const task = "task";
export const taskNumber = (number: number): string => `task ${num(number)}`;
export const waveOf = (wave: number, total: number): string => `wave ${num(wave)} of ${num(total)}`;
export const waves = (total: number): string => plural(total, "wave");
export const noWaves = "no waves";
export const ratio = (done: number, total: number): string => `${num(done)}/${num(total)}`;
export const andMore = (count: number): string => `and ${num(count)} more`;
export const more = (count: number): string => `${num(count)} more`;

// Who waits
export const needsDecision = "needs a decision";
export const hasFeedback = "has review feedback";
export const needsLook = "agent needs a look";
export const waveDone = (wave: number): string => `wave ${num(wave)} is done`;
export const someAgent = "an";
export const agent = "agent";
export const waiting = (count: number): string => `${num(count)} wait${count === 1 ? "s" : ""}`;
export const forYou = "for you";
export const moreWait = (count: number, first: string): string => `${num(count)} more wait for you, first ${first}`;
export const nothingWaits = "nothing waits for you";
export const nothingStored = "nothing waits in the store";
export const healthUnknown = "nothing waits in the store · the health of agents is unknown";

// Actions
export const look = "look";
export const startWave = (wave: number): string => `start wave ${num(wave)}`;
export const approveReview = "approve review";
export const asking = "asking…";
export const sent = "asked in the conversation";
export const refused = "refused · try again";
export const retry = "retry now";
export const showAs = "show as";
export const showAsMode = (mode: string): string => `show as ${mode}`;

// Choosing
export const project = "project";
export const chooseProject = "choose a project";
export const follow = (task: string): string => `follow: ${task}`;
export const followUrgent = "follow the most urgent";
export const noTasks = "no tasks";

// Sections
export const monitor = "kasmos monitor";
export const attention = "attention";
export const tasks = "tasks";
export const focus = "focus";
export const agents = "agents";
export const events = "events";
export const active = (count: number): string => `${num(count)} active`;
export const byStatus = "tasks by status";
export const short = { planning: "plan", ready: "ready", implementing: "impl", reviewing: "rev", verifying: "ver" };
export const daemonUp = (uptime: string): string => `daemon up ${uptime}`;
export const repositories = (count: number): string => `repositories ${num(count)}`;

// Tasks
export const noActiveTasks = "no active tasks";
export const noFocus = "no task is in focus";
export const notInProject = "this task is not in the project";
export const wavesComing = "its waves are on the way";
export const noWavesInPlan = "no waves in the plan";
export const activeWave = "active";
export const reviewCycle = (cycle: number): string => `review cycle ${num(cycle)}`;
export const feedback = "review feedback to address";
export const checks = (word: string): string => `checks ${word}`;
export const pullRequest = (word: string): string => `pull request ${word}`;
export const verification = (word: string): string => `verification ${word}`;
export const openPullRequest = "open pull request";

// Agents
export const needsLookWord = "needs a look";
export const need = (count: number): string => `${num(count)} ${count === 1 ? "needs" : "need"} a look`;
export const counted = (count: number, word: string): string => `${num(count)} ${word}`;
export const agentsUnknown = "agents unknown";
export const agentsUnseen = "agents unknown · the daemon is not seen";
export const noAgents = "no agents";
export const noAgentsListed = "no agents are listed";
export const running = (count: number): string => `${num(count)} running`;
export const runningOf = (count: number, total: number): string => `${num(count)} running of ${num(total)}`;
export const columns = ["state", "role", "task", "wave", "activity", "branch", "worktree"];
export const noTask = "no task";
export const seenBy = (evidence: string): string => `seen by ${evidence}`;
export const activity = (seen: number, polls: number): string => `active in ${num(seen)} of the last ${num(polls)} looks`;
export const allMoving = "all moving";
export const idle = "idle";
export const since = "since";

// Events
export const eventsUnseen = "events cannot be seen";
export const noEvents = "no events yet";

// States, and what to do
export const loading = "loading";
export const asksFirst = "asking for the first snapshot";
export const waitsForHost = "waiting for the host";
export const live = "live";
export const asOpened = "as opened";
export const storeOnly = "store only";
export const fromStore = (why: string): string => `${why} · tasks come from the store`;
export const daemonUnseen = "the daemon is not seen: agents are unknown";
export const stale = "stale";
export const offline = "offline";
export const incompatible = "incompatible";
export const storeError = "store error";
export const noProject = "no project";
export const registerOne = "register a repository to begin";
export const nothingHere = "nothing here yet";
export const createOne = "create a task to see it here";
export const updateOne = (why: string): string => `${why} · update one of them`;
export const inBrowser = (why: string): string => `${why} · open the monitor in a browser`;
export const updateAll = "update kasmos, then reload";
export const known = (age: string): string => `, showing what was known ${age} ago`;
export const retrying = (age: string): string => `retrying in ${age}`;
export const unknownProject = (project: string): string => `project “${project}” is not known · choose another`;
export const severalProjects = "several projects are known · choose one";
export const unreachable = "cannot reach kas serve";
export const timeout = (age: string): string => `kas serve did not answer within ${age}`;
export const badReply = (why: string): string => `bad reply: ${why}`;
export const otherSchema = (found: string): string => `the server speaks schema ${found}, this monitor reads schema 2`;
