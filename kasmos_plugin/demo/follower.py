"""The events of the demo's project, as `kas monitor events --follow` tells them."""

import json
import queue
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from kasmos_plugin.demo.stage import KAS, PROJECT, DemoFailed, Stage

_ENDS = ("agent_exited", "agent_failed", "agent_lost")


@dataclass(frozen=True, kw_only=True)
class Heard:
    """What the demo needs to know of an event."""

    kind: str
    message: str
    agent: str = ""
    task_number: int = 0


class Follower:
    """Follows every event of the project from its beginning; waits for one that fits.

    An event that came while another was waited for is not lost.
    """

    def __init__(self, stage: Stage) -> None:
        self._process = subprocess.Popen(
            [
                *(*KAS, "monitor", "events", "--follow", "--json", "--limit", "1000"),
                *("--project", PROJECT),
            ],
            cwd=stage.directory,
            env=dict(stage.environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )
        self._heard: list[Heard] = []
        self.ended: set[str] = set()
        """The agents whose end was heard of."""
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        threading.Thread(target=self._read, name="kas-demo-events", daemon=True).start()

    def wait(
        self,
        fits: Callable[[Heard], bool],
        *,
        what: str,
        within_s: float | None,
        over: Callable[[Heard], bool] = lambda _: False,
    ) -> Heard:
        """Return the first event that fits, and forget it; `over` is one after which none will.

        Raises:
            DemoFailed: none came in time, the demo was ended from outside, or nothing follows any
                more.
        """
        deadline = None if within_s is None else time.monotonic() + within_s
        seen = 0
        while True:
            for index in range(seen, len(self._heard)):
                if fits(self._heard[index]):
                    return self._heard.pop(index)
                if over(self._heard[index]):
                    told = self._heard[index].message
                    raise DemoFailed(f"The demo waited for {what}, but heard: {told}.")
            seen = len(self._heard)
            timeout_s = None if deadline is None else max(deadline - time.monotonic(), 0.0)
            if not self.listen(within_s=timeout_s):
                raise DemoFailed(f"The demo waited {within_s:g} s for {what}.")

    def listen(self, *, within_s: float | None) -> bool:
        """Take in the next event; return whether one came in time.

        Raises:
            DemoFailed: nothing follows any more.
        """
        try:
            line = self._lines.get(timeout=within_s)
        except queue.Empty:
            return False
        if line is None:
            raise DemoFailed("The event stream ended.", hint="kas daemon status")
        said = json.loads(line)
        heard = Heard(
            kind=said["kind"],
            message=said["message"],
            agent=said["agent"],
            task_number=said["task_number"],
        )
        self._heard.append(heard)
        if heard.kind in _ENDS:
            self.ended.add(heard.agent)
        return True

    def close(self) -> None:
        """Follow no more."""
        self._process.terminate()
        self._process.wait(10)
        if self._process.stdout is not None:
            self._process.stdout.close()

    def _read(self) -> None:
        stream = self._process.stdout
        assert stream is not None
        try:
            for line in stream:
                self._lines.put(line)
        except ValueError:
            pass  # Closed while it was read.
        self._lines.put(None)
