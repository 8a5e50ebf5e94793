"""What a service manager can do for a user, and which one is here. Knows no service of ours."""

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from kasmos_plugin.errors import KasmosError
from kasmos_plugin.rules.text import clean
from kasmos_plugin.services.units import Service

WITHIN_S = 60.0
"""For one command: a stop may take a service's whole time to end."""

Command = tuple[str, ...]


class NoServiceManager(KasmosError):
    """No service manager of this user can be asked; `why` says what is missing."""

    code = "no_service_manager"

    def __init__(self, why: str) -> None:
        super().__init__(f"Services cannot run here: {why}.", hint="kas up")
        self.why = why


class ManagerFailed(KasmosError):
    """The service manager refused a command."""

    code = "service_manager_failed"


@dataclass(frozen=True, kw_only=True)
class Running:
    """What a manager says of a service."""

    is_enabled: bool = False
    """Whether it starts with the user's session."""
    is_active: bool = False
    has_failed: bool = False
    """Whether it ended by itself, given up or about to be tried again."""
    pid: int | None = None
    detail: str = ""
    """Its state in the manager's words."""
    unit: str = ""
    """The file that the manager has read; empty when it knows none, or does not tell."""


class Manager(Protocol):
    """A service manager of this user. Every method that runs a command may fail with its words."""

    name: str

    def unit_path(self, service: str) -> Path:
        """Return the file that defines a service."""

    def unit_content(self, service: Service) -> bytes:
        """Return what that file holds for a service that is run from here."""

    def arguments(self, content: bytes) -> tuple[str, ...] | None:
        """Return what a file of ours runs, None when the file is not ours."""

    def activation(self, service: str, *, is_restart: bool) -> tuple[Command, ...]:
        """Return the commands that make a written file a running, enabled service."""

    def deactivation(self, service: str) -> tuple[Command, ...]:
        """Return the commands that stop a service for good, before its file is removed."""

    def activate(self, service: str, *, is_restart: bool) -> None:
        """Run the commands of `activation`."""

    def deactivate(self, service: str) -> None:
        """Run the commands of `deactivation`."""

    def restore(self, service: str, before: Running) -> None:
        """Bring a service whose file is as before to the state that it had."""

    def reload(self) -> None:
        """Have files read again, after one was removed."""

    def look(self, service: str) -> Running:
        """Return how a service stands."""

    def log_command(self, service: str) -> str:
        """Return the command that shows what a service has said."""


def manager_here() -> Manager:
    """Return the service manager of this user on this machine.

    Raises:
        NoServiceManager: there is none, or it does not answer.
    """
    # One of the two; each imports this module.
    if sys.platform == "darwin":
        from kasmos_plugin.services.launchd import Launchd

        return Launchd.here()
    if sys.platform == "linux":
        from kasmos_plugin.services.systemd import Systemd

        return Systemd.here()
    raise NoServiceManager(f"the platform '{sys.platform}' has neither systemd nor launchd")


def ask(command: Sequence[str]) -> "subprocess.CompletedProcess[str]":
    """Run a manager's command and return what it said, whatever its exit code.

    Raises:
        ManagerFailed: it cannot be run, or does not end.
    """
    try:
        return subprocess.run(
            command,
            env=os.environ | {"LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=WITHIN_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise ManagerFailed(
            f"`{' '.join(command)}` has not ended within {WITHIN_S:g} s."
        ) from error
    except OSError as error:
        raise ManagerFailed(f"`{command[0]}` cannot be run: {error.strerror}.") from error


def order(command: Sequence[str], *, hint: str = "") -> None:
    """Run a manager's command that must end well.

    Raises:
        ManagerFailed: it does not; the message holds its last line.
    """
    done = ask(command)
    if done.returncode != 0:
        said = clean((done.stderr.strip() or done.stdout.strip()).rpartition("\n")[2], 300)
        raise ManagerFailed(
            f"`{' '.join(command)}` failed with exit code {done.returncode}"
            + (f": {said}" if said else "."),
            hint=hint,
        )
