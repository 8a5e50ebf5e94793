"""A signal to one process and to no other: its identity is checked first, and held while it is.

Numbers are used again: after a reboot, or in another container, the pid is a stranger's.
"""

import os
import signal

from kasmos_plugin.contract.agent import ProcessIdentity
from kasmos_plugin.daemon.processes import look
from kasmos_plugin.errors import Conflict
from kasmos_plugin.rules.health import Presence


def terminate(process: ProcessIdentity) -> None:
    """Send SIGTERM to the process; nothing when it has gone.

    Raises:
        Conflict: it cannot be told whether the pid is still the same process.
    """
    handle = _handle(process.pid)
    try:
        match look(process):
            case Presence.PRESENT if handle is not None:
                signal.pidfd_send_signal(handle, signal.SIGTERM)
            case Presence.PRESENT:
                os.kill(process.pid, signal.SIGTERM)
            case Presence.UNKNOWN:
                raise Conflict(
                    f"It cannot be told whether pid {process.pid} is still the daemon;"
                    " nothing was signalled."
                )
            case Presence.ABSENT:
                pass
    except ProcessLookupError:
        pass
    finally:
        if handle is not None:
            os.close(handle)


def _handle(pid: int) -> int | None:
    """Return a handle that keeps meaning the process that has the pid now: pidfd_open(2)."""
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return None
