"""A `launchctl` for tests: what is loaded is in the file `state`, what it was told in `calls`.

A service that is booted out is still there for the next few questions, as with the real one.
"""

import json
import sys
from pathlib import Path
from typing import Any

HERE = Path(sys.argv[0]).parent
PRINTED = """x = {
\tstate = running
\tpid = 77
\tlast exit code = (never exited)
}"""
NOT_LOADED = 113


def main(verb: str, target: str, *rest: str) -> int:
    state: dict[str, Any] = json.loads((HERE / "state").read_text())
    if not verb.startswith("print"):
        with (HERE / "calls").open("a") as calls:
            calls.write(" ".join((verb, target, *rest)) + "\n")
    code = answer(verb, target.split("/")[2:], rest, state)
    (HERE / "state").write_text(json.dumps(state))
    return code


def answer(verb: str, names: list[str], rest: tuple[str, ...], state: dict[str, Any]) -> int:
    loaded: dict[str, str] = state["loaded"]
    if verb == "print-disabled":
        print("\n".join(f'\t"{name}" => disabled' for name in state["disabled"]))
    elif verb == "print" and not names:
        return 0 if state["has_session"] else 125
    elif verb == "print":
        if names[0] not in loaded:
            return NOT_LOADED
        print(loaded[names[0]])
        if state["leaving"]:
            state["leaving"] -= 1
            if not state["leaving"]:
                del loaded[names[0]]
    elif verb == "bootout":
        state["leaving"] = 3
    elif verb == "bootstrap":
        label = Path(rest[0]).stem
        if label in loaded or state["refuses"]:
            print("Bootstrap failed: 5: Input/output error", file=sys.stderr)
            return 5
        loaded[label] = PRINTED
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
