"""`kas demo` from outside: the whole plot in real processes, and that nothing is left of it."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from kasmos_plugin.demo.play import TASK, WAVES
from kasmos_plugin.demo.stage import environment
from kasmos_plugin.rules.plan import parse_plan
from tests.cli.conftest import KAS, run_quietly, until
from tests.conftest import git
from tests.terminal import at_terminal

PLAN = Path(sys.modules["kasmos_plugin.demo.play"].__file__ or "").with_name("plan.md")


@pytest.fixture
def surroundings(home: Path, tmp_path: Path) -> dict[str, str]:
    """An environment in which the demo's directories can be counted, and git has no identity."""
    (tmp_path / "tmp").mkdir()
    return os.environ | {
        "TMPDIR": str(tmp_path / "tmp"),
        "HOME": str(tmp_path),
        "GIT_AUTHOR_NAME": "somebody else",
        "GIT_DIR": "/nowhere",
    }


@contextmanager
def demo(surroundings: dict[str, str], *options: str) -> Iterator["subprocess.Popen[str]"]:
    process = subprocess.Popen(
        [*KAS, "demo", "--fast", *options],
        env=surroundings,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)


def _until(process: "subprocess.Popen[str]", words: str) -> list[str]:
    """Read lines up to the one that holds `words`."""
    assert process.stdout is not None
    lines: list[str] = []
    for line in process.stdout:
        lines.append(line.rstrip("\n"))
        if words in line:
            return lines
    raise AssertionError((words, lines, process.communicate()))


def _leftovers(tmp_path: Path) -> list[str]:
    """Return the demo's directories, and its processes: each names its directory."""
    here = str(tmp_path / "tmp")
    running = []
    for directory in Path("/proc").glob("[0-9]*"):
        try:
            words = (directory / "cmdline").read_bytes() + (directory / "environ").read_bytes()
        except OSError:
            continue
        if f"={here}/kasmos-demo-".encode() in words:
            running.append(str(directory))
    return [*map(str, (tmp_path / "tmp").iterdir()), *running]


def _kas(surroundings: dict[str, str], *arguments: str) -> Any:
    done = subprocess.run(
        [*KAS, *arguments, "--json"], env=surroundings, capture_output=True, text=True, timeout=20
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_plan_is_the_plot() -> None:
    plan = parse_plan(PLAN.read_text("utf-8"))
    parts = [(wave, part.number) for wave, parts in enumerate(WAVES, 1) for part in parts]
    assert parts == [(subtask.wave, subtask.number) for subtask in plan.subtasks]
    assert (len(plan.waves), len(plan.subtasks)) == (2, 5)


@pytest.mark.skipif(sys.platform != "linux", reason="processes are looked for in /proc")
def test_started_alone_it_plays_to_its_end_and_leaves_nothing(
    surroundings: dict[str, str], tmp_path: Path, home: Path
) -> None:
    with demo(surroundings, "--auto") as process:
        out, err = process.communicate(timeout=90)
    assert (process.returncode, err) == (0, "")
    told = [line[5:] for line in out.splitlines() if line[:3].strip().isdigit()]
    assert [line[0] for line in told] == list("●▲●■●▲▲●●●▲●✓✓✓")
    assert told[-2:] == [f"✓ verified: task {TASK} is done", "✓ cleaned up: nothing is left"]
    assert out.startswith("page      http://127.0.0.1:")
    assert _leftovers(tmp_path) == []
    assert not home.exists(), "the person's own home is not touched"
    assert not (tmp_path / ".gitconfig").exists()


def test_in_a_running_store_a_person_decides_and_what_was_there_stays(
    surroundings: dict[str, str],
    daemon: "subprocess.Popen[bytes]",
    task: str,
    tmp_path: Path,
) -> None:
    surroundings["KASMOS_PROJECT"] = "repo"
    with demo(surroundings) as process:
        lines = _until(process, "kas task approve")
        command = lines[-1].strip()
        waiting = _kas(surroundings, "monitor", "status", "--project", "demo")
        assert [item["kind"] for item in waiting["attention"]] == ["needs_decision"]
        assert [line for line in lines if line[5:6] == "■"], "an agent crashed before"
        repository = next((tmp_path / "tmp").glob("kasmos-demo-*/moon-phases"))
        authors = set(git(repository, "log", "--all", "--format=%an <%ae>").splitlines())
        assert authors == {"kas demo <demo@example.invalid>"}
        code, said = at_terminal(["sh", "-c", command], answers=["y"], env=surroundings)
        assert code == 0, said
        lines = _until(process, "done")
        process.communicate(timeout=60)
    assert process.returncode == 0
    assert _kas(surroundings, "daemon", "repos")["repos"][0]["project"] == "repo"
    assert [found["filename"] for found in _kas(surroundings, "task", "list")] == [task]
    assert _leftovers(tmp_path) == []
    assert daemon.poll() is None


@pytest.mark.skipif(sys.platform != "linux", reason="processes are looked for in /proc")
def test_ended_half_way_it_cleans_up_though_it_is_pressed_again(
    surroundings: dict[str, str], tmp_path: Path
) -> None:
    with demo(surroundings) as process:
        _until(process, "wave 1: 3 agents")
        process.send_signal(signal.SIGTERM)
        _until(process, "ended by you; cleaning up")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert err.strip() == ""
    assert process.returncode == 130
    assert out.endswith("cleaned up: nothing is left\n")
    until(lambda: _leftovers(tmp_path) == [], what="the processes to go")


def test_a_project_of_that_name_is_left_alone(
    surroundings: dict[str, str], daemon: "subprocess.Popen[bytes]", repo: Path, tmp_path: Path
) -> None:
    assert run_quietly("daemon", "add", str(repo), "--project", "demo")
    with demo(surroundings, "--auto") as process:
        out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (1, "")
    assert "The project 'demo' is there already" in err
    assert _leftovers(tmp_path) == []
    assert _kas(surroundings, "daemon", "repos")["repos"][0]["path"] == str(repo)


def test_another_store_than_the_daemons_is_refused(
    surroundings: dict[str, str], daemon: "subprocess.Popen[bytes]", tmp_path: Path
) -> None:
    with demo(surroundings, "--db", str(tmp_path / "other.db")) as process:
        _, err = process.communicate(timeout=30)
    assert process.returncode == 1
    assert "The daemon watches another store" in err
    assert not (tmp_path / "other.db").exists()


def test_a_store_without_a_daemon_is_refused(surroundings: dict[str, str], tmp_path: Path) -> None:
    with demo(surroundings, "--db", str(tmp_path / "some.db")) as process:
        _, err = process.communicate(timeout=30)
    assert (process.returncode, err.splitlines()[-1]) == (3, "hint: kas daemon start")


def test_nothing_of_the_surroundings_reaches_git() -> None:
    made = environment(
        {
            "GIT_DIR": "/x",
            "GIT_SSH": "y",
            "KASMOS_AGENT_ID": "a",
            "KASMOS_SOCKET": "s",
            "PATH": "p",
        },
        home=Path("/h"),
        database=Path("/d"),
    )
    assert not {"GIT_DIR", "GIT_SSH", "KASMOS_AGENT_ID", "KASMOS_SOCKET"} & set(made)
    assert (made["PATH"], made["KASMOS_HOME"], made["KASMOS_DB"]) == ("p", "/h", "/d")
    assert made["GIT_CONFIG_GLOBAL"] == os.devnull
