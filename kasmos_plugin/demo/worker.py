"""The program of every agent in the demo: a script that writes a file, commits it and reports.

Run by `kas agent run` in a worktree of its own. It knows the `kas` commands and nothing else of
kasmos, as any agent's hook would.
"""

import argparse
import subprocess
import sys
import time
from pathlib import Path

KAS = (sys.executable, "-P", "-m", "kasmos_plugin")
STEPS = 6


def main() -> int:
    """Work for a while, then commit, mark the subtask as done and end well, or crash."""
    options = _options()
    print(f"taking up: {options.title}", flush=True)
    time.sleep(options.seconds * 0.15)
    report("running")
    if options.number:
        kas("task", "subtask", options.task, str(options.number), "running")
    for step in range(1, STEPS + 1):
        time.sleep(options.seconds * 0.75 / STEPS)
        print(f"step {step} of {STEPS}", flush=True)
        if options.crashes and step == STEPS // 2:
            print("Traceback: the tool server closed the connection", file=sys.stderr, flush=True)
            return 3
        if options.file:
            write(Path(options.file), f"step {step}: {options.title}")
    if options.file:
        commit(Path(options.file), options.title)
        print(f"committed {options.file}", flush=True)
    if options.asks:
        report("ready")
        time.sleep(options.seconds * 0.25)
    if options.number:
        kas("task", "subtask", options.task, str(options.number), "done")
    time.sleep(options.seconds * 0.1)
    print("finished", flush=True)
    return 0


def report(stage: str) -> None:
    """Tell the monitor how far this agent is; a monitor that is away is no reason to stop."""
    subprocess.run([*KAS, "agent", "report", "--stage", stage], check=False)


def kas(*arguments: str) -> None:
    """Run one command of kas; its failure is this agent's."""
    subprocess.run([*KAS, *arguments], check=True, stdout=subprocess.DEVNULL)


def write(path: Path, line: str) -> None:
    """Append a line to a file of the worktree."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(f"{line}\n")


def commit(path: Path, message: str) -> None:
    """Commit one file on the worktree's branch; identity and settings come from the environment."""
    subprocess.run(["git", "add", str(path)], check=True)
    subprocess.run(["git", "commit", "--quiet", "--message", message], check=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--task", required=True)
    parser.add_argument("--title", required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--number", type=int, default=0, help="the subtask to mark as done")
    parser.add_argument("--file", default="", help="the file to write and commit")
    parser.add_argument("--crashes", action="store_true", help="end with exit code 3 half way")
    parser.add_argument("--asks", action="store_true", help="report that a person is waited for")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
