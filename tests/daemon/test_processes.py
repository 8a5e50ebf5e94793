"""daemon.processes: the same, gone, or not to be seen."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kasmos_plugin.daemon import processes, worktrees
from kasmos_plugin.rules.health import Presence


def test_a_process_is_itself_and_its_number_is_not_enough() -> None:
    """C6."""
    own = processes.identify(os.getpid())
    assert own is not None
    assert processes.look(own) is Presence.PRESENT
    for other in ({"start": "1"}, {"boot_id": "another"}, {"pid": 4_194_305}):
        assert processes.look(own.model_copy(update=other)) is Presence.ABSENT


def test_a_zombie_counts_as_gone() -> None:
    with subprocess.Popen([sys.executable, "-S", "-c", "input()"], stdin=subprocess.PIPE) as child:
        known = processes.identify(child.pid)
        assert known is not None
        assert child.stdin is not None
        child.stdin.close()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert processes.look(known) is Presence.ABSENT
        assert processes.identify(child.pid) is None


def test_a_process_that_may_not_be_seen_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    own = processes.identify(os.getpid())
    assert own is not None

    def refuse(pid: int) -> tuple[str, bool]:
        raise PermissionError

    monkeypatch.setattr(processes, "_look", refuse)
    assert processes.look(own) is Presence.UNKNOWN
    assert processes.identify(os.getpid()) is None


def test_a_name_with_brackets_and_blanks_does_not_disturb(tmp_path: Path) -> None:
    program = tmp_path / "a) Z (b"
    program.symlink_to("/bin/sleep")
    with subprocess.Popen([str(program), "30"]) as child:
        known = processes.identify(child.pid)
        assert known is not None
        assert processes.look(known) is Presence.PRESENT
        child.kill()


def test_directories_are_there_gone_or_not_to_be_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    asked = {
        "there": str(tmp_path),
        "gone": str(tmp_path / "gone"),
        "below a file": str(tmp_path / "file" / "x"),
        "loop": str(tmp_path / "loop" / "x"),
        "no path": "\0",
    }
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    assert worktrees.present(asked) == {
        "there": True,
        "gone": False,
        "below a file": False,
        "loop": None,
        "no path": None,
    }
