"""The edge: what a command's end looks like from outside."""

import os
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from kasmos_plugin import __version__, paths
from kasmos_plugin.cli import app, main
from tests.cli.conftest import KAS, Kas


def test_the_version_is_told(kas: Kas) -> None:
    assert kas("--version").out == f"kas, version {__version__}\n"


def test_help_ends_well_and_names_every_command(kas: Kas) -> None:
    done = kas("-h")
    assert done.code == 0
    assert all(f"  {name} " in done.out for name in app.COMMANDS)


@pytest.mark.parametrize(
    "arguments",
    [("bogus",), ("task", "bogus"), ("task", "list", "--bogus"), ("task", "transition", "a")],
)
def test_wrong_usage_is_one_sentence_with_a_hint(kas: Kas, arguments: Sequence[str]) -> None:
    done = kas(*arguments)
    assert (done.code, done.out) == (2, "")
    error, hint = done.err.splitlines()
    assert error.startswith("error: ")
    assert hint.endswith(" --help")


def test_an_expected_failure_is_told_with_its_hint(kas: Kas) -> None:
    done = kas("task", "list")
    assert (done.code, done.out) == (1, "")
    assert done.err == "error: No project is known yet.\nhint: kas daemon add PATH\n"


def test_a_daemon_that_is_away_has_its_own_exit_code(kas: Kas) -> None:
    assert kas("daemon", "status").code == 3


def test_a_bug_is_one_line_and_a_log(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(arguments: Sequence[str]) -> int:
        raise ZeroDivisionError("by nought")

    monkeypatch.setattr(app, "run_click", broken)
    assert main.run(["task", "list", "--topic", "secret"]) == 1
    log = paths.logs_dir() / "kas.log"
    assert capsys.readouterr().err.splitlines() == [
        "error: unexpected ZeroDivisionError: by nought",
        f"hint: the details are in {log}",
    ]
    assert "ZeroDivisionError" in log.read_text()
    assert "secret" not in log.read_text()
    assert log.stat().st_mode & 0o777 == 0o600


def test_ctrl_c_ends_with_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(arguments: Sequence[str]) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(app, "run_click", interrupted)
    assert main.run(["task", "list"]) == 130


def test_a_reader_that_left_is_no_reason_to_complain(task: str) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [*KAS, "task", "list"], stdout=writing, stderr=subprocess.PIPE, timeout=20, check=False
    )
    os.close(writing)
    assert done.stderr == b""
    assert done.returncode == 1


def test_ctrl_c_in_a_running_command_is_quiet(task: str, tmp_path: Path) -> None:
    plan = tmp_path / "plan.md"
    os.mkfifo(plan)
    process = subprocess.Popen(
        [*KAS, "task", "create", str(plan)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    with plan.open("wb"):  # Opens once the command reads: from then on it only waits.
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=10)
    assert (process.returncode, out, err.strip()) == (130, b"", b"")


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_closed_standard_stream_is_as_dev_null(closed: str) -> None:
    line = f"{' '.join(KAS)} --version {closed}"
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert "unexpected" not in done.stderr


def test_a_locale_without_our_marks_ends_no_command(kas_process: Kas, task: str) -> None:
    done = kas_process("task", "list", PYTHONIOENCODING="ascii")
    assert done.code == 0
    assert task in done.out
