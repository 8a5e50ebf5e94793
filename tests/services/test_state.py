"""How services stand where nothing answers; the rest is in the tests of the installer."""

from pathlib import Path

import pytest

from kasmos_plugin import services
from kasmos_plugin.services import ServiceState
from tests.services.conftest import FakeSystemctl


def test_without_a_manager_the_reason_is_the_state(
    unit_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    why = "no service manager: there is no `systemctl`"
    assert services.status() == (
        ServiceState(name="kasmosdb", manager="", detail=why),
        ServiceState(name="kasmos", manager="", detail=why),
    )


def test_with_a_manager_and_no_unit_nothing_is_installed(
    systemctl: FakeSystemctl, unit_dir: Path
) -> None:
    assert services.status()[0] == ServiceState(
        name="kasmosdb",
        manager="systemd",
        detail="not installed",
        unit=str(unit_dir / "kasmosdb.service"),
    )


def test_a_unit_that_cannot_be_read_is_a_state_and_no_failure(
    systemctl: FakeSystemctl, unit_dir: Path
) -> None:
    (unit_dir / "kasmos.service").mkdir(parents=True)
    assert "cannot be read" in services.status()[1].detail
