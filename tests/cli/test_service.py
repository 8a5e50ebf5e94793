"""cli.service: the whole way, with a stand-in for `systemctl` that starts real processes."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from kasmos_plugin import ports
from kasmos_plugin.services.units import arguments_of_unit
from tests.cli.conftest import Done, Kas
from tests.services.conftest import FakeSystemctl, steps, systemctl, unit_dir

__all__ = ["systemctl", "unit_dir"]

SERVICES = ("kasmosdb", "kasmos")


@pytest.fixture
def free_ports() -> tuple[str, ...]:
    """Options with two ports on which nobody listens."""
    with ExitStack() as stack:
        found = []
        for _ in range(2):
            bound = stack.enter_context(socket.socket())
            bound.bind((ports.HOST, 0))
            found.append(str(bound.getsockname()[1]))
    return ("--port", found[0], "--mcp-port", found[1])


@pytest.fixture
def installed(systemctl: FakeSystemctl, kas: Kas, free_ports: tuple[str, ...]) -> Iterator[Done]:
    """Both services installed, as processes that run."""
    systemctl.starts_really()
    yield kas("service", "install", *free_ports)
    for name in SERVICES:
        subprocess.run(["systemctl", "--user", "stop", f"{name}.service"], env=_plain(), check=True)


def _plain() -> dict[str, str]:
    return os.environ | {"LC_ALL": "C"}


def pids(systemctl: FakeSystemctl) -> list[int]:
    return [systemctl.units[f"{name}.service"]["pid"] for name in SERVICES]


def test_installed_services_answer_and_removed_ones_are_gone(
    installed: Done, systemctl: FakeSystemctl, kas: Kas, free_ports: tuple[str, ...], unit_dir: Path
) -> None:
    assert installed.code == 0, installed.err
    serve_pid, daemon_pid = pids(systemctl)
    assert steps(installed.err)[:6] == [
        f"kasmosdb: wrote {unit_dir / 'kasmosdb.service'}",
        "kasmosdb: enabled and started",
        f"kasmosdb: answers, pid {serve_pid}",
        f"kasmos: wrote {unit_dir / 'kasmos.service'}",
        "kasmos: enabled and started",
        f"kasmos: answers, pid {daemon_pid}",
    ]
    for port in (free_ports[1], free_ports[3]):
        assert ports.identity(int(port)) is not None
    assert kas("daemon", "status", "--json").json["pid"] == daemon_pid

    status = kas("service", "status")
    assert status.code == 0
    assert str(serve_pid) in status.out.splitlines()[1]
    states = kas("service", "status", "--json").json["services"]
    assert states[1] == {
        "name": "kasmos",
        "manager": "systemd",
        "is_installed": True,
        "is_enabled": True,
        "is_active": True,
        "is_current": True,
        "pid": daemon_pid,
        "detail": "active (running)",
        "unit": str(unit_dir / "kasmos.service"),
        "log_command": "journalctl --user -u kasmos -n 20",
    }

    again = kas("service", "install", *free_ports)
    assert again.code == 0
    assert steps(again.err)[:2] == [
        "kasmosdb: installed and running already",
        "kasmos: installed and running already",
    ]
    assert pids(systemctl) == [serve_pid, daemon_pid]

    gone = kas("service", "uninstall")
    assert gone.code == 0
    assert gone.err.splitlines()[-1].startswith("left: the store")
    assert list(unit_dir.iterdir()) == []
    assert ports.identity(int(free_ports[1])) is None
    assert kas("daemon", "status").code == 3


def test_a_service_that_cannot_start_leaves_nothing(
    systemctl: FakeSystemctl, kas: Kas, free_ports: tuple[str, ...], unit_dir: Path
) -> None:
    systemctl.starts_really()
    systemctl.refuses("start kasmos.service")
    failed = kas("service", "install", *free_ports)
    assert failed.code == 1
    assert "error: `systemctl --user start kasmos.service` failed" in failed.err
    assert "kasmosdb: put back as it was" in failed.err
    assert list(unit_dir.iterdir()) == []
    assert ports.identity(int(free_ports[1])) is None


def test_a_server_in_a_terminal_stands_in_the_way(
    systemctl: FakeSystemctl, kas: Kas, unit_dir: Path
) -> None:
    with socket.socket() as held:
        held.bind((ports.HOST, 0))
        held.listen()
        port = str(held.getsockname()[1])
        refused = kas("service", "install", "--port", port)
    assert refused.code == 1
    told = f"error: Port {port} on 127.0.0.1 is taken by pid {os.getpid()}"
    assert steps(refused.err)[0].startswith(told)
    assert not unit_dir.exists()


@pytest.mark.usefixtures("daemon")
def test_a_daemon_in_a_terminal_stands_in_the_way(
    systemctl: FakeSystemctl, kas: Kas, free_ports: tuple[str, ...], unit_dir: Path
) -> None:
    refused = kas("service", "install", *free_ports)
    assert refused.code == 1
    assert refused.err.splitlines()[-1] == "hint: kas daemon stop"
    assert not unit_dir.exists()


def test_a_dry_run_prints_units_and_commands_and_changes_nothing(
    systemctl: FakeSystemctl, kas: Kas, unit_dir: Path, tmp_path: Path
) -> None:
    store = tmp_path / "a b.db"
    arguments = ("service", "install", "--dry-run", "--port", "8433", "--db", str(store))
    shown = kas(*arguments)
    assert shown.code == 0
    assert shown.out.startswith(f"# {unit_dir / 'kasmosdb.service'}\n[Unit]\n")
    ours = f"{sys.executable} -P -m kasmos_plugin serve --port 8433 --mcp-port 7434"
    assert f'ExecStart=:{ours} --db "{store}"\n' in shown.out
    assert shown.out.endswith("$ systemctl --user start kasmos.service\n")
    told = kas(*arguments, "--json").json
    assert [unit["path"] for unit in told["units"]] == [
        str(unit_dir / "kasmosdb.service"),
        str(unit_dir / "kasmos.service"),
    ]
    assert arguments_of_unit(told["units"][1]["text"].encode()) == (
        "daemon",
        "start",
        "--foreground",
        "--db",
        str(store),
    )
    assert told["commands"][0] == "systemctl --user daemon-reload"
    assert systemctl.calls == []
    assert not unit_dir.exists()


def test_an_interpreter_that_is_cleaned_away_is_warned_of(
    systemctl: FakeSystemctl, kas: Kas, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    shown = kas("service", "install", "--dry-run")
    assert f"warning: the services will run '{tmp_path / 'python'}'" in shown.err


@pytest.mark.parametrize(
    "options", [("--port", "0"), ("--port", "7434"), ("--port", "65536"), ("more",)]
)
def test_ports_that_nobody_could_find_are_wrong_usage(
    options: tuple[str, ...], systemctl: FakeSystemctl, kas: Kas
) -> None:
    assert kas("service", "install", *options).code == 2
    assert systemctl.calls == []


def test_nothing_installed_is_fine_and_said(systemctl: FakeSystemctl, kas: Kas) -> None:
    assert kas("service", "status").code == 0
    done = kas("service", "uninstall", "--json")
    assert (done.code, done.err) == (0, "no service is installed\n")
    assert [one["is_installed"] for one in done.json["services"]] == [False, False]


def test_an_installed_service_that_does_not_run_is_a_failure(
    systemctl: FakeSystemctl, kas: Kas, unit_dir: Path
) -> None:
    unit_dir.mkdir(parents=True)
    told = kas("service", "install", "--dry-run", "--json").json
    for unit in told["units"]:
        Path(unit["path"]).write_text(unit["text"])
    systemctl.says("kasmosdb.service", active="active", enabled=True, pid=7)
    systemctl.says("kasmos.service", active="failed", sub="failed", status=1)
    status = kas("service", "status")
    assert status.code == 1
    assert "failed (failed), exit code 1" in status.out
    assert status.err == "kasmos: journalctl --user -u kasmos -n 20\n"
    path = unit_dir / "kasmosdb.service"
    path.write_text(path.read_text().replace("RestartSec=5", "RestartSec=6"))
    assert "kasmosdb: the unit is not what would be written now" in kas("service", "status").err


def test_without_a_manager_installing_fails_with_the_other_way(
    systemctl: FakeSystemctl, kas: Kas
) -> None:
    systemctl.is_silent()
    for command in ("install", "uninstall"):
        failed = kas("service", command)
        assert failed.code == 1
        assert failed.err.startswith("error: Services cannot run here: ")
        assert failed.err.endswith("hint: kas up\n")
    told = json.loads(kas("service", "status", "--json").out)["services"]
    assert [one["detail"][:18] for one in told] == ["no service manager", "no service manager"]
    assert kas("service", "status").code == 0
