"""What tests of the services share: a home for units, and a `systemctl` of their own."""

import json
import os
import shutil
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent


def steps(told: str) -> list[str]:
    """Return the lines of an installation, without the warning that a checkout in /tmp gets."""
    lines = told.splitlines()
    return [line for line in lines if not line.startswith("warning: the services will run ")]


class FakeSystemctl:
    """The stand-in on PATH: what it was told, and what it shall say."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        script = (HERE / "fake_systemctl.py").read_text("utf-8")
        path = directory / "systemctl"
        path.write_text(f"#!{sys.executable} -SE\n{script}", "utf-8")
        path.chmod(0o755)

    @property
    def calls(self) -> list[str]:
        """What it was told to change, as words after `systemctl --user`."""
        path = self.directory / "calls"
        lines = path.read_text().splitlines() if path.exists() else []
        calls = [json.loads(line)[1:] for line in lines]
        return [" ".join(call) for call in calls if call[0] != "show"]

    def is_silent(self) -> None:
        """Be the systemctl of a user without a manager."""
        (self.directory / "silent").touch()

    def refuses(self, *commands: str) -> None:
        """Fail such commands from now on."""
        (self.directory / "refuse").write_text("\n".join(commands))

    def starts_really(self) -> None:
        """Start units as processes."""
        (self.directory / "really").write_text(str(HERE / "unit_words.py"))

    @property
    def units(self) -> dict[str, dict[str, Any]]:
        """The states of all units by name."""
        path = self.directory / "units"
        found: dict[str, dict[str, Any]] = json.loads(path.read_text()) if path.exists() else {}
        return found

    def says(self, unit: str, **state: object) -> None:
        """Say this of a unit from now on."""
        known = self.units
        known.setdefault(unit, {"enabled": False, "active": "inactive", "pid": 0}).update(state)
        (self.directory / "units").write_text(json.dumps(known))

    def end(self) -> None:
        """End what was really started and still runs."""
        if (self.directory / "really").exists():
            for unit in self.units.values():
                if unit["pid"]:
                    with suppress(ProcessLookupError):
                        os.kill(unit["pid"], signal.SIGKILL)


@pytest.fixture
def unit_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where units of the user lie; home and configuration are temporary."""
    user_home = tmp_path / "user"
    user_home.mkdir()
    monkeypatch.setenv("HOME", str(user_home))
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    return user_home / ".config" / "systemd" / "user"


@pytest.fixture
def systemctl(
    unit_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[FakeSystemctl]:
    """A `systemctl` on PATH that answers; nothing is installed."""
    if sys.platform != "linux":
        pytest.skip("systemd is on Linux alone")
    directory = tmp_path / "bin"
    directory.mkdir()
    monkeypatch.setenv("PATH", str(directory), prepend=os.pathsep)
    fake = FakeSystemctl(directory)
    assert shutil.which("systemctl") == str(directory / "systemctl")
    yield fake
    fake.end()
