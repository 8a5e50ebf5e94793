"""Where the demo plays: a temporary repository with worktrees, and the two programs it calls.

Git gets its identity and settings from the environment; nobody's configuration is read or written.
"""

import json
import os
import pty
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kasmos_plugin.errors import KasmosError

PROJECT = "demo"
KAS = (sys.executable, "-P", "-m", "kasmos_plugin")
COMMAND_TIMEOUT_S = 60.0

_GIT_SETTINGS = {
    "commit.gpgsign": "false",
    "core.hooksPath": os.devnull,
    "gc.auto": "0",
    "init.defaultBranch": "main",
    "maintenance.auto": "false",
    "user.email": "demo@example.invalid",
    "user.name": "kas demo",
}


class DemoFailed(KasmosError):
    """The demo could not go on; what it made is cleaned up."""

    code = "demo_failed"


@dataclass(frozen=True, kw_only=True)
class Stage:
    """A directory of the demo's own and an environment in which `kas` means the right store."""

    directory: Path
    environment: Mapping[str, str] = field(repr=False)

    @property
    def repository(self) -> Path:
        """The main checkout."""
        return self.directory / "moon-phases"

    def kas(self, *arguments: str, where: Path | None = None, text: str = "") -> str:
        """Run one `kas` command and return what it printed.

        Raises:
            DemoFailed: it failed, or did not end.
        """
        return self._run([*KAS, *arguments], where or self.directory, text)

    def kas_json(self, *arguments: str) -> Any:
        """Run one `kas` command and return what it printed, decoded."""
        return json.loads(self.kas(*arguments, "--json"))

    def approve(self, task: str, step: str) -> None:
        """Answer yes to `kas task approve` as a person would: on a terminal, made for it.

        Raises:
            DemoFailed: it was refused, or did not end.
        """
        master, slave = pty.openpty()
        try:
            # The answer waits in the terminal until the question comes.
            os.write(master, b"y\n")
            command = [*KAS, "task", "approve", task, "--step", step]
            process = subprocess.Popen(
                command,
                cwd=self.directory,
                env=dict(self.environment),
                stdin=slave,
                stdout=slave,
                stderr=slave,
                start_new_session=True,
            )
            os.close(slave)
            said = _drained(master)
            if process.wait(COMMAND_TIMEOUT_S):
                raise DemoFailed(f"'kas task approve {task}' failed: {said.strip()}")
        finally:
            os.close(master)

    def git(self, *arguments: str, where: Path | None = None) -> str:
        """Run one git command in the repository and return what it printed."""
        return self._run(["git", *arguments], where or self.repository, "")

    def make_repository(self) -> None:
        """Make a repository with one commit."""
        self.repository.mkdir(parents=True)
        self.git("init", "--quiet")
        readme = self.repository / "README.md"
        readme.write_text("# Moon phases\n\nMade by `kas demo`; gone when it ends.\n", "utf-8")
        self.git("add", "README.md")
        self.git("commit", "--quiet", "--message", "begin")

    def worktree(self, branch: str) -> Path:
        """Return a worktree on `branch`, made from the main checkout when it is missing."""
        path = self.directory / "worktrees" / branch.replace("/", "-")
        if not path.exists():
            self.git("worktree", "add", "--quiet", "-b", branch, str(path))
        return path

    def merge(self, branch: str) -> None:
        """Bring a branch into the main checkout."""
        self.git("merge", "--quiet", "--no-ff", "--no-edit", branch)

    def _run(self, command: list[str], where: Path, text: str) -> str:
        shown = " ".join(["kas", *command[len(KAS) :]] if command[0] == KAS[0] else command)
        try:
            done = subprocess.run(
                command,
                cwd=where,
                env=dict(self.environment),
                input=text,
                capture_output=True,
                text=True,
                timeout=COMMAND_TIMEOUT_S,
                # Ctrl-C is for the demo, which then cleans up with commands like this one.
                start_new_session=True,
            )
        except FileNotFoundError as error:
            raise DemoFailed(
                f"The demo needs '{error.filename}'.", hint=f"install {command[0]}"
            ) from None
        except subprocess.TimeoutExpired:
            raise DemoFailed(f"'{shown}' took more than {COMMAND_TIMEOUT_S:g} s.") from None
        if done.returncode:
            said = (done.stderr or done.stdout).strip()
            raise DemoFailed(f"'{shown}' failed with code {done.returncode}: {said}")
        return done.stdout


def _drained(terminal: int) -> str:
    """Return what is written to a terminal until its last user has gone."""
    said = b""
    while True:
        try:
            piece = os.read(terminal, 65_536)
        except OSError:  # Linux's way to say that nobody has it open.
            piece = b""
        if not piece:
            return said.decode("utf-8", "replace")
        said += piece


def environment(base: Mapping[str, str], *, home: Path | None, database: Path) -> dict[str, str]:
    """Return `base` without what git and kasmos would take from it, and with what the demo says."""
    kept = {
        name: value
        for name, value in base.items()
        if not name.startswith(("GIT_", "KASMOS_")) or name in ("KASMOS_HOME", "KASMOS_SOCKET")
    }
    if home is not None:
        kept.pop("KASMOS_SOCKET", None)
        kept["KASMOS_HOME"] = str(home)
    settings = {"GIT_CONFIG_COUNT": str(len(_GIT_SETTINGS))}
    for index, (name, value) in enumerate(_GIT_SETTINGS.items()):
        settings |= {f"GIT_CONFIG_KEY_{index}": name, f"GIT_CONFIG_VALUE_{index}": value}
    return {
        **kept,
        **settings,
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "KASMOS_DB": str(database),
        "KASMOS_PROJECT": PROJECT,
    }
