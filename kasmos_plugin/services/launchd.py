"""The launchd of this user's login session, asked through `launchctl`.

`launchctl print` is no API, its manual says; of its text only three plain lines are believed, and
whether a service is loaded is told by exit codes. Sources: launchctl(1), launchd.plist(5).
"""

import os
import re
import shutil
import sys
import time
from pathlib import Path

from kasmos_plugin import paths
from kasmos_plugin.services.environment import carried_environment
from kasmos_plugin.services.manager import (
    Command,
    ManagerFailed,
    NoServiceManager,
    Running,
    ask,
    order,
)
from kasmos_plugin.services.units import (
    STOP_WITHIN_S,
    Service,
    arguments_of_plist,
    launchd_plist,
)

_PID = re.compile(r"^\s*pid = (\d+)$", re.MULTILINE)
_STATE = re.compile(r"^\tstate = (.+)$", re.MULTILINE)
_EXIT = re.compile(r"^\s*last exit code = ([1-9]\d*)", re.MULTILINE)


class Launchd:
    """The agents of this user's login session."""

    name = "launchd"

    @classmethod
    def here(cls) -> "Launchd":
        """Return it when it answers.

        Raises:
            NoServiceManager: it does not.
        """
        if shutil.which("launchctl") is None:
            raise NoServiceManager("there is no `launchctl`")
        if ask(("launchctl", "print", _domain())).returncode != 0:
            raise NoServiceManager("this user has no login session on the screen (ssh only)")
        return cls()

    def unit_path(self, service: str) -> Path:
        return Path.home() / "Library" / "LaunchAgents" / f"{service}.plist"

    def unit_content(self, service: Service) -> bytes:
        return launchd_plist(
            service,
            interpreter=Path(sys.executable),
            environment=carried_environment(has_db="--db" in service.arguments),
            log=_log(service.name),
        )

    def arguments(self, content: bytes) -> tuple[str, ...] | None:
        return arguments_of_plist(content)

    def activation(self, service: str, *, is_restart: bool) -> tuple[Command, ...]:
        first = self.deactivation(service) if is_restart else ()
        return (
            *first,
            ("launchctl", "enable", _target(service)),
            ("launchctl", "bootstrap", _domain(), str(self.unit_path(service))),
        )

    def deactivation(self, service: str) -> tuple[Command, ...]:
        return (("launchctl", "bootout", _target(service)),)

    def activate(self, service: str, *, is_restart: bool) -> None:
        _make_directory(_log(service).parent)
        # A loaded agent is not loaded again, even when it does not run.
        self.deactivate(service)
        for command in self.activation(service, is_restart=False):
            order(command, hint=self.log_command(service))

    def deactivate(self, service: str) -> None:
        if not self._is_loaded(service):
            return
        for command in self.deactivation(service):
            order(command, hint=f"launchctl print {_target(service)}")
        # `bootout` returns before the process has ended; a `bootstrap` meanwhile is refused.
        deadline = time.monotonic() + STOP_WITHIN_S + 5
        while self._is_loaded(service):
            if time.monotonic() > deadline:
                raise ManagerFailed(
                    f"The service '{service}' has not ended.",
                    hint=f"launchctl print {_target(service)}",
                )
            time.sleep(0.05)

    def restore(self, service: str, before: Running) -> None:
        self.deactivate(service)
        if before.is_active or before.has_failed:
            self.activate(service, is_restart=False)

    def reload(self) -> None:
        """Do nothing: launchd reads a file when it is loaded, and keeps nothing of it."""

    def look(self, service: str) -> Running:
        done = ask(("launchctl", "print", _target(service)))
        is_enabled = self.unit_path(service).exists() and not _is_disabled(service)
        if done.returncode != 0:
            return Running(is_enabled=is_enabled, detail="not loaded")
        pid, state, code = (one.search(done.stdout) for one in (_PID, _STATE, _EXIT))
        detail = state[1] if state is not None else "loaded"
        if code is not None and pid is None:
            detail += f", exit code {code[1]}"
        return Running(
            is_enabled=is_enabled,
            is_active=pid is not None,
            has_failed=code is not None and pid is None,
            pid=int(pid[1]) if pid is not None else None,
            detail=detail,
        )

    def log_command(self, service: str) -> str:
        return f"tail -n 20 '{_log(service)}'"

    def _is_loaded(self, service: str) -> bool:
        return ask(("launchctl", "print", _target(service))).returncode == 0


def _domain() -> str:
    return f"gui/{os.getuid()}"


def _target(service: str) -> str:
    return f"{_domain()}/{service}"


def _log(service: str) -> Path:
    return paths.logs_dir() / f"{service}.log"


def _make_directory(logs: Path) -> None:
    """Make the directory of what a service says: launchd does not."""
    try:
        logs.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise ManagerFailed(
            f"The directory '{logs}' cannot be made: {error.strerror}.",
            hint="set KASMOS_HOME to a directory of yours",
        ) from error


def _is_disabled(service: str) -> bool:
    told = ask(("launchctl", "print-disabled", _domain())).stdout
    return re.search(rf'"{re.escape(service)}" => (disabled|true)', told) is not None
