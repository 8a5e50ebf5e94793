"""agent.shim: the command is as it would be alone; terminal, pipes, signals, exit codes."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kasmos_plugin.agent import terminal
from tests.agent.conftest import Piped, Shown
from tests.daemon.harness import WITHIN_S

ROOT = Path(__file__).parents[2]


def test_a_command_in_a_terminal_has_one_of_the_same_size(shown: Shown) -> None:
    screen = shown("sh", "-c", "tty >/dev/null && stty size; read line; echo got $line; stty size")
    screen.until(b"30 90")
    screen.resize(40, 100)
    screen.type(b"keys\r")
    screen.until(b"got keys")
    screen.until(b"40 100")
    assert screen.wait() == 0


def test_a_resize_reaches_the_command_as_a_signal(shown: Shown) -> None:
    screen = shown("sh", "-c", "trap 'stty size; exit 5' WINCH; echo up; while :; do read x; done")
    screen.until(b"up")
    screen.resize(11, 22)
    screen.until(b"11 22")
    assert screen.wait() == 5


def test_the_terminal_is_raw_while_the_command_runs_and_as_before_after(shown: Shown) -> None:
    screen = shown("sh", "-c", "echo up; read line; exit 7")
    before = screen.modes()
    screen.until(b"up")
    screen.type(b"\r")
    assert screen.wait() == 7
    assert screen.modes() == before


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_the_terminal_is_restored_when_a_signal_ends_the_shim_with_its_child(
    shown: Shown, number: signal.Signals
) -> None:
    screen = shown("sh", "-c", "echo up; exec sleep 30")
    before = screen.modes()
    screen.until(b"up")
    screen.process.send_signal(number)
    assert screen.wait() == 128 + number
    assert screen.modes() == before


def test_a_key_that_interrupts_goes_to_the_command(shown: Shown) -> None:
    screen = shown("sh", "-c", "trap 'echo caught; exit 9' INT; echo up; while :; do sleep 1; done")
    screen.until(b"up")
    screen.type(b"\x03")
    screen.until(b"caught")
    assert screen.wait() == 9


def test_control_z_stops_nothing_that_nobody_could_continue(shown: Shown) -> None:
    screen = shown("sh", "-c", "echo up; read line; echo back")
    screen.until(b"up")
    screen.type(b"\x1a")
    screen.type(b"\r")
    screen.until(b"back")
    assert screen.wait() == 0


def test_input_that_is_no_terminal_reaches_the_command_itself(piped: Piped) -> None:
    """An end of the input is an end, and bytes are not keys."""
    data = bytes(range(256)) * 400
    process = piped(
        sys.executable,
        "-S",
        "-c",
        "import os;print(len(b''.join(iter(lambda:os.read(0,4096),b''))))",
    )
    out, err = process.communicate(data, timeout=WITHIN_S)
    assert (out, process.returncode) == (b"102400\n", 0)
    assert b"no daemon" in err


def test_output_to_a_pipe_has_no_line_ends_of_a_screen(piped: Piped) -> None:
    process = piped("sh", "-c", "echo out; echo err >&2; exit 3")
    out, err = process.communicate(timeout=WITHIN_S)
    assert (out, process.returncode) == (b"out\n", 3)
    assert err.endswith(b"err\n")


def test_much_output_is_passed_on_whole(piped: Piped) -> None:
    process = piped("sh", "-c", "i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done")
    out, _ = process.communicate(timeout=WITHIN_S * 2)
    assert out == b"".join(b"line %d\n" % number for number in range(20_000))


def test_a_reader_that_leaves_does_not_end_the_agent(piped: Piped, tmp_path: Path) -> None:
    done = tmp_path / "done"
    process = piped("sh", "-c", f"echo one; read go; echo two; echo three; touch {done}")
    assert process.stdout is not None
    assert process.stdin is not None
    assert process.stdout.readline() == b"one\n"
    process.stdout.close()
    process.stdin.write(b"go\n")
    process.stdin.close()
    process.wait(WITHIN_S)
    assert done.exists()


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (["sh", "-c", "exit 0"], 0),
        (["sh", "-c", "exit 255"], 255),
        (["sh", "-c", "kill -KILL $$"], 137),
        (["sh", "-c", "kill -PIPE $$"], 141),
        (["/nowhere/at-all"], 127),
        (["/etc/passwd"], 126),
    ],
)
def test_the_exit_code_is_the_one_a_shell_would_give(
    piped: Piped, command: list[str], code: int
) -> None:
    process = piped(*command)
    process.communicate(timeout=WITHIN_S)
    assert process.returncode == code


def test_a_grandchild_that_keeps_the_terminal_delays_the_end_only_briefly(piped: Piped) -> None:
    process = piped("sh", "-c", "sleep 20 & echo $!; exit 4")
    assert process.stdout is not None
    pid = int(process.stdout.readline())
    try:
        assert process.wait(WITHIN_S) == 4
    finally:
        os.kill(pid, signal.SIGKILL)


def test_a_child_that_closes_its_terminal_is_waited_for_without_a_spin(piped: Piped) -> None:
    process = piped("sh", "-c", "exec >/dev/null 2>&1 0<&-; sleep 0.6; exit 6")
    assert process.wait(WITHIN_S) == 6


def test_the_command_knows_who_it_is_and_gets_ordinary_signals(piped: Piped) -> None:
    code = "import signal;print(signal.getsignal(signal.SIGPIPE)==0, signal.pthread_sigmask(0,[]))"
    process = piped(sys.executable, "-S", "-c", code.replace("==0", "== signal.SIG_DFL"))
    out, _ = process.communicate(timeout=WITHIN_S)
    # Python itself ignores SIGPIPE at its start, whatever it inherits.
    assert out == b"False set()\n"
    process = piped("sh", "-c", "grep SigIgn /proc/self/status")
    out, _ = process.communicate(timeout=WITHIN_S)
    assert int(out.split()[1], 16) == 0


def test_without_a_daemon_there_is_one_quiet_line(shown: Shown) -> None:
    screen = shown("sh", "-c", "echo up; read line; echo over")
    screen.until(b"up")
    screen.type(b"\r")
    said = screen.until(b"over")
    assert said.count(b"kas:") == 1
    assert b"kas: no daemon (" in said


def test_the_shim_imports_nothing_heavy() -> None:
    code = (
        "import sys\n"
        f"sys.path.append({str(ROOT)!r})\n"
        "import kasmos_plugin.agent.shim\n"
        "heavy = ['json', 're', 'socket', 'signal', 'enum', 'typing', 'pydantic', 'asyncio',"
        " 'psutil', 'subprocess', 'threading', 'contextlib', 'pathlib', 'datetime']\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, timeout=20
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_shim_is_little_larger_than_a_bare_python(piped: Piped) -> None:
    process = piped("sh", "-c", "echo up; read line")
    assert process.stdout is not None
    process.stdout.readline()
    bare = [sys.executable, "-I", "-S", "-c", "print('up', flush=True); input()"]
    with subprocess.Popen(bare, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as reference:
        assert reference.stdout is not None
        reference.stdout.readline()
        ratio = _rss(process.pid) / _rss(reference.pid)
    assert ratio <= 1.5


def _rss(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1])


def test_a_log_is_bounded_private_and_survives_a_full_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(terminal, "LOG_BYTES", 1_000)
    path = tmp_path / "a.log"
    before = os.umask(0)
    log = terminal.Log(str(path))
    for number in range(100):
        log.write(b"%050d\n" % number)
    os.umask(before)
    older = path.with_name("a.log.1")
    assert max(path.stat().st_size, older.stat().st_size) <= 1_051
    assert {oct(one.stat().st_mode & 0o777) for one in (path, older)} == {"0o600"}
    assert path.read_bytes().endswith(b"%050d\n" % 99)
    os.close(log.fd)
    log.fd = os.open("/dev/full", os.O_WRONLY)
    log.write(b"lost")
    os.close(log.fd)


def test_a_log_never_follows_a_link(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / "a.log").symlink_to(victim)
    with pytest.raises(OSError, match="symbolic link"):
        terminal.Log(str(tmp_path / "a.log"))
