"""Runs what changes Codex's configuration, and keeps what the user wrote there.

journal ──> Codex's command ──> settle: its change onto the user's bytes ──> journal cleared
                  │                ^
                  └── killed ──────┴── by the next command of ours, from the journal
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from kasmos_plugin.codex import config_file, config_write
from kasmos_plugin.codex.config_file import ConfigFile
from kasmos_plugin.codex.edits import Edit, between, takings_back
from kasmos_plugin.codex.features import turn_apps_on
from kasmos_plugin.codex.home import CodexHome
from kasmos_plugin.codex.tables import PLUGIN_TABLE, TablePath, carry, means_same, put, table
from kasmos_plugin.codex.toml_text import ConfigProblem

_ATTEMPTS = 5


def keeping(
    home: CodexHome,
    run: Callable[[], None],
    *,
    undo: Mapping[TablePath, Edit],
    keeps_off: bool = False,
    journal: Callable[[ConfigFile | None], None] = lambda _: None,
) -> Edit | None:
    """Run a command of Codex and put what it changed in our tables onto the user's own bytes.

    `keeps_off` leaves the plugin's table as the user has it: adding a plugin again would enable it.
    `journal` is told the file before the command, and None once all is settled: also when the
    command fails or a person breaks it off. Returns the edit that remains in the file; None for
    none.

    Raises:
        KasmosError: the command failed.
        ConfigProblem: the configuration cannot be read or written.
    """
    before = config_file.read(home.config)
    journal(before)
    try:
        run()
    except BaseException:
        settle(home, before, undo=undo, keeps_off=keeps_off)
        journal(None)
        raise
    edit = settle(home, before, undo=undo, keeps_off=keeps_off)
    journal(None)
    return edit


def settle(
    home: CodexHome, before: ConfigFile, *, undo: Mapping[TablePath, Edit], keeps_off: bool = False
) -> Edit | None:
    """Put what has changed in our tables since `before` onto its bytes; return that edit.

    Where something else changed as well, or nothing else will do, the text stays as it is.

    Raises:
        ConfigProblem: the configuration cannot be read or written.
    """
    for _ in range(_ATTEMPTS):
        after = config_file.read(home.config)
        old, new = before.text, after.text
        if keeps_off:
            new = put(new, PLUGIN_TABLE, table(old, PLUGIN_TABLE)) or new
        if before.content is None:
            return between(old, new)
        text = carry(old, new, undo=undo) or new
        wanted = replace(before, content=text.encode())
        if config_write.restore(home.config, wanted, seen=after):
            return between(old, text)
    raise ConfigProblem(
        f"'{home.config}' was changed by another program again and again.",
        hint="close the program that changes it, and try again",
    )


def put_back(home: CodexHome, before: ConfigFile) -> None:
    """Put the bytes and the mode of `before` back, if the file still has the same values.

    Raises:
        ConfigProblem: the file cannot be read or written.
    """
    now = config_file.read(home.config)
    was_there = before.content is not None
    is_same = means_same(now.text, before.text) if was_there else not now.text.strip()
    if is_same:
        config_write.restore(home.config, before, seen=now)


def turn_apps_back(home: CodexHome, edit: Edit | None) -> bool:
    """Take back that apps were turned on; return whether it was, False when the lines changed.

    Raises:
        ConfigProblem: the configuration cannot be read or written.
    """

    def back(text: str) -> str:
        # Exactly the text that turning on would make of it: nothing else is in the edit.
        ways = (old for old in takings_back(text, edit) if _turns_into(old, text))
        return next(ways, text)

    return config_write.change(home.config, back) is not None


def _turns_into(old: str, text: str) -> bool:
    try:
        return turn_apps_on(old) == text
    except ConfigProblem:
        return False


def remove_if_empty(directory: Path) -> None:
    """Remove a directory that has nothing in it."""
    with suppress(OSError):
        directory.rmdir()
