"""The real Codex client in a throw-away home: its commands, and its app server over stdio.

Knows how to drive Codex and nothing of kasmos.
"""

import json
import os
import queue
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

HERE = Path(__file__).parent
BIN = HERE / "node_modules" / ".bin"
"""Where `scripts/codex` puts the client."""
MISSING = "no Codex client, or not the pinned one, in e2e/codex/node_modules: run scripts/codex"
LIMIT_S = 30.0
"""How long a command or an answer may take; a busy machine needs about 2 s."""

# Nothing listens on the discard port: what is meant for another machine is refused at once.
_LOOPBACK_ONLY = {
    **dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), "http://127.0.0.1:9"),
    **dict.fromkeys(("http_proxy", "https_proxy", "all_proxy"), "http://127.0.0.1:9"),
    **dict.fromkeys(("NO_PROXY", "no_proxy"), "127.0.0.1,localhost"),
}
_CONFIG = """check_for_update_on_startup = false

[analytics]
enabled = false
"""


def is_installed() -> bool:
    """Tell whether the client is there to be run, in the version that is pinned."""
    if not os.access(BIN / "codex", os.X_OK):
        return False
    pinned = json.loads((HERE / "package.json").read_text(encoding="utf-8"))["devDependencies"]
    found = HERE / "node_modules" / "@openai" / "codex" / "package.json"
    return bool(json.loads(found.read_text(encoding="utf-8"))["version"] == pinned["@openai/codex"])


@dataclass(frozen=True, kw_only=True)
class Done:
    """How a command ended. Only `out` is worth parsing: Codex warns on `err` about odd homes."""

    code: int
    out: str
    err: str


@dataclass(frozen=True)
class Codex:
    """A Codex of its own below `root`, with nobody's settings, no account and no way out."""

    root: Path

    def __post_init__(self) -> None:
        self.home.mkdir(parents=True)
        self.config.write_text(_CONFIG, encoding="utf-8")
        self.work.mkdir()

    @property
    def home(self) -> Path:
        """Its `CODEX_HOME`."""
        return self.root / "user" / ".codex"

    @property
    def config(self) -> Path:
        """Its settings; they begin as two switches against the network."""
        return self.home / "config.toml"

    @property
    def work(self) -> Path:
        """An empty folder that commands run in."""
        return self.root / "work"

    @property
    def env(self) -> dict[str, str]:
        """The environment of its commands, with `codex` first on the path."""
        dropped = ("CODEX_", "OPENAI_", "GIT_", "KASMOS_")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
        return {
            **kept,
            **_LOOPBACK_ONLY,
            "HOME": str(self.root / "user"),
            "CODEX_HOME": str(self.home),
            "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
        }

    def run(self, *arguments: str, check: bool = True) -> Done:
        """Run one command to its end; fail on an exit code but 0, if `check`."""
        done = subprocess.run(
            [str(BIN / "codex"), *arguments],
            env=self.env,
            cwd=self.work,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
        )
        if check and done.returncode:
            raise AssertionError(f"codex {' '.join(arguments)}: {done.returncode}\n{done.stderr}")
        return Done(code=done.returncode, out=done.stdout, err=done.stderr)

    def json(self, *arguments: str) -> Any:
        """Run one command with `--json` and return what it printed."""
        return json.loads(self.run(*arguments, "--json").out)

    def app_server(self, *options: str) -> "AppServer":
        """Return an app server of this Codex; `with` starts and ends it."""
        return AppServer(self, options)


class Refused(AssertionError):
    """The app server answered a request with an error."""

    def __init__(self, method: str, error: Mapping[str, Any]) -> None:
        super().__init__(f"{method}: {error['message']}")
        self.code = int(error["code"])
        self.message = str(error["message"])


@dataclass
class AppServer:
    """`codex app-server`: what the desktop app and editors talk to, in JSON lines on stdio.

    It refuses whatever Codex asks of a person, and remembers that it was asked.
    """

    codex: Codex
    options: tuple[str, ...] = ()
    notifications: list[dict[str, Any]] = field(default_factory=list)
    asked: list[dict[str, Any]] = field(default_factory=list)
    _process: "subprocess.Popen[str]" = field(init=False, repr=False)
    _lines: "queue.Queue[str]" = field(init=False, repr=False, default_factory=queue.Queue)
    _answers: dict[int, dict[str, Any]] = field(init=False, repr=False, default_factory=dict)
    _reader: threading.Thread = field(init=False, repr=False)
    _last_id: int = field(init=False, repr=False, default=0)

    def __enter__(self) -> Self:
        with (self.codex.root / "app-server.log").open("a") as log:
            self._process = subprocess.Popen(
                [str(BIN / "codex"), "app-server", *self.options],
                env=self.codex.env,
                cwd=self.codex.work,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                # npm's `codex` is a script with the client as its child: both are in one group.
                start_new_session=True,
            )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        try:
            self.request("initialize", {"clientInfo": {"name": "kasmos-tests", "version": "0"}})
        except BaseException:
            self._end()
            raise
        self._send({"method": "initialized"})
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end()

    def request(
        self, method: str, params: Mapping[str, Any] | None = None, *, within_s: float = LIMIT_S
    ) -> Any:
        """Ask and return the result.

        Raises:
            Refused: the answer is an error.
        """
        self._last_id += 1
        wanted = self._last_id
        self._send({"id": wanted, "method": method, "params": params})
        self._take_until(lambda: wanted in self._answers, within_s, method)
        answer = self._answers.pop(wanted)
        if "error" in answer:
            raise Refused(method, answer["error"])
        return answer["result"]

    def notified(self, method: str, *, within_s: float = LIMIT_S, **fields: object) -> Any:
        """Return the params of the first notification of this name with these fields."""

        def found() -> list[dict[str, Any]]:
            return [
                seen["params"]
                for seen in self.notifications
                if seen["method"] == method and fields.items() <= seen["params"].items()
            ]

        self._take_until(lambda: bool(found()), within_s, f"{method} {fields}")
        return found()[0]

    def start_thread(self, **params: object) -> str:
        """Start a thread that leaves no file behind, and return its id."""
        started = self.request("thread/start", {"ephemeral": True, **params})
        return str(started["thread"]["id"])

    def call_tool(
        self, thread: str, server: str, tool: str, arguments: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Call a tool of an MCP server as a widget does, and return its result."""
        params = {"threadId": thread, "server": server, "tool": tool, "arguments": arguments or {}}
        result: dict[str, Any] = self.request("mcpServer/tool/call", params)
        return result

    def _send(self, message: Mapping[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line)
        self._lines.put("")

    def _take_until(self, is_seen: Callable[[], bool], within_s: float, what: str) -> None:
        deadline = time.monotonic() + within_s
        while not is_seen():
            try:
                line = self._lines.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                raise AssertionError(f"not seen within {within_s} s: {what}") from None
            assert line, f"the app server ended before {what}"
            self._take(json.loads(line))

    def _take(self, message: dict[str, Any]) -> None:
        if "method" not in message:
            self._answers[message["id"]] = message
        elif "id" not in message:
            self.notifications.append(message)
        else:
            self.asked.append(message)
            refusal = {"code": -32601, "message": "nobody is here to answer"}
            self._send({"id": message["id"], "error": refusal})

    def _end(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(timeout=5)
        self._reader.join(timeout=5)
        self._process.stdout.close()
