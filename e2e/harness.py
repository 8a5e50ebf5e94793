"""Real processes for end-to-end tests: `kas daemon` and `kas serve` in a temporary home.

Knows the commands and the wire, nothing of the code behind them, but for the store's door, through
which tests put tasks in place.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from tests.terminal import at_terminal

KAS = (sys.executable, "-m", "kasmos_plugin")
CHROMIUM_FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
_Seen = TypeVar("_Seen")


def chromium() -> str:
    """Return the browser's path: `KASMOS_CHROMIUM`, else the installed one."""
    found = os.environ.get("KASMOS_CHROMIUM") or next(
        filter(None, map(shutil.which, ("chromium", "google-chrome", "chromium-browser"))), None
    )
    if found is None:
        raise RuntimeError("no Chromium: run scripts/browser, or set KASMOS_CHROMIUM")
    return found


def until(look: Callable[[], _Seen], *, within_s: float = 10.0, what: str = "") -> _Seen:
    """Look again and again until there is something to see; fail after `within_s`."""
    deadline = time.monotonic() + within_s
    while not (seen := look()):
        if time.monotonic() > deadline:
            raise AssertionError(f"not seen within {within_s} s: {what or look}")
        time.sleep(0.02)
    return seen


@dataclass
class World:
    """A temporary home with its own daemon, serve and repositories."""

    root: Path
    env: dict[str, str] = field(default_factory=dict)
    database: Path | None = None
    started: list["subprocess.Popen[str]"] = field(default_factory=list)
    addresses: dict[str, Any] = field(default_factory=dict)
    daemon: "subprocess.Popen[str] | None" = None
    serve: "subprocess.Popen[str] | None" = None

    def __post_init__(self) -> None:
        clean = {k: v for k, v in os.environ.items() if not k.startswith("KASMOS_")}
        self.env = (
            clean | {"KASMOS_HOME": str(self.root / "home"), "HOME": str(self.root)} | self.env
        )

    def kas(self, *arguments: str, check: bool = True, stdin: str = "") -> str:
        """Run one command to its end and return what it printed."""
        done = subprocess.run(
            [*KAS, *arguments],
            env=self.env,
            cwd=self.root,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=30,
        )
        if check and done.returncode:
            raise AssertionError(f"kas {' '.join(arguments)}: {done.returncode}\n{done.stderr}")
        return done.stdout

    def repository(self, name: str = "alpha") -> Path:
        """Make and register a git repository; its project has the same name."""
        path = self.root / name
        path.mkdir()
        subprocess.run(["git", "init", "-q", "-b", "main", str(path)], check=True)
        self.kas("daemon", "add", str(path), "--project", name, *self.store_arguments())
        return path

    def store_arguments(self) -> list[str]:
        return ["--db", str(self.database)] if self.database else []

    def start_daemon(self) -> None:
        """Start the daemon in the foreground and wait until it answers."""
        self.daemon = self.spawn("daemon", "start", "--foreground", *self.store_arguments())
        until(self._daemon_answers, what="the daemon")

    def start_serve(self, *, port: int = 0, mcp_port: int = 0) -> None:
        """Start serve and read the addresses that it prints."""
        self.serve = self.spawn(
            "serve",
            "--json",
            "--port",
            str(port),
            "--mcp-port",
            str(mcp_port),
            *self.store_arguments(),
        )
        assert self.serve.stdout is not None
        line = self.serve.stdout.readline()
        assert line, self.serve.communicate(timeout=10)
        self.addresses = json.loads(line)

    @property
    def url(self) -> str:
        """The monitor page's origin, without a slash at its end."""
        return str(self.addresses["monitor"]).rstrip("/")

    @property
    def port(self) -> int:
        found = re.search(r":(\d+)", self.url.removeprefix("http:"))
        assert found
        return int(found[1])

    def approve(self, task: str, step: str, *options: str) -> None:
        """Answer yes to `kas task approve` on a terminal, as a person does."""
        command = [*KAS, "task", "approve", task, "--step", step, *options]
        code, said = at_terminal(command, answers=["y"], env=self.env, cwd=self.root)
        assert code == 0, said

    def spawn(self, *arguments: str) -> "subprocess.Popen[str]":
        """Start one command in the background; it is ended with the world."""
        log = (self.root / f"{arguments[0]}-{len(self.started)}.log").open("w")
        process = subprocess.Popen(
            [*KAS, *arguments],
            env=self.env,
            cwd=self.root,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
        log.close()
        self.started.append(process)
        return process

    def end(self, process: "subprocess.Popen[str] | None", how: int = signal.SIGTERM) -> None:
        """End one process of ours and wait for it."""
        if process is None:
            return
        if process.poll() is None:
            process.send_signal(how)
        process.wait(timeout=15)
        if process.stdout is not None:
            process.stdout.close()

    def close(self) -> None:
        """End everything that this world started."""
        for process in reversed(self.started):
            self.end(process)

    def post(self, path: str, body: object = None, **headers: str) -> tuple[int, Any]:
        """POST JSON to serve; return the status and the decoded answer."""
        request = urllib.request.Request(
            self.url + path,
            data=json.dumps(body if body is not None else {}).encode(),
            headers={"Content-Type": "application/json"}
            | {name.replace("_", "-"): value for name, value in headers.items()},
            method="POST",
        )
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return answer.status, json.loads(answer.read())
        except urllib.error.HTTPError as refused:
            with refused:
                return refused.code, json.loads(refused.read() or b"null")

    def snapshot(self, **scope: str) -> dict[str, Any]:
        """Return what the monitor would see now."""
        status, answer = self.post("/v1/monitor/snapshot", scope)
        assert status == 200, answer
        seen: dict[str, Any] = answer["structuredContent"]
        return seen

    def _daemon_answers(self) -> bool:
        assert self.daemon is not None
        assert self.daemon.poll() is None, "the daemon ended at its start"
        return "error" not in self.kas("daemon", "status", "--json", check=False) and bool(
            self.kas("daemon", "status", "--json", check=False).strip()
        )
