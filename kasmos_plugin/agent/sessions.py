"""The processes of one session, and signals to all of their groups. Built-in modules only.

Linux: proc(5). Elsewhere ps(1) and getsid(2).
"""

import os

CHUNK = 16_384


def signal_groups(groups: set[int], number: int) -> None:
    """Send a signal to process groups; those that have gone do not matter."""
    for group in groups:
        try:
            os.killpg(group, number)
        except OSError:
            pass


def members(session: int) -> list[tuple[int, int]]:
    """Return every living process of a session, as pid and process group."""
    found = []
    for pid, group, owner, is_alive in processes():
        if owner == session and is_alive:
            found.append((pid, group))
    return found


def identity(pid: int, boot_id: str) -> str:
    """Return a process's identity as JSON; where /proc is missing, the daemon finds its start."""
    fields = stat_fields(str(pid))
    start = fields[19].decode("ascii") if fields else ""
    return f'{{"pid":{pid},"start":"{start}","boot_id":"{boot_id}"}}'


def processes() -> list[tuple[int, int, int, bool]]:
    """Return pid, group, session and life of every process that can be seen."""
    found = []
    if not os.path.exists("/proc/self/stat"):
        return processes_of_ps()
    for name in os.listdir("/proc"):
        if name.isdigit() and (fields := stat_fields(name)):
            is_alive = fields[0] not in (b"Z", b"X")
            found.append((int(name), int(fields[2]), int(fields[3]), is_alive))
    return found


def processes_of_ps() -> list[tuple[int, int, int, bool]]:
    """Return the same where there is no /proc: ps(1) of macOS."""
    hear, tell = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.dup2(tell, 1)
            os.execv("/bin/ps", ["ps", "-axo", "pid=,pgid=,stat="])
        finally:
            os._exit(127)
    os.close(tell)
    text = b""
    while data := os.read(hear, CHUNK):
        text += data
    os.close(hear)
    os.waitpid(pid, 0)
    found = []
    for line in text.splitlines():
        fields = line.split()
        try:
            session = os.getsid(int(fields[0]))
        except OSError:
            continue
        found.append((int(fields[0]), int(fields[1]), session, not fields[2].startswith(b"Z")))
    return found


def stat_fields(pid: str) -> list[bytes]:
    """Return the fields of /proc/PID/stat from the state on, empty when it cannot be read."""
    try:
        fd = os.open(f"/proc/{pid}/stat", os.O_RDONLY)
    except OSError:
        return []
    try:
        text = os.read(fd, 4096)
    except OSError:
        return []
    finally:
        os.close(fd)
    # The command's name may hold blanks and brackets: fields count from after the last bracket.
    return text[text.rindex(b")") + 2 :].split()
