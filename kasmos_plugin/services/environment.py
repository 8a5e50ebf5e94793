"""What of this environment a service must share, so that both mean the same store and socket."""

import os

from kasmos_plugin import paths

_BASES = ("XDG_DATA_HOME", "XDG_STATE_HOME")
"""Set by a shell's start file, they are unknown to a service manager, and move the store."""


def carried_environment(*, has_db: bool) -> dict[str, str]:
    """Return what is set here and moves paths of ours, absolute: a service has no directory.

    `has_db` says that the store is given as an option, so that `KASMOS_DB` means nothing.
    """
    carried = {name: os.environ[name] for name in _BASES if os.environ.get(name)}
    if (home := paths.home()) is not None:
        carried["KASMOS_HOME"] = str(home)
    if os.environ.get("KASMOS_DB") and not has_db:
        carried["KASMOS_DB"] = str(paths.database())
    if os.environ.get("KASMOS_SOCKET"):
        carried["KASMOS_SOCKET"] = str(paths.socket())
    return carried
