"""Puts services in and takes them out, all or nothing. Knows a manager only by its protocol.

refuse ─> write ─> activate ─> wait until it answers ─> next service
             a step that fails takes back every step before it
"""

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

from kasmos_plugin.errors import Conflict, KasmosError
from kasmos_plugin.services import unit_file
from kasmos_plugin.services.manager import Manager, ManagerFailed, Running
from kasmos_plugin.services.units import Service

READY_WITHIN_S = 30.0
_LOOK_EVERY_S = 0.1

Tell = Callable[[str], None]
IsAnswering = Callable[[Service, Running], bool]


class ForeignUnit(Conflict):
    """A unit of the service's name is there that kasmos has not made."""

    code = "foreign_unit"

    def __init__(self, service: str, path: str) -> None:
        super().__init__(
            f"The unit '{path}' of the service '{service}' is not ours; it was left alone.",
            hint=f"move '{path}' away",
        )


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What is to be done for one service, and how it stood before."""

    service: Service
    path: Path
    content: bytes
    before: bytes | None
    running: Running

    @property
    def is_done(self) -> bool:
        """Whether it is installed as it shall be, and runs."""
        is_same = self.content == self.before
        return is_same and self.running.is_active and self.running.is_enabled


def plan(manager: Manager, services: Sequence[Service]) -> tuple[Plan, ...]:
    """Return what an installation has to do; nothing is changed.

    Raises:
        ForeignUnit: a unit of such a name is not ours, here or in another directory.
        KasmosError: a path cannot be written into a unit.
    """
    plans = []
    for service in services:
        path = manager.unit_path(service.name)
        before, running = _ours(manager, service.name)
        content = manager.unit_content(service)
        plans.append(
            Plan(service=service, path=path, content=content, before=before, running=running)
        )
    return tuple(plans)


def install(
    manager: Manager, plans: Sequence[Plan], *, tell: Tell, is_answering: IsAnswering
) -> None:
    """Install and start what is planned; return once every service answers.

    Raises:
        KasmosError: a step failed; everything is as it was before.
    """
    with ExitStack() as undo:
        for one in plans:
            name = one.service.name
            if one.is_done:
                tell(f"{name}: installed and running already")
                continue
            undo.callback(_restore, manager, one, tell)
            if one.content != one.before:
                unit_file.write(one.path, one.content)
                tell(f"{name}: wrote {one.path}")
            is_restart = one.running.is_active
            manager.activate(name, is_restart=is_restart)
            tell(f"{name}: enabled and {'restarted' if is_restart else 'started'}")
            running = _wait(manager, one.service, is_answering)
            tell(f"{name}: answers, pid {running.pid}")
        undo.pop_all()


def uninstall(manager: Manager, names: Sequence[str], *, tell: Tell) -> bool:
    """Stop, disable and remove our services, the last one first; return whether there was one.

    Raises:
        ForeignUnit: a unit of such a name is not ours; nothing was changed.
        ManagerFailed: a service could not be stopped; its file is still there.
    """
    installed = []
    for name in names:
        before, _ = _ours(manager, name)
        if before is not None:
            installed.append(name)
    for name in reversed(installed):
        manager.deactivate(name)
        tell(f"{name}: stopped and disabled")
        path = manager.unit_path(name)
        unit_file.remove(path)
        manager.reload()
        tell(f"{name}: removed {path}")
    return bool(installed)


def _ours(manager: Manager, name: str) -> tuple[bytes | None, Running]:
    path = manager.unit_path(name)
    before = unit_file.read(path)
    if before is not None and manager.arguments(before) is None:
        raise ForeignUnit(name, str(path))
    running = manager.look(name)
    if running.unit and Path(running.unit).resolve() != path.resolve():
        raise ForeignUnit(name, running.unit)
    return before, running


def _wait(manager: Manager, service: Service, is_answering: IsAnswering) -> Running:
    """Return how the service stands once it answers.

    Raises:
        ManagerFailed: it has ended by itself, or does not answer within the time.
    """
    deadline = time.monotonic() + READY_WITHIN_S
    hint = manager.log_command(service.name)
    while True:
        running = manager.look(service.name)
        if running.has_failed:
            raise ManagerFailed(
                f"The service '{service.name}' ended at its start: {running.detail}.", hint=hint
            )
        if is_answering(service, running):
            return running
        if time.monotonic() > deadline:
            raise ManagerFailed(
                f"The service '{service.name}' does not answer within {READY_WITHIN_S:g} s:"
                f" {running.detail}.",
                hint=hint,
            )
        time.sleep(_LOOK_EVERY_S)


def _restore(manager: Manager, one: Plan, tell: Tell) -> None:
    """Put a service back as it was, as far as the manager lets us; say what it does not."""
    name = one.service.name
    try:
        if one.before is None:
            # A service that could not be started may not be there to be stopped.
            with suppress(ManagerFailed):
                manager.deactivate(name)
            unit_file.remove(one.path)
            manager.reload()
        else:
            unit_file.write(one.path, one.before)
            manager.restore(name, one.running)
        tell(f"{name}: put back as it was")
    except KasmosError as error:
        tell(f"{name}: could not be put back: {error.message}")
