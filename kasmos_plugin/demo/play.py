"""The plot: two waves with a decision between them, a crash, a review that asks for changes.

    wave 1: 1 2 3 ── 3 crashes, is looked at, runs again ──> decision ──> wave 2: 4 5
    ──> review asks for changes ──> fixed ──> review approves ──> verified, done

Every step is a command that a person or an agent could run.
"""

import json
import shlex
import shutil
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from kasmos_plugin.demo.follower import Follower, Heard
from kasmos_plugin.demo.stage import PROJECT, DemoFailed, Stage

TASK = "moon-phases"
STEP_S = 60.0
"""How long a step may take beyond the work itself before the demo gives up."""
CLEANING_S = 15.0
_PLAN = Path(__file__).with_name("plan.md")
_WORKER = Path(__file__).with_name("worker.py")
_ENDED_BY_OTHERS = ("cancel", "start_over", "task_deleted", "project_removed")


@dataclass(frozen=True)
class Part:
    """One subtask: what is worked on, for how long, and what becomes of it."""

    number: int
    title: str
    file: str
    seconds: float
    crashes: bool = False

    @property
    def branch(self) -> str:
        return f"demo/{self.number}-{Path(self.file).stem}"


WAVES = (
    (
        Part(1, "count the days", "moon/days.txt", 10.0),
        Part(2, "name the phases", "moon/phases.txt", 13.0),
        Part(3, "draw each phase", "moon/drawings.txt", 8.0, crashes=True),
    ),
    (
        Part(4, "read a date", "moon/command.txt", 10.0),
        Part(5, "show three examples", "docs/examples.txt", 7.0),
    ),
)


