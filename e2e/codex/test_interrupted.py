"""An installation that is broken off, or killed, at each command of Codex: no byte is lost."""

import signal
import time
from pathlib import Path

import pytest

from e2e.codex.client import BIN
from e2e.codex.kas import Kas
from e2e.codex.test_installer import CONFIGS, looks

INSTALLING = ("plugin marketplace add", "plugin add kasmos@kasmos")
UNINSTALLING = ("plugin remove kasmos@kasmos", "plugin marketplace remove")
MINE = CONFIGS["byte order mark"]
MOMENTS = ("before", "after")
"""When the signal comes: before Codex has written, or after; it goes on when kas is dead."""


@pytest.mark.parametrize(
    ("at", "moment", "number"),
    [
        (INSTALLING[0], "before", signal.SIGINT),
        (INSTALLING[0], "after", signal.SIGTERM),
        (INSTALLING[1], "before", signal.SIGHUP),
        (INSTALLING[1], "after", signal.SIGINT),
    ],
)
def test_breaking_off_an_installation_undoes_it(
    kas: Kas, free_port: int, tmp_path: Path, moment: str, number: signal.Signals, at: str
) -> None:
    codex = kas.codex
    codex.config.write_bytes(MINE)
    codex.config.chmod(0o644)
    door = Door(tmp_path, at, moment, number)
    kas.install("--mcp-port", str(free_port), code=130, **door.environment)
    assert looks(codex) == (MINE, 0o644)
    assert codex.json("plugin", "list")["installed"] == []
    assert codex.json("plugin", "marketplace", "list")["marketplaces"] == []
    assert not kas.marketplace.exists()


@pytest.mark.parametrize("follows", ["install", "uninstall"])
@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("at", INSTALLING)
def test_what_a_killed_installation_left_is_put_in_order_by_the_next_command(
    kas: Kas, free_port: int, tmp_path: Path, at: str, moment: str, follows: str
) -> None:
    codex = kas.codex
    codex.config.write_bytes(MINE)
    codex.config.chmod(0o644)
    door = Door(tmp_path, at, moment, signal.SIGKILL)
    kas.install(
        "--mcp-port", str(free_port), "--enable-apps", code=-signal.SIGKILL, **door.environment
    )
    door.wait()
    assert kas.status().check("installation")["state"] == "warning"
    if follows == "install":
        kas.install()
        assert codex.config.read_bytes().startswith(MINE), "the user's bytes are back"
        assert all(one["name"] != "installation" for one in kas.status().json["checks"])
    kas.uninstall()
    assert looks(codex) == (MINE, 0o644)
    assert codex.json("plugin", "list")["installed"] == []
    assert not kas.marketplace.parent.exists()
    assert [path.name for path in codex.home.iterdir() if "config" in path.name] == ["config.toml"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("at", UNINSTALLING)
def test_uninstalling_goes_on_where_it_was_broken_off(
    kas: Kas, free_port: int, tmp_path: Path, at: str, moment: str, number: signal.Signals
) -> None:
    codex = kas.codex
    codex.config.write_bytes(MINE)
    kas.install("--mcp-port", str(free_port))
    door = Door(tmp_path, at, moment, number)
    said = kas("integrations", "codex", "uninstall", **door.environment)
    assert said.code == (130 if number == signal.SIGTERM else -number)
    door.wait()
    kas.uninstall()
    assert codex.config.read_bytes() == MINE
    assert codex.json("plugin", "list")["installed"] == []
    assert codex.json("plugin", "marketplace", "list")["marketplaces"] == []
    assert not kas.marketplace.parent.exists()


class Door:
    """The real client behind a door that sends kas a signal at one command, once."""

    def __init__(self, directory: Path, at: str, moment: str, number: signal.Signals) -> None:
        self.ended = directory / "ended" if number == signal.SIGKILL else None
        door = directory / "codex-door"
        door.write_text(DOOR)
        door.chmod(0o755)
        self.environment = {
            "KASMOS_CODEX": str(door),
            "REAL_CODEX": str(BIN / "codex"),
            "AT": at,
            "MOMENT": moment,
            "SIGNAL": number.name.removeprefix("SIG"),
            "ONCE": str(directory / "once"),
            "ENDED": str(directory / "ended"),
        }

    def wait(self) -> None:
        """Wait until Codex, which outlives a killed kas, has ended."""
        for _ in range(600):
            if self.ended is None or self.ended.exists():
                return
            time.sleep(0.05)
        raise AssertionError("the client did not end")


DOOR = """#!/bin/sh
case "$*" in
  "$AT"*) [ -e "$ONCE" ] && exec "$REAL_CODEX" "$@" ;;
  *) exec "$REAL_CODEX" "$@" ;;
esac
: > "$ONCE"
hit() {
  kill -s "$SIGNAL" "$PPID"
  # One that breaks off ends this door as well; a dead one lets it go on.
  [ "$SIGNAL" = KILL ] || sleep 60
}
[ "$MOMENT" = before ] && hit
"$REAL_CODEX" "$@"
[ "$MOMENT" = after ] && hit
: > "$ENDED"
"""
