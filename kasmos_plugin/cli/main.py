"""The entry of `kas`: two fast commands first, then the click group. The edge where errors end.

`kas monitor status --json` and `kas agent report` are called by hooks and scripts all day: they run
before click, pydantic or platformdirs is imported.
"""

import sys

from kasmos_plugin.cli import fast

TYPE_CHECKING = False  # `typing` and `collections.abc` are not for commands that must start fast.
if TYPE_CHECKING:
    from collections.abc import Sequence


def main() -> None:
    """Run `kas` with the process's arguments and exit with its code (0, 1, 2 or 3)."""
    if None in (sys.stdin, sys.stdout, sys.stderr):
        _fill_standard_streams()
    # A locale without our marks, or a name that is no Unicode, must not end a command.
    sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]  # ours, or Python's own
    sys.exit(run(sys.argv[1:]))


def _fill_standard_streams() -> None:
    """Put /dev/null where a standard stream was closed, as `>&-` does.

    Else the store or a socket gets its number, and what is printed goes there.
    """
    import os

    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            # The lowest free number is the closed one; the shim needs it too.
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
            stream = open(number, mode, encoding="utf-8", closefd=False)  # noqa: SIM115 - for life.
            setattr(sys, name, stream)


def run(arguments: "Sequence[str]") -> int:
    """Run one command line to its end and return its exit code."""
    try:
        code = fast.run(arguments)
        if code is None:
            from kasmos_plugin.cli.app import run_click  # What the fast commands must not wait for.

            code = run_click(arguments)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader left, as `head` does; what Python flushes at exit may not complain.
        sys.stdout = None
        return 1
    except Exception as error:  # noqa: BLE001 - the edge: a bug becomes one line and a log.
        return _unexpected(error, arguments)
    return code


def _unexpected(error: Exception, arguments: "Sequence[str]") -> int:
    import os
    import traceback
    from datetime import UTC, datetime

    from kasmos_plugin import paths

    print(f"error: unexpected {type(error).__name__}: {error}", file=sys.stderr)
    log = paths.logs_dir() / "kas.log"
    try:
        log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        with os.fdopen(descriptor, "a", encoding="utf-8", errors="backslashreplace") as file:
            command = " ".join(["kas", *arguments[:2]])
            file.write(f"{datetime.now(UTC).isoformat()} {command}\n")
            traceback.print_exception(error, file=file)
    except OSError:
        traceback.print_exception(error)
    else:
        print(f"hint: the details are in {log}", file=sys.stderr)
    return 1
