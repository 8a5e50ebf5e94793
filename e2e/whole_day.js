/**
 * A host with a working day of its own for the monitor: what it answers is made here, the same in
 * every run, and what the monitor does to it is counted. `day` steers and reads it; the clock and
 * the order of the day are the test's.
 */
"use strict";
(() => {
  const START = Date.parse("2030-01-07T08:00:00Z");
  const PROJECTS = ["alpha", "beta", "gamma"];
  const STATUSES = ["planning", "ready", "implementing", "reviewing", "verifying"];
  const KINDS = ["needs_decision", "review_feedback", "stale_instance"];
  const ROLES = ["planner", "coder", "reviewer", "fixer"];
  const TASKS = 10;
  const EVENTS = 12;
  const SUBTASKS = 4;

  /** Numbers that look drawn by lot and are the same in every run (mulberry32). */
  function lots(seed) {
    let state = seed;
    return (below) => {
      state = (state + 0x6d2b79f5) | 0;
      let mixed = Math.imul(state ^ (state >>> 15), state | 1);
      mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
      return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below);
    };
  }

  /** One project: each look at it is a little later, and a fifth of it has changed. */
  class Group {
    #draw;
    #project;
    #born = 0;
    #agents = [];
    #tasks;
    #attention = [];
    #events = [];

    constructor(project, seed) {
      this.#project = project;
      this.#draw = lots(seed);
      this.#tasks = Array.from({ length: TASKS }, (_, number) => ({
        name: `${project}-task-${String(number).padStart(2, "0")}`,
        status: number % STATUSES.length,
        done: 0,
      }));
    }

    /** Lets time pass, up to `agents` agents. */
    live(at, agents) {
      const draw = this.#draw;
      for (let n = draw(6); n > 0 && this.#agents.length > 0; n -= 1) {
        this.#agents.splice(draw(this.#agents.length), 1);
      }
      while (this.#agents.length > agents) this.#agents.pop();
      for (let n = draw(14); n > 0 && this.#agents.length < agents; n -= 1) {
        this.#born += 1;
        this.#agents.push({ id: `${this.#project}-${this.#born}`, task: draw(TASKS), role: draw(4), stage: 0, since: at, last: at });
      }
      for (const agent of this.#agents) {
        if (draw(5) > 0) continue;
        agent.last = at;
        if (draw(3) === 0) [agent.stage, agent.since] = [draw(4), at];
      }
      const task = this.#tasks[draw(TASKS)];
      task.done = (task.done + 1) % (2 * SUBTASKS + 1);
      if (task.done === 0) task.status = (task.status + 1) % STATUSES.length;
      this.#tell(at, task.name, `subtask ${task.done} is done`);
      // Somebody always waits while agents work, and nobody for long when none does.
      if (agents > 0 && (draw(8) === 0 || this.#attention.length === 0)) {
        const kind = KINDS[draw(3)];
        this.#attention.push({ kind, task: task.name, since: at, detail: `question ${this.#born}` });
      } else if (this.#attention.length > (agents > 0 ? 1 : 0) && draw(9) < 2) {
        const [decided] = this.#attention.splice(draw(this.#attention.length), 1);
        this.#tell(at, decided.task, "decided");
      }
      if (this.#attention.length > 12) this.#attention.shift();
    }

    seen(at, asked) {
      const counts = STATUSES.map((_, index) => this.#tasks.filter(({ status }) => status === index).length);
      const blocked = new Set(this.#attention.map(({ task }) => task));
      return {
        schema_version: 2,
        generated_at: time(at),
        project: this.#project,
        daemon_running: true,
        uptime: "1h0m5s",
        repo_count: PROJECTS.length,
        lifecycle: { ...Object.fromEntries(STATUSES.map((each, index) => [each, counts[index]])), total: TASKS },
        active_agents: this.#agents.map((agent, index) => ({
          id: agent.id,
          task: this.#tasks[agent.task].name,
          role: ROLES[agent.role],
          program: "codex",
          wave: 1 + (index % 2),
          worktree: `${this.#tasks[agent.task].name}-w1`,
          branch: `kas/${this.#tasks[agent.task].name}`,
          active: agent.stage < 3,
          paused: agent.stage === 3,
          ...(agent.stage < 3 && { stage: ["loading", "running", "ready"][agent.stage], stage_since: time(agent.since) }),
          last_activity: time(agent.last),
          evidence: "output",
        })),
        attention: this.#attention.map((item) => ({ ...item, since: time(item.since) })),
        truncated: {},
        projects: PROJECTS,
        tasks: this.#tasks.map(({ name, status, done }) => ({
          filename: name,
          status: STATUSES[status],
          topic: "a topic of a usual length",
          branch: `kas/${name}`,
          active_wave: done < SUBTASKS ? 1 : 2,
          total_waves: 2,
          subtasks_done: done,
          subtasks_total: 2 * SUBTASKS,
          blocked: blocked.has(name),
        })),
        events: this.#events.map((event) => ({ ...event, at: time(event.at) })),
        ...(asked && { focus: this.#focus(asked) }),
      };
    }

    #focus(name) {
      const { status = 0, done = 0 } = this.#tasks.find((task) => task.name === name) ?? {};
      const wave = (number) => ({
        wave: number,
        title: `wave ${number}`,
        active: (done < SUBTASKS) === (number === 1),
        tasks: Array.from({ length: SUBTASKS }, (_, index) => {
          const each = (number - 1) * SUBTASKS + index + 1;
          return { number: each, title: `step ${each}`, status: each <= done ? "done" : each === done + 1 ? "running" : "pending" };
        }),
      });
      return { filename: name, goal: "a goal", waves: [wave(1), wave(2)], readiness: { status: STATUSES[status] } };
    }

    #tell(at, task, message) {
      this.#events.unshift({ at, kind: "subtask_changed", task, message });
      if (this.#events.length > EVENTS) this.#events.pop();
    }
  }

  function time(at) {
    return new Date(at).toISOString();
  }

  function groups(seed) {
    return new Map(PROJECTS.map((project, index) => [project, new Group(project, seed + index)]));
  }

  /** The same snapshots each time it is asked for, made before the day begins. */
  function still() {
    const made = [...groups(99)].map(([project, group]) => {
      for (let turn = 0; turn < 40; turn += 1) group.live(START + turn * 2000, 30);
      return [project, (task) => group.seen(START + 80_000, task)];
    });
    return new Map(made);
  }

  // The clock is the test's already; what the monitor sets and clears on it is watched.
  const { setTimeout: set, clearTimeout: clear } = window;
  const pending = new Set();
  window.setTimeout = (run, ms, ...given) => {
    const id = set(() => {
      pending.delete(id);
      run(...given);
    }, ms);
    pending.add(id);
    day.mostTimers = Math.max(day.mostTimers, pending.size);
    return id;
  };
  window.clearTimeout = (id) => {
    pending.delete(id);
    clear(id);
  };
  Math.random = () => 0.5;

  const living = groups(7);
  const stills = still();
  const listeners = new Set();
  const kept = [];
  let inFlight = 0;
  let settledAt = 0;

  const host = {
    contractVersion: 1,
    displayMode: "fullscreen",
    visibility: "expanded",
    theme: "light",
    input: { project: "alpha" },
    refresh(scope) {
      day.calls += 1;
      day.leastGap = Math.min(day.leastGap, performance.now() - settledAt);
      if (host.visibility === "hidden") day.whileHidden += 1;
      inFlight += 1;
      day.mostInFlight = Math.max(day.mostInFlight, inFlight);
      return answer(scope).finally(() => {
        inFlight -= 1;
        settledAt = performance.now();
      });
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    saveState(scope) {
      day.saved.push(scope);
      if (day.saved.length > 4) day.saved.shift();
    },
    setBadge(badge) {
      day.badge = badge;
    },
    sendPrompt: async () => true,
  };

  function answer({ project = "alpha", task = "" }) {
    if (day.isDown) return Promise.reject(new Error("down"));
    if (day.isStill) return Promise.resolve(stills.get(project)(task));
    day.answers += 1;
    leak(day.answers);
    const at = START + performance.now();
    const group = living.get(project);
    group.live(at, day.agents);
    const seen = group.seen(at, task);
    return day.delay ? new Promise((resolve) => set(() => resolve(seen), day.delay)) : Promise.resolve(seen);
  }

  /** What the measure must notice: one small thing kept for each answer. */
  function leak(number) {
    if (day.leak === "row") kept.push(document.querySelector(".agents tr").cloneNode(true));
    if (day.leak === "listener") document.addEventListener("kas-none", () => number);
    if (day.leak === "closure") kept.push(() => number);
  }

  const day = {
    agents: 20,
    isDown: false,
    isStill: false,
    delay: 0,
    leak: "",
    calls: 0,
    answers: 0,
    whileHidden: 0,
    mostInFlight: 0,
    mostTimers: 0,
    leastGap: Infinity,
    badge: null,
    saved: [],
    /** Changes what the day is like and what the host says; the monitor is told of the latter. */
    steer({ displayMode, visibility, theme, ...ways }) {
      Object.assign(day, ways);
      const said = Object.entries({ displayMode, visibility, theme }).filter(([, value]) => value !== undefined);
      if (said.some(([name, value]) => host[name] !== value)) {
        Object.assign(host, Object.fromEntries(said));
        for (const listener of listeners) listener();
      }
    },
    /** What was counted since the last look. */
    look() {
      const { calls, answers, whileHidden, mostInFlight, mostTimers, leastGap } = day;
      const [timers, shown] = [pending.size, document.documentElement.dataset.theme];
      Object.assign(day, { calls: 0, answers: 0, whileHidden: 0, mostInFlight: inFlight, mostTimers: timers, leastGap: Infinity });
      return { calls, answers, whileHidden, mostInFlight, mostTimers, timers, leastGap: Math.min(leastGap, 1e9), theme: shown, badge: day.badge?.level ?? "" };
    },
  };
  window.kasmosMonitorHost = host;
  window.day = day;
})();
