"""launchd through `launchctl`: what it is told, and the few lines of its answers that are read.

The stand-in answers as macOS 14 prints; no runner of ours without a screen has the real one.
"""

import json
import os
import plistlib
import sys
from pathlib import Path

import pytest

from kasmos_plugin import paths
from kasmos_plugin.services.launchd import Launchd
from kasmos_plugin.services.manager import ManagerFailed, NoServiceManager, Running
from kasmos_plugin.services.units import daemon_service

TARGET = f"gui/{os.getuid()}/kasmos"


class FakeLaunchctl:
    """The stand-in on PATH."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        path = directory / "launchctl"
        script = (Path(__file__).parent / "fake_launchctl.py").read_text("utf-8")
        path.write_text(f"#!{sys.executable} -SE\n{script}", "utf-8")
        path.chmod(0o755)
        self.says()

    def says(self, *, has_session: bool = True, refuses: bool = False, **loaded: str) -> None:
        """Answer so from now on; `loaded` holds what is printed of each service."""
        state = {
            "has_session": has_session,
            "loaded": loaded,
            "disabled": [],
            "leaving": 0,
            "refuses": refuses,
        }
        (self.directory / "state").write_text(json.dumps(state))

    @property
    def calls(self) -> list[str]:
        path = self.directory / "calls"
        return path.read_text().splitlines() if path.exists() else []


@pytest.fixture
def launchctl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeLaunchctl:
    directory = tmp_path / "bin"
    directory.mkdir()
    monkeypatch.setenv("PATH", str(directory))
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    return FakeLaunchctl(directory)


@pytest.fixture
def agent(launchctl: FakeLaunchctl) -> Path:
    manager = Launchd.here()
    path = manager.unit_path("kasmos")
    path.parent.mkdir(parents=True)
    path.write_bytes(manager.unit_content(daemon_service()))
    return path


def test_an_agent_lies_with_those_of_the_user_and_writes_to_our_logs(
    agent: Path, tmp_path: Path
) -> None:
    assert agent == tmp_path / "user/Library/LaunchAgents/kasmos.plist"
    told = plistlib.loads(agent.read_bytes())
    assert told["StandardErrorPath"] == str(paths.logs_dir() / "kasmos.log")
    assert told["EnvironmentVariables"] == {"KASMOS_HOME": str(paths.home())}


def test_a_written_agent_is_enabled_and_loaded(agent: Path, launchctl: FakeLaunchctl) -> None:
    manager = Launchd.here()
    manager.activate("kasmos", is_restart=False)
    assert launchctl.calls == [f"enable {TARGET}", f"bootstrap gui/{os.getuid()} {agent}"]
    assert [" ".join(one[1:]) for one in manager.activation("kasmos", is_restart=False)] == (
        launchctl.calls
    )
    assert paths.logs_dir().is_dir()
    assert manager.look("kasmos") == Running(
        is_enabled=True, is_active=True, pid=77, detail="running"
    )


def test_a_loaded_agent_is_left_until_it_is_gone_before_it_is_loaded_anew(
    agent: Path, launchctl: FakeLaunchctl
) -> None:
    """`bootout` returns early; a `bootstrap` before the end is refused."""
    launchctl.says(kasmos="\tstate = running\n\tpid = 5")
    manager = Launchd.here()
    manager.activate("kasmos", is_restart=True)
    assert [call.split()[0] for call in launchctl.calls] == ["bootout", "enable", "bootstrap"]
    assert manager.look("kasmos").pid == 77


def test_what_is_not_loaded_needs_no_end(agent: Path, launchctl: FakeLaunchctl) -> None:
    Launchd.here().deactivate("kasmos")
    assert launchctl.calls == []
    assert Launchd.here().look("kasmos") == Running(is_enabled=True, detail="not loaded")


@pytest.mark.parametrize(
    ("printed", "expected"),
    [
        (
            "\tstate = spawn scheduled\n\tlast exit code = 1\n",
            Running(is_enabled=True, has_failed=True, detail="spawn scheduled, exit code 1"),
        ),
        (
            "\tstate = running\n\tpid = 9\n\tlast exit code = 1\n\tsub = {\n\t\tstate = odd\n\t}",
            Running(is_enabled=True, is_active=True, pid=9, detail="running"),
        ),
        ("words of another release", Running(is_enabled=True, detail="loaded")),
    ],
)
def test_only_known_lines_are_read(
    printed: str, expected: Running, agent: Path, launchctl: FakeLaunchctl
) -> None:
    launchctl.says(kasmos=printed)
    assert Launchd.here().look("kasmos") == expected


@pytest.mark.parametrize("was_loaded", [True, False])
def test_an_agent_is_brought_back_to_the_state_it_had(
    was_loaded: bool, agent: Path, launchctl: FakeLaunchctl
) -> None:
    launchctl.says(kasmos="\tstate = running\n\tpid = 5")
    manager = Launchd.here()
    manager.restore("kasmos", Running(is_enabled=True, is_active=was_loaded))
    assert manager.look("kasmos").is_active is was_loaded


def test_a_refusal_is_told_with_its_words(agent: Path, launchctl: FakeLaunchctl) -> None:
    launchctl.says(refuses=True)
    with pytest.raises(ManagerFailed, match="exit code 5: Bootstrap failed") as refused:
        Launchd.here().activate("kasmos", is_restart=False)
    assert refused.value.hint == f"tail -n 20 '{paths.logs_dir() / 'kasmos.log'}'"


def test_without_a_login_session_there_is_no_manager(launchctl: FakeLaunchctl) -> None:
    launchctl.says(has_session=False)
    with pytest.raises(NoServiceManager, match="login session"):
        Launchd.here()
