"""The systemd of this user, asked through `systemctl --user`; decides by exit codes and properties.

Sources: systemctl(1), org.freedesktop.systemd1(5) for the names of states, systemd.unit(5) for
where units lie.
"""

import os
import shutil
import sys
from pathlib import Path

from kasmos_plugin.services.environment import carried_environment
from kasmos_plugin.services.manager import Command, NoServiceManager, Running, ask, order
from kasmos_plugin.services.units import Service, arguments_of_unit, systemd_unit

SYSTEMCTL = ("systemctl", "--user")
BOOTED = Path("/run/systemd/system")
"""There when systemd runs the machine. Source: sd_booted(3)."""
LINGER_DIR = Path("/var/lib/systemd/linger")
"""Holds a file for each user whose services outlast the session. Source: loginctl(1)."""

_PROPERTIES = (
    "LoadState",
    "ActiveState",
    "SubState",
    "MainPID",
    "UnitFileState",
    "ExecMainStatus",
    "FragmentPath",
)


class Systemd:
    """The user's systemd."""

    name = "systemd"

    @classmethod
    def here(cls) -> "Systemd":
        """Return it when it answers.

        Raises:
            NoServiceManager: it does not, and why as far as can be told.
        """
        if shutil.which(SYSTEMCTL[0]) is None:
            raise NoServiceManager("there is no `systemctl`")
        if ask((*SYSTEMCTL, "show", "--property=Version")).returncode != 0:
            raise NoServiceManager(_why_silent())
        return cls()

    def unit_path(self, service: str) -> Path:
        base = os.environ.get("XDG_CONFIG_HOME")
        directory = Path(base) if base and Path(base).is_absolute() else Path.home() / ".config"
        return directory / "systemd" / "user" / _unit(service)

    def unit_content(self, service: Service) -> bytes:
        text = systemd_unit(
            service,
            interpreter=Path(sys.executable),
            environment=carried_environment(has_db="--db" in service.arguments),
        )
        return text.encode()

    def arguments(self, content: bytes) -> tuple[str, ...] | None:
        return arguments_of_unit(content)

    def activation(self, service: str, *, is_restart: bool) -> tuple[Command, ...]:
        start = "restart" if is_restart else "start"
        return (
            (*SYSTEMCTL, "daemon-reload"),
            (*SYSTEMCTL, "enable", _unit(service)),
            (*SYSTEMCTL, start, _unit(service)),
        )

    def deactivation(self, service: str) -> tuple[Command, ...]:
        return ((*SYSTEMCTL, "disable", "--now", _unit(service)),)

    def activate(self, service: str, *, is_restart: bool) -> None:
        for command in self.activation(service, is_restart=is_restart):
            order(command, hint=self.log_command(service))

    def deactivate(self, service: str) -> None:
        for command in self.deactivation(service):
            order(command, hint=f"systemctl --user status {_unit(service)}")

        # A failed unit would stay in the lists; one that is unloaded has nothing to reset.
        ask((*SYSTEMCTL, "reset-failed", _unit(service)))

    def restore(self, service: str, before: Running) -> None:
        self.reload()
        order((*SYSTEMCTL, "enable" if before.is_enabled else "disable", _unit(service)))
        was_started = before.is_active or before.has_failed
        order((*SYSTEMCTL, "restart" if was_started else "stop", _unit(service)))

    def reload(self) -> None:
        order((*SYSTEMCTL, "daemon-reload"))

    def look(self, service: str) -> Running:
        wanted = [f"--property={name}" for name in _PROPERTIES]
        done = ask((*SYSTEMCTL, "show", *wanted, _unit(service)))
        if done.returncode != 0:
            raise NoServiceManager(_why_silent())
        told = dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)
        active, sub = told.get("ActiveState", ""), told.get("SubState", "")
        has_failed = active == "failed" or sub == "auto-restart"
        detail = f"{active} ({sub})"
        if has_failed:
            detail += f", exit code {told.get('ExecMainStatus', '')}"
        if told.get("LoadState") == "masked":
            detail = "masked"
        return Running(
            is_enabled=told.get("UnitFileState") in ("enabled", "enabled-runtime"),
            is_active=active == "active",
            has_failed=has_failed,
            pid=int(told.get("MainPID", "") or 0) or None,
            detail=detail,
            unit=told.get("FragmentPath", ""),
        )

    def log_command(self, service: str) -> str:
        return f"journalctl --user -u {service} -n 20"

    def lingers(self) -> bool:
        """Return whether services of this user outlast the session; True when it is not told."""
        import getpass  # Only a hint needs the user's name.

        try:
            return not LINGER_DIR.is_dir() or (LINGER_DIR / getpass.getuser()).exists()
        except (OSError, KeyError):
            return True


def _unit(service: str) -> str:
    return f"{service}.service"


def _why_silent() -> str:
    if not BOOTED.is_dir():
        return "systemd does not run this machine (a container, or WSL without systemd)"
    if not os.environ.get("XDG_RUNTIME_DIR"):
        return "XDG_RUNTIME_DIR is not set (su, sudo, cron): log in as this user"
    return "the systemd of this user does not answer (no login session, and no lingering)"