class Play:
    """Plays on a stage. `tell` says what happens; `pace` is 1 for people and less for tests."""

    def __init__(
        self,
        stage: Stage,
        *,
        tell: Callable[[str, str], None],
        pace: float,
        is_auto: bool,
        command: str,
    ) -> None:
        self._stage = stage
        self._tell = tell
        self._pace = pace
        self._is_auto = is_auto
        self._command = command
        self._follower: Follower | None = None
        self._is_registered = False
        self._started: set[str] = set()

    def run(self) -> None:
        """Play all of it.

        Raises:
            DemoFailed: a step did not happen.
        """
        self._open()
        for wave, parts in enumerate(WAVES, 1):
            self._wave(wave, parts)
            if wave < len(WAVES):
                self._decide(wave)
        self._review()
        self._verify()
        self._pause(6.0)

    def close(self, *, keep: bool) -> None:
        """Stop what runs and, unless it is kept, take back what was put into the store.

        Goes on past a step that fails, and then says so.

        Raises:
            DemoFailed: something could not be taken back.
        """
        problems: list[str] = []
        if self._is_registered:
            take_back = () if keep else (self._delete_task, self._unregister)
            for step in (self._stop_agents, *take_back):
                try:
                    step()
                except DemoFailed as error:
                    problems.append(error.message)
        if self._follower is not None:
            self._follower.close()
        if problems:
            raise DemoFailed(
                "Not everything was cleaned up: " + " ".join(problems),
                hint=f"kas daemon remove {PROJECT}",
            )

    def _open(self) -> None:
        stage = self._stage
        stage.make_repository()
        stage.kas("daemon", "add", str(stage.repository), "--project", PROJECT)
        self._is_registered = True
        self._follower = Follower(stage)
        stage.kas(
            *("task", "create", "-", "--name", TASK, "--branch", "main", "--topic", "demo"),
            text=_PLAN.read_text("utf-8"),
        )
        self._tell("●", f"task {TASK}: a plan of two waves and five subtasks")
        self._pause(3.0)

    def _wave(self, wave: int, parts: tuple[Part, ...]) -> None:
        if wave == 1:
            self._tell("▲", "to start a wave a person approves it; for the first, the demo does")
            self._stage.approve(TASK, "implement_start")
            self._move("implement_start")
        for part in parts:
            self._stage.worktree(part.branch)  # One by one: they share a repository.
        with ThreadPoolExecutor(len(parts)) as pool:
            started = list(pool.map(lambda part: self._start(wave, part), parts))
        agents = {part.number: agent for part, agent in zip(parts, started, strict=True)}
        self._tell("●", f"wave {wave}: {len(parts)} agents at work, each in a worktree of its own")
        for part in parts:
            if part.crashes:
                self._crash(wave, part, agents[part.number])
        end = "wave_finished" if wave < len(WAVES) else "implement_finished"
        self._heard(end, f"the end of wave {wave}")
        for part in parts:
            self._stage.merge(part.branch)

    def _crash(self, wave: int, part: Part, agent: str) -> None:
        self._wait(
            lambda heard: heard.kind == "agent_failed" and heard.agent == agent,
            f"the crash of agent {agent}",
        )
        self._stage.kas("task", "subtask", TASK, str(part.number), "failed")
        self._tell("■", f"the agent of subtask {part.number} crashed: it waits for a look")
        self._pause(8.0)
        self._stage.kas("agent", "dismiss", agent)
        self._start(wave, part, is_second=True)
        self._tell("●", f"looked, dismissed, and subtask {part.number} runs again")

    def _decide(self, wave: int) -> None:
        self._tell("▲", f"wave {wave} is done: does wave {wave + 1} start? You decide")
        # Refused without an approval, and so asked for: every monitor shows it.
        self._has_run("task", "transition", TASK, "advance_wave")
        if self._is_auto:
            self._pause(5.0)
            self._tell("▲", "nobody is asked with --auto: the demo approves it")
            self._stage.approve(TASK, "advance_wave")
        else:
            command = f"{self._command} task approve {TASK}"
            self._tell("", f"\nYes is, in another terminal:\n\n  {command}\n")
        while not self._has_run("task", "transition", TASK, "advance_wave"):
            self._heard("approval_given", "the decision", within_s=None)
        self._heard("advance_wave", "the next wave")
        self._tell("●", f"decided: wave {wave + 1} starts")

    def _review(self) -> None:
        self._tell("●", "implemented; a reviewer reads it")
        self._work("reviewer", "read the change", 6.0)
        feedback = "A date before 1970 needs a sentence of its own."
        self._move("review_changes_requested", "--feedback", feedback)
        self._tell("▲", f"the review asks for changes: {feedback}")
        self._pause(4.0)
        self._work("coder", "answer the review", 8.0, branch="demo/6-review", file="moon/early.txt")
        self._stage.merge("demo/6-review")
        self._move("implement_finished")
        self._tell("●", "fixed; the reviewer reads it again")
        self._work("reviewer", "read the fix", 4.0)
        self._move("review_approved")
        self._tell("✓", "review approved")

    def _verify(self) -> None:
        self._work("verifier", "run the checks", 4.0)
        self._move("verify_approved")
        self._tell("✓", f"verified: task {TASK} is done")

    def _start(self, wave: int, part: Part, *, is_second: bool = False) -> str:
        return self._launch(
            *("--wave", str(wave), "--number", str(part.number)),
            role="coder",
            where=self._stage.worktree(part.branch),
            work=[
                *("--number", str(part.number), "--title", part.title, "--file", part.file),
                *("--seconds", str(part.seconds * self._pace)),
                *(["--crashes"] if part.crashes and not is_second else []),
            ],
        )

    def _work(
        self, role: str, title: str, seconds: float, *, branch: str = "", file: str = ""
    ) -> None:
        """Run one agent to its end."""
        agent = self._launch(
            role=role,
            where=self._stage.worktree(branch) if branch else self._stage.repository,
            work=[
                *("--title", title, "--seconds", str(seconds * self._pace)),
                *(["--file", file] if file else []),
                *(["--asks"] if role == "reviewer" else []),
            ],
        )
        self._wait(
            lambda heard: heard.kind == "agent_exited" and heard.agent == agent,
            f"agent {agent} to finish",
            over=lambda heard: heard.kind == "agent_failed" and heard.agent == agent,
        )

    def _launch(self, *options: str, role: str, where: Path, work: list[str]) -> str:
        """Start one detached agent and return its id."""
        said = self._stage.kas(
            *("agent", "run", "--detach", "--json", "--task", TASK, "--role", role),
            *("--program", "demo-agent", *options),
            *("--", sys.executable, "-P", str(_WORKER), "--task", TASK, *work),
            where=where,
        )
        started = agent_id(said)
        self._started.add(started)
        return started

    def _move(self, event: str, *options: str) -> None:
        self._stage.kas("task", "transition", TASK, event, *options)

    def _heard(self, kind: str, what: str, *, within_s: float | None = STEP_S) -> None:
        self._wait(lambda heard: heard.kind == kind, what, within_s=within_s)

    def _wait(
        self,
        fits: Callable[[Heard], bool],
        what: str,
        *,
        within_s: float | None = STEP_S,
        over: Callable[[Heard], bool] = lambda _: False,
    ) -> Heard:
        if self._follower is None:
            raise DemoFailed("The demo has not begun.")
        return self._follower.wait(
            fits,
            what=what,
            within_s=within_s,
            over=lambda heard: heard.kind in _ENDED_BY_OTHERS or over(heard),
        )

    def _pause(self, seconds: float) -> None:
        """Give a person the time to see what happened."""
        time.sleep(seconds * self._pace)

    def _stop_agents(self) -> None:
        """Stop every agent that was started and not heard to end, then dismiss what is listed."""
        deadline = time.monotonic() + CLEANING_S
        while running := self._running():
            if time.monotonic() > deadline:
                raise DemoFailed(f"Agents did not end: {', '.join(sorted(running))}.")
            # One may have ended by itself since, or not have told the daemon of itself yet.
            self._has_run("agent", "stop", running.pop())
        for listed in self._stage.kas_json("agent", "list"):
            self._has_run("agent", "dismiss", listed["id"])

    def _running(self) -> set[str]:
        """Return the agents that were started and not heard to end, after all that was told."""
        with suppress(DemoFailed):  # A stream that ended tells no more; cleaning up goes on.
            while self._follower is not None and self._follower.listen(within_s=0.2):
                pass
        return self._started - (self._follower.ended if self._follower is not None else set())

    def _delete_task(self) -> None:
        deadline = time.monotonic() + CLEANING_S
        while self._stage.kas_json("task", "list", "--all"):
            # The end of the last agent may not be stored yet.
            if self._has_run("task", "delete", TASK) or self._has_deleted():
                return
            if time.monotonic() > deadline:
                raise DemoFailed(f"The task '{TASK}' cannot be deleted.")
            time.sleep(0.2)

    def _has_deleted(self) -> bool:
        """Approve the end of the demo's own task, and delete it."""
        try:
            self._stage.approve(TASK, "task_delete")
        except DemoFailed:
            return False
        return self._has_run("task", "delete", TASK)

    def _unregister(self) -> None:
        self._stage.kas("daemon", "remove", PROJECT)

    def _has_run(self, *arguments: str) -> bool:
        """Run a command whose work may be done already; return whether it ended well."""
        try:
            self._stage.kas(*arguments)
        except DemoFailed:
            return False
        return True


def agent_id(said: str) -> str:
    """Return the id in what `kas agent run --detach --json` printed."""
    return str(json.loads(said)["id"])


def command_line(home: Path | None, database: Path | None) -> str:
    """Return how a person in another terminal calls `kas` for the demo's store."""
    words = [f"KASMOS_HOME={shlex.quote(str(home))}"] if home is not None else []
    if database is not None:
        words.append(f"KASMOS_DB={shlex.quote(str(database))}")
    return " ".join([*words, f"KASMOS_PROJECT={PROJECT}", kas_command()])


def kas_command() -> str:
    """Return `kas`, or its full path where a shell would not find this one: in a checkout."""
    own = Path(sys.executable).parent / "kas"
    found = shutil.which("kas")
    return "kas" if found and Path(found).resolve() == own.resolve() else shlex.quote(str(own))
