"""The user's systemd through `systemctl`: what it is told, and how its answers are read."""

import sys
from pathlib import Path

import pytest

from kasmos_plugin.services import systemd
from kasmos_plugin.services.manager import ManagerFailed, NoServiceManager, Running, manager_here
from kasmos_plugin.services.systemd import Systemd
from kasmos_plugin.services.units import daemon_service
from tests.services.conftest import FakeSystemctl


@pytest.fixture
def manager(systemctl: FakeSystemctl) -> Systemd:
    found = manager_here()
    assert isinstance(found, Systemd)
    return found


@pytest.fixture
def unit(manager: Systemd, unit_dir: Path) -> Path:
    unit_dir.mkdir(parents=True)
    path = unit_dir / "kasmos.service"
    path.write_bytes(manager.unit_content(daemon_service()))
    return path


def test_a_written_unit_is_read_enabled_and_started(
    manager: Systemd, systemctl: FakeSystemctl, unit: Path
) -> None:
    manager.activate("kasmos", is_restart=False)
    assert systemctl.calls == ["daemon-reload", "enable kasmos.service", "start kasmos.service"]
    assert manager.look("kasmos") == Running(
        is_enabled=True,
        is_active=True,
        pid=4_000_000,
        detail="active (running)",
        unit=str(unit),
    )


def test_what_is_printed_for_a_dry_run_is_what_is_run(
    manager: Systemd, systemctl: FakeSystemctl, unit: Path
) -> None:
    manager.activate("kasmos", is_restart=True)
    planned = manager.activation("kasmos", is_restart=True)
    assert [" ".join(command[2:]) for command in planned] == systemctl.calls


def test_a_service_is_stopped_disabled_and_forgotten(
    manager: Systemd, systemctl: FakeSystemctl, unit: Path
) -> None:
    manager.activate("kasmos", is_restart=False)
    manager.deactivate("kasmos")
    assert systemctl.calls[3:] == [
        "disable --now kasmos.service",
        "reset-failed kasmos.service",
    ]
    assert manager.look("kasmos") == Running(detail="inactive (dead)", unit=str(unit))


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        (
            {"active": "failed", "sub": "failed", "status": 2},
            Running(has_failed=True, detail="failed (failed), exit code 2"),
        ),
        (
            {"active": "activating", "sub": "auto-restart", "status": 1},
            Running(has_failed=True, detail="activating (auto-restart), exit code 1"),
        ),
        (
            {"active": "activating", "sub": "start", "pid": 7},
            Running(pid=7, detail="activating (start)"),
        ),
        (
            {"active": "active", "enabled": True, "fragment": "/etc/systemd/user/kasmos.service"},
            Running(
                is_enabled=True,
                is_active=True,
                detail="active (running)",
                unit="/etc/systemd/user/kasmos.service",
            ),
        ),
    ],
)
def test_states_are_read_from_properties(
    state: dict[str, object], expected: Running, manager: Systemd, systemctl: FakeSystemctl
) -> None:
    systemctl.says("kasmos.service", **state)
    assert manager.look("kasmos") == expected


@pytest.mark.parametrize(
    ("before", "commands"),
    [
        (Running(is_enabled=True, is_active=True), ["enable", "restart"]),
        (Running(is_enabled=True, has_failed=True), ["enable", "restart"]),
        (Running(is_enabled=True), ["enable", "stop"]),
        (Running(), ["disable", "stop"]),
    ],
)
def test_a_service_is_brought_back_to_the_state_it_had(
    before: Running,
    commands: list[str],
    manager: Systemd,
    systemctl: FakeSystemctl,
    unit: Path,
) -> None:
    manager.restore("kasmos", before)
    assert systemctl.calls == ["daemon-reload", *(f"{verb} kasmos.service" for verb in commands)]


def test_a_refusal_is_told_with_its_words_and_where_to_look(
    manager: Systemd, systemctl: FakeSystemctl, unit: Path
) -> None:
    systemctl.refuses("start kasmos.service")
    with pytest.raises(ManagerFailed) as refused:
        manager.activate("kasmos", is_restart=False)
    assert refused.value.message == (
        "`systemctl --user start kasmos.service` failed with exit code 1:"
        " Job for ['kasmos.service'] failed."
    )
    assert refused.value.hint == "journalctl --user -u kasmos -n 20"


def test_units_lie_where_the_user_configures(
    manager: Systemd, unit_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert manager.unit_path("kasmos") == unit_dir / "kasmos.service"
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "etc"))
    assert manager.unit_path("kasmos") == tmp_path / "etc/systemd/user/kasmos.service"
    # A relative one means nothing. Source: XDG base directory specification.
    monkeypatch.setenv("XDG_CONFIG_HOME", "etc")
    assert manager.unit_path("kasmos") == unit_dir / "kasmos.service"


@pytest.mark.skipif(sys.platform != "linux", reason="systemd is on Linux alone")
def test_without_systemctl_there_is_no_manager(
    unit_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NoServiceManager, match="no `systemctl`") as missing:
        manager_here()
    assert (missing.value.code, missing.value.hint) == ("no_service_manager", "kas up")


def test_a_silent_systemd_is_explained(
    systemctl: FakeSystemctl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    systemctl.is_silent()
    monkeypatch.setattr(systemd, "BOOTED", tmp_path / "no")
    with pytest.raises(NoServiceManager, match="a container, or WSL"):
        manager_here()
    monkeypatch.setattr(systemd, "BOOTED", tmp_path)
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    with pytest.raises(NoServiceManager, match="XDG_RUNTIME_DIR"):
        manager_here()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    with pytest.raises(NoServiceManager, match="no lingering"):
        manager_here()
