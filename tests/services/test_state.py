"""How services stand where nothing answers; the rest is in the tests of the installer."""

import sys
from pathlib import Path

import pytest

from kasmos_plugin.services.manager import manager_here
from kasmos_plugin.services.state import ServiceState, status
from kasmos_plugin.services.units import daemon_service
from tests.services.conftest import FakeSystemctl


@pytest.mark.skipif(sys.platform != "linux", reason="systemd is on Linux alone")
def test_without_a_manager_the_reason_is_the_state(
    unit_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    why = "no service manager: there is no `systemctl`"
    assert status() == (
        ServiceState(name="kasmosdb", manager="", detail=why),
        ServiceState(name="kasmos", manager="", detail=why),
    )


def test_with_a_manager_and_no_unit_nothing_is_installed(
    systemctl: FakeSystemctl, unit_dir: Path
) -> None:
    assert status()[0] == ServiceState(
        name="kasmosdb",
        manager="systemd",
        detail="not installed",
        unit=str(unit_dir / "kasmosdb.service"),
    )


def test_an_installed_unit_stays_one_when_the_manager_falls_silent(
    systemctl: FakeSystemctl, unit_dir: Path
) -> None:
    manager = manager_here()
    unit_dir.mkdir(parents=True)
    path = unit_dir / "kasmos.service"
    path.write_bytes(manager.unit_content(daemon_service()))
    systemctl.is_silent()
    found = status(manager)[1]
    assert (found.is_installed, found.is_current, found.is_active) == (True, True, False)
    assert found.detail.startswith("no service manager: ")


def test_a_unit_that_cannot_be_read_is_a_state_and_no_failure(
    systemctl: FakeSystemctl, unit_dir: Path
) -> None:
    (unit_dir / "kasmos.service").mkdir(parents=True)
    assert "cannot be read" in status()[1].detail
