"""How our services stand, in one shape for every manager and for none. Changes nothing."""

from dataclasses import dataclass

from kasmos_plugin.errors import KasmosError
from kasmos_plugin.services import unit_file
from kasmos_plugin.services.manager import Manager, NoServiceManager, Running, manager_here
from kasmos_plugin.services.units import DAEMON, SERVE, with_arguments

NAMES = (SERVE, DAEMON)


@dataclass(frozen=True, kw_only=True)
class ServiceState:
    """One service: whether it is installed, and whether it runs."""

    name: str
    manager: str
    """`systemd` or `launchd`; empty when no manager answers, and `detail` says why."""
    is_installed: bool = False
    """Whether a file of ours defines it."""
    is_enabled: bool = False
    """Whether it starts with the user's session."""
    is_active: bool = False
    is_current: bool = False
    """Whether the file is what an installation from here, with its options, would write now."""
    pid: int | None = None
    detail: str = ""
    """The manager's words for its state, or why there is none."""
    unit: str = ""
    """The file that defines it, or would; empty without a manager."""
    log_command: str = ""
    """The command that shows what it has said; empty when it is not installed."""


def status(manager: Manager | None = None) -> tuple[ServiceState, ...]:
    """Return how serve and the daemon stand as services; without a manager, that there is none.

    Never fails: what cannot be told is said in `detail`.
    """
    try:
        found = manager if manager is not None else manager_here()
    except KasmosError as error:
        return tuple(ServiceState(name=name, manager="", detail=_words(error)) for name in NAMES)
    return tuple(_state(found, name) for name in NAMES)


def _state(manager: Manager, name: str) -> ServiceState:
    path = manager.unit_path(name)
    try:
        content = unit_file.read(path)
        arguments = manager.arguments(content) if content is not None else None
        if arguments is None:
            detail = "not installed" if content is None else "the unit is not ours"
            return ServiceState(name=name, manager=manager.name, detail=detail, unit=str(path))
    except KasmosError as error:
        return ServiceState(name=name, manager=manager.name, detail=error.message, unit=str(path))
    try:
        running = manager.look(name)
    except KasmosError as error:
        running = Running(detail=_words(error))
    return ServiceState(
        name=name,
        manager=manager.name,
        is_installed=True,
        is_enabled=running.is_enabled,
        is_active=running.is_active,
        is_current=content == _content_now(manager, name, arguments),
        pid=running.pid,
        detail=running.detail,
        unit=str(path),
        log_command=manager.log_command(name),
    )


def _words(error: KasmosError) -> str:
    if isinstance(error, NoServiceManager):
        return f"no service manager: {error.why}"
    return error.message


def _content_now(manager: Manager, name: str, arguments: tuple[str, ...]) -> bytes | None:
    try:
        return manager.unit_content(with_arguments(name, arguments))
    except KasmosError:
        return None
