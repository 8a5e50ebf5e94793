"""Goes on where an installation was killed: what it left unsettled is put in order first."""

from dataclasses import replace

from kasmos_plugin.codex import config_file, config_write
from kasmos_plugin.codex.config_file import ConfigFile
from kasmos_plugin.codex.home import CodexHome
from kasmos_plugin.codex.kept import settle
from kasmos_plugin.codex.place import Place, Record, Unsettled, place_of
from kasmos_plugin.codex.tables import OURS, table
from kasmos_plugin.codex.toml_text import ConfigProblem, parse


def unsettled(file: ConfigFile | None, *, keeps_off: bool = False) -> Unsettled | None:
    """Return what a record keeps of a configuration while Codex may rewrite it."""
    if file is None:
        return None
    text = None if file.content is None else file.text
    return Unsettled(text=text, mode=file.mode, keeps_off=keeps_off)


def is_broken_off(place: Place) -> bool:
    """Return whether a command that changes the configuration was killed, or is at work now."""
    record = place.record()
    return record is not None and record.unsettled is not None


def recover_alone(home: CodexHome) -> None:
    """Do what `recover` does where there is anything of ours.

    Raises:
        Conflict: another installation is at work.
        KasmosError: as `recover`.
    """
    place = place_of(home)
    if place.path.is_dir():
        with place.alone():
            recover(home, place)


def recover(home: CodexHome, place: Place) -> Record | None:
    """Put in order what a killed command left behind; return the record afterwards.

    The user's bytes come back, with the tables that Codex has put in meanwhile. Only inside
    `place.alone`.

    Raises:
        KasmosError: the record or the folder cannot be written.
        ConfigProblem: the configuration cannot be read or written.
    """
    place.sweep()
    record = place.record()
    if record is None or (was := record.unsettled) is None:
        return record
    config_write.sweep(home.config)
    now = config_file.read(home.config)
    content = None if was.text is None else was.text.encode()
    before = replace(now, content=content, mode=was.mode)
    edits = dict(record.edits)
    # What is no TOML was never written by Codex: there is nothing to settle.
    edit = (
        settle(home, before, undo=record.undo, keeps_off=was.keeps_off) if _is_toml(was) else None
    )
    if edit is not None:
        after = config_file.read(home.config).text
        for path in OURS:
            if table(before.text, path) is None and table(after, path) is not None:
                edits[path[0]] = edit
    record = record.model_copy(update={"edits": edits, "unsettled": None})
    place.write_down(record)
    return record


def _is_toml(was: Unsettled) -> bool:
    try:
        parse(was.text or "", name="config.toml")
    except ConfigProblem:
        return False
    return True
