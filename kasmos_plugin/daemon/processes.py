"""What the process table says of one process: the same, gone, or not to be seen. Decides nothing.

A pid alone proves nothing: numbers are used again. A process is the same when pid, raw start stamp
and boot agree. Sources: proc(5); on macOS psutil, and `kern.bootsessionuuid`.
"""

import os
import subprocess
import sys
from functools import cache
from pathlib import Path

from kasmos_plugin.contract.agent import ProcessIdentity
from kasmos_plugin.rules.health import Presence


@cache
def boot_id() -> str:
    """Return the identity of the present boot."""
    if sys.platform == "linux":
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    else:  # noqa: RET505 - mypy reads the other platform's branch only so.
        asked = ["/usr/sbin/sysctl", "-n", "kern.bootsessionuuid"]
        return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()


def identify(pid: int) -> ProcessIdentity | None:
    """Return the identity of a living process, or None when it is gone or cannot be seen."""
    try:
        start, is_zombie = _look(pid)
    except OSError:
        return None
    if not start or is_zombie:
        return None
    return ProcessIdentity(pid=pid, start=start, boot_id=boot_id())


def look(known: ProcessIdentity) -> Presence:
    """Return whether the process is still the one that `known` describes.

    A zombie counts as gone; a process that may not be seen is unknown, which is not gone.
    """
    if known.boot_id != boot_id():
        return Presence.ABSENT
    try:
        start, is_zombie = _look(known.pid)
    except OSError:
        return Presence.UNKNOWN
    if not start or is_zombie or start != known.start:
        return Presence.ABSENT
    return Presence.PRESENT


def _look(pid: int) -> tuple[str, bool]:
    """Return the raw start stamp, empty when there is no such process, and whether it is a zombie.

    Raises:
        OSError: the process table cannot be read.
    """
    if sys.platform != "linux":
        return _look_with_psutil(pid)
    try:
        text = Path(f"/proc/{pid}/stat").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        if not os.path.exists("/proc/self"):  # noqa: PTH110 - no /proc at all shows nobody.
            raise PermissionError("/proc is not mounted") from None
        return "", False
    # The command's name may hold blanks and brackets: fields count from after the last bracket.
    fields = text[text.rindex(b")") + 2 :].split()
    return fields[19].decode("ascii"), fields[0] in (b"Z", b"X")


def _look_with_psutil(pid: int) -> tuple[str, bool]:
    import psutil  # Only where there is no /proc.

    try:
        process = psutil.Process(pid)
        return repr(process.create_time()), process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return "", False
    except psutil.AccessDenied as error:
        raise PermissionError(f"process {pid} cannot be seen") from error
