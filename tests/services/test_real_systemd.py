"""The units under a real systemd of a user without privileges: they start, come back, and end."""

import http.client
import json
import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from kasmos_plugin import ports
from tests.cli.conftest import until
from tests.services.conftest import steps
from tests.services.user_manager import UserManager, user_manager, why_not

_WHY_NOT = why_not()
pytestmark = pytest.mark.skipif(bool(_WHY_NOT), reason=f"no real systemd: {_WHY_NOT}")

_AT_ONCE = "[Service]\nRestartSec=50ms\n"
"""A drop-in, so that nobody waits for a restart."""


@pytest.fixture(scope="module")
def manager() -> Iterator[UserManager]:
    with user_manager() as found:
        until(found.is_up, what="systemd")
        yield found


@pytest.fixture(scope="module")
def numbers() -> tuple[int, int]:
    with ExitStack() as stack:
        bound = [stack.enter_context(socket.socket()) for _ in range(2)]
        for one in bound:
            one.bind((ports.HOST, 0))
        return bound[0].getsockname()[1], bound[1].getsockname()[1]


@pytest.fixture
def installed(
    manager: UserManager, numbers: tuple[int, int]
) -> Iterator["subprocess.CompletedProcess[str]"]:
    drop_in = manager.home / ".config/systemd/user/kasmosdb.service.d/at-once.conf"
    drop_in.parent.mkdir(parents=True, exist_ok=True)
    drop_in.write_text(_AT_ONCE)
    # The user must be able to write beside what root has made here.
    for directory in (manager.home, *manager.home.rglob("*")):
        os.chown(directory, 65_534, 65_534)
    yield install(manager, numbers)
    assert manager.kas("service", "uninstall").returncode == 0


def install(
    manager: UserManager, numbers: tuple[int, int], *more: str
) -> "subprocess.CompletedProcess[str]":
    port, mcp_port = map(str, numbers)
    return manager.kas("service", "install", "--port", port, "--mcp-port", mcp_port, *more)


def states(manager: UserManager) -> dict[str, dict[str, Any]]:
    told = json.loads(manager.kas("service", "status", "--json").stdout)
    return {state["name"]: state for state in told["services"]}


def limits(pid: int) -> dict[str, str]:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    pairs = (line.split(":\t", 1) for line in lines if ":\t" in line)
    return {key: value for key, value in pairs if key in ("NoNewPrivs", "Seccomp")}


def sees_daemon(manager: UserManager, port: int) -> bool:
    """Return whether serve reaches the daemon through its socket, from inside its confinement."""
    shop = manager.home / "shop"
    assert manager.run("git", "init", "-q", str(shop)).returncode == 0
    assert manager.kas("daemon", "add", str(shop)).returncode == 0
    connection = http.client.HTTPConnection(ports.HOST, port, timeout=5)
    with closing(connection):
        body, headers = json.dumps({"project": "shop"}), {"Content-Type": "application/json"}
        connection.request("POST", "/v1/monitor/snapshot", body, headers)
        told = json.loads(connection.getresponse().read())
    return bool(told["structuredContent"]["daemon_running"])


def test_both_services_start_confined_and_open_and_are_installed_once(
    manager: UserManager,
    installed: "subprocess.CompletedProcess[str]",
    numbers: tuple[int, int],
) -> None:
    assert (installed.returncode, installed.stdout) == (0, ""), installed.stderr
    found = states(manager)
    unit_dir = manager.home / ".config/systemd/user"
    assert found == {
        name: {
            "name": name,
            "manager": "systemd",
            "is_installed": True,
            "is_enabled": True,
            "is_active": True,
            "is_current": True,
            "pid": found[name]["pid"],
            "detail": "active (running)",
            "unit": str(unit_dir / f"{name}.service"),
            "log_command": f"journalctl --user -u {name} -n 20",
        }
        for name in ("kasmosdb", "kasmos")
    }
    assert limits(found["kasmosdb"]["pid"]) == {"NoNewPrivs": "1", "Seccomp": "2"}
    assert limits(found["kasmos"]["pid"]) == {"NoNewPrivs": "0", "Seccomp": "0"}
    serve = ports.identity(numbers[0])
    assert serve is not None
    assert serve.trouble == ""
    assert ports.mcp_server(numbers[1]) == "kasmos"
    assert sees_daemon(manager, numbers[0])

    again = install(manager, numbers)
    assert steps(again.stderr)[:2] == [
        "kasmosdb: installed and running already",
        "kasmos: installed and running already",
    ]
    assert states(manager) == found


@pytest.mark.usefixtures("installed")
def test_a_killed_server_comes_back_on_its_own(
    manager: UserManager, numbers: tuple[int, int]
) -> None:
    before = ports.identity(numbers[0])
    assert before is not None
    os.kill(states(manager)["kasmosdb"]["pid"], signal.SIGKILL)

    def is_another() -> bool:
        now = ports.identity(numbers[0])
        return now is not None and now.instance != before.instance

    until(is_another, what="another server")
    assert states(manager)["kasmosdb"]["is_active"]


@pytest.mark.usefixtures("installed")
def test_what_the_daemon_has_started_outlives_it(manager: UserManager) -> None:
    """A process in the daemon's group stands for an agent: no agent is its child today."""
    daemon = states(manager)["kasmos"]["pid"]
    with manager.join(daemon) as agent:
        assert manager.run("systemctl", "--user", "stop", "kasmos.service").returncode == 0
        assert not states(manager)["kasmos"]["is_active"]
        assert agent.poll() is None
        # Its input ends, and it by itself.
    assert agent.returncode == 0


def test_removed_services_are_gone(
    manager: UserManager, installed: "subprocess.CompletedProcess[str]", numbers: tuple[int, int]
) -> None:
    assert installed.returncode == 0, installed.stderr
    assert manager.kas("service", "uninstall").returncode == 0
    assert ports.identity(numbers[0]) is None
    found = states(manager)
    assert [state["detail"] for state in found.values()] == ["not installed", "not installed"]
    units = manager.home / ".config/systemd/user"
    assert [path.name for path in units.rglob("*.service")] == []
    listed = manager.run("systemctl", "--user", "list-units", "--all", "--no-legend", "kasmos*")
    assert listed.stdout == ""


def test_a_daemon_that_cannot_start_takes_both_back(
    manager: UserManager, numbers: tuple[int, int]
) -> None:
    failed = install(manager, numbers, "--db", "/proc/nowhere/a.db")
    assert failed.returncode == 1
    assert "error: The service 'kasmos' ended at its start" in failed.stderr
    assert "kasmosdb: put back as it was" in failed.stderr
    assert ports.identity(numbers[0]) is None
    units = manager.home / ".config/systemd/user"
    assert [path.name for path in units.rglob("*.service")] == []


def test_a_linked_unit_is_changed_where_it_lies(
    manager: UserManager, installed: "subprocess.CompletedProcess[str]", numbers: tuple[int, int]
) -> None:
    assert installed.returncode == 0, installed.stderr
    path = manager.home / ".config/systemd/user/kasmosdb.service"
    real = manager.home / "dotfiles.service"
    path.rename(real)
    path.symlink_to(real)
    changed = install(manager, numbers, "--db", str(manager.home / "other.db"))
    assert changed.returncode == 0, changed.stderr
    assert path.readlink() == real
    assert "other.db" in real.read_text()
    assert manager.kas("service", "uninstall").returncode == 0
    assert not path.is_symlink()
    assert real.exists()
