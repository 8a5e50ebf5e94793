"""Looks again and again: the cadence, the backoff, and what is known between two looks.

Knows no terminal; clocks and the look itself are arguments.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import replace

from kasmos_plugin.cli.look import Asked
from kasmos_plugin.contract.live_status import LiveStatus
from kasmos_plugin.errors import KasmosError

CADENCE_S = 2.0
SLOWEST_S = 30.0


def delay_s(failures: int) -> float:
    """Return how long to wait after so many failures in a row."""
    return min(CADENCE_S * 2.0 ** min(failures, 10), SLOWEST_S)


class Watcher:
    """Keeps the last good snapshot and what went wrong since. `look_once` is one look.

    Without a task in `asked`, the only active task is shown in full, and stays so when it is done.
    """

    def __init__(
        self,
        asked: Asked,
        look: Callable[[Asked], LiveStatus],
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._look = look
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._wanted = asked
        self._only_task = ""
        self._failures = 0
        self.status: LiveStatus | None = None
        self.error: KasmosError | None = None
        self.looked_at = monotonic()
        """When the last good snapshot came."""
        self.next_at = self.looked_at

    @property
    def age_s(self) -> float:
        """How old the last good snapshot is."""
        return self._monotonic() - self.looked_at

    @property
    def retry_s(self) -> float:
        """How long until the next look."""
        return max(self.next_at - self._monotonic(), 0.0)

    def look_once(self) -> None:
        """Look, and decide when to look again; an expected failure is kept, never raised."""
        wanted = self._wanted
        asked = replace(wanted, focus=wanted.focus or self._only_task)
        try:
            status = self._look(asked)
        except KasmosError as error:
            with self._lock:
                self._failures += 1
                self.error = error
                self.next_at = self._monotonic() + delay_s(self._failures)
            return
        with self._lock:
            if wanted is not self._wanted:
                self.next_at = self._monotonic()  # Another project was chosen meanwhile.
                return
            self._failures = 0
            self.status, self.error = status, None
            if not wanted.project:
                # What was shown once stays what is shown: another project must not take its place.
                self._wanted = replace(wanted, project=status.project)
            self.looked_at = self._monotonic()
            self.next_at = self.looked_at + delay_s(0)
            if not wanted.focus and self._choose_task(status):
                self.next_at = self.looked_at

    def show(self, project: str) -> None:
        """Watch another project from now on."""
        with self._lock:
            self._wanted = replace(self._wanted, project=project, focus="")
            self._only_task = ""

    def _choose_task(self, status: LiveStatus) -> bool:
        """Follow the only task; return whether it is another one than before."""
        names = [task.filename for task in status.tasks or ()]
        only = names[0] if len(names) == 1 else "" if names else self._only_task
        is_new, self._only_task = only != self._only_task, only
        return is_new


class Looking(threading.Thread):
    """Runs a watcher's looks beside the terminal's loop, so that no key waits for an answer."""

    def __init__(self, watcher: Watcher) -> None:
        super().__init__(name="kas-monitor", daemon=True)
        self._watcher = watcher
        self._wake = threading.Event()
        self._is_over = False
        self.news = threading.Event()
        """Set after every look."""
        self.bug: Exception | None = None

    def run(self) -> None:
        while not self._is_over:
            try:
                self._watcher.look_once()
            except Exception as error:  # noqa: BLE001 - raised again by the loop that reads it.
                self.bug = error
                return
            finally:
                self.news.set()
            self._wake.wait(self._watcher.retry_s)
            self._wake.clear()

    def now(self) -> None:
        """Look at once."""
        self._wake.set()

    def end(self) -> None:
        """Look no more; an open look ends with the process."""
        self._is_over = True
        self._wake.set()
