"""A real systemd for one user, in namespaces of its own: nothing of this machine sees its units.

    root ─> a control group of its own ─> mount and cgroup namespaces ─> a user without privileges
         ─> `systemd --user`

Its processes share the network with this one, so that they can be asked.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

SYSTEMD = Path("/lib/systemd/systemd")
ROOT = Path(__file__).resolve().parents[2]
NOBODY = 65_534
RUNTIME = "/run/kasmos-test"

# The group is entered before the namespace is made: systemd moves whatever shares its root.
_OWN_GROUP = """
mkdir "$1"; echo $$ > "$1/cgroup.procs"; chown -R "$2:$2" "$1"
exec unshare --mount --cgroup bash -ec "$3" "${@:4}"
"""

# `/run/systemd/system` says that systemd runs the machine; a user's systemd starts only then. What
# lies below /root, as an interpreter may, is shown to the user without the rest of it.
_NAMESPACES = """
grep -qx '0::/' /proc/self/cgroup
uid=$0 runtime=$1; shift
mount -t tmpfs -o mode=755 none /run
mkdir -p /run/systemd/system /run/kept "$runtime"
hidden=()
for wanted in "$1" "$2" "$3"; do
  case $wanted in /root/*)
    kept=/run/kept/${#hidden[@]}; mkdir "$kept"; mount --bind "$wanted" "$kept"; hidden+=("$wanted")
  esac
done
shift 3
if (( ${#hidden[@]} )); then
  mount -t tmpfs -o mode=755 none /root
  for at in "${!hidden[@]}"; do
    mkdir -p "${hidden[$at]}"; mount --bind "/run/kept/$at" "${hidden[$at]}"
  done
fi
mount -t cgroup2 none /sys/fs/cgroup
chown "$uid" "$runtime"; chmod 700 "$runtime"
exec "$@"
"""


class UserManager:
    """The running systemd, and the commands of its user."""

    def __init__(self, process: "subprocess.Popen[bytes]", user_home: Path, group: Path) -> None:
        self.process = process
        self.home = user_home
        self.group = group

    def run(self, *command: str) -> "subprocess.CompletedProcess[str]":
        """Run a command as the user, in a session that has this systemd."""
        enter = ("nsenter", f"--target={self.process.pid}", "--mount", "--cgroup")
        return subprocess.run(
            [*enter, *_as_user(self.home), *command],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def kas(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """Run `kas` as the user."""
        return self.run(sys.executable, "-P", "-m", "kasmos_plugin", *arguments)

    def join(self, pid: int) -> "subprocess.Popen[bytes]":
        """Start a process of the user in the control group of the process `pid`."""
        shown = self.run("cat", f"/proc/{pid}/cgroup").stdout.splitlines()
        inside = next(line[3:] for line in shown if line.startswith("0::"))
        process = subprocess.Popen([*_as_user(self.home), "cat"], stdin=subprocess.PIPE)
        (self.group / inside.lstrip("/") / "cgroup.procs").write_text(str(process.pid))
        return process

    def is_up(self) -> bool:
        """Return whether it answers."""
        assert self.process.poll() is None, "systemd has ended"
        return self.run("systemctl", "--user", "show", "--property=Version").returncode == 0


def why_not() -> str:
    """Return why no such systemd can be had here; empty when one can be tried."""
    if sys.platform != "linux" or not SYSTEMD.exists():
        return "there is no systemd"
    if os.geteuid() != 0:
        return "only root may make the namespaces"
    missing = [name for name in ("unshare", "nsenter", "setpriv", "bash") if not shutil.which(name)]
    if missing:
        return f"there is no {missing[0]}"
    group = _group()
    if group is None or not os.access(group, os.W_OK):
        return "no control groups of version 2 can be made"
    # A container's root may be allowed none of it.
    mounts = "mount -t tmpfs none /run && mount -t cgroup2 none /sys/fs/cgroup"
    user = f"setpriv --reuid={NOBODY} --regid={NOBODY} --clear-groups true"
    probe = ["unshare", "--mount", "--cgroup", "bash", "-c", f"{mounts} && {user}"]
    done = subprocess.run(probe, capture_output=True, text=True, timeout=20, check=False)
    return f"the namespaces are refused: {done.stderr.strip()}" if done.returncode else ""


@contextmanager
def user_manager() -> Iterator[UserManager]:
    """Run a systemd of a user with an empty home until the block ends.

    What it says goes to `systemd.log` in that home.
    """
    group = _group()
    assert group is not None
    # Not below pytest's directories: those are closed to other users.
    with tempfile.TemporaryDirectory(prefix="kasmos-systemd-") as directory:
        user_home = Path(directory) / "home"
        user_home.mkdir()
        os.chown(user_home, NOBODY, NOBODY)
        Path(directory).chmod(0o755)
        own = group / Path(directory).name
        shown = (sys.base_prefix, sys.prefix, str(ROOT))
        systemd = (*_as_user(user_home), str(SYSTEMD), "--user", "--unit=basic.target")
        inner = (_NAMESPACES, str(NOBODY), RUNTIME, *shown, *systemd)
        with (user_home / "systemd.log").open("wb") as log:
            process = subprocess.Popen(
                ["bash", "-ec", _OWN_GROUP, "group", str(own), str(NOBODY), *inner],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        try:
            yield UserManager(process, user_home, own)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(30)
            _remove_group(own)


def _as_user(user_home: Path) -> Sequence[str]:
    return (
        "setpriv",
        f"--reuid={NOBODY}",
        f"--regid={NOBODY}",
        "--clear-groups",
        "env",
        "--ignore-environment",
        "PATH=/usr/bin:/bin",
        f"HOME={user_home}",
        f"XDG_RUNTIME_DIR={RUNTIME}",
        "SYSTEMD_LOG_TARGET=console",
    )


def _group() -> Path | None:
    """Return the directory of this process's group of version 2."""
    mounts = [line.split() for line in Path("/proc/mounts").read_text().splitlines()]
    at = next((fields[1] for fields in mounts if fields[2] == "cgroup2"), None)
    own = [line for line in Path("/proc/self/cgroup").read_text().splitlines() if line[:3] == "0::"]
    return Path(at + own[0][3:]) if at is not None and own else None


def _remove_group(group: Path) -> None:
    if group.exists():
        for directory, _, _ in os.walk(group, topdown=False):
            Path(directory).rmdir()
