"""Puts our plugin into Codex, step by step; a step that fails undoes those before it."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from kasmos_plugin import ports
from kasmos_plugin.codex import config_file, config_write, plugin
from kasmos_plugin.codex.client import (
    PLUGIN_ADD,
    PLUGIN_ID,
    SERVER,
    Codex,
    command,
    marketplace_add,
)
from kasmos_plugin.codex.config_file import ConfigFile
from kasmos_plugin.codex.edits import Edit, between
from kasmos_plugin.codex.features import turn_apps_on
from kasmos_plugin.codex.kept import keeping, put_back, remove_if_empty, turn_apps_back
from kasmos_plugin.codex.place import Record
from kasmos_plugin.codex.plan import (
    SHADOW,
    Plan,
    has_shadow,
    how_to_switch_on,
    refuse_stranger,
)
from kasmos_plugin.codex.recovery import unsettled
from kasmos_plugin.codex.tables import MARKETPLACE_TABLE, PLUGIN_TABLE, TablePath, table
from kasmos_plugin.errors import KasmosError
from kasmos_plugin.summary import plural

APPS = "apps"
"""The name of the edit that turned apps on."""


@dataclass(frozen=True, kw_only=True)
class Step:
    """One step as it happened."""

    name: str
    state: Literal["done", "same", "warning", "undone"]
    message: str
    hint: str = ""


Tell = Callable[[Step], None]


def install(codex: Codex, plan: Plan, tell: Tell) -> None:
    """Carry out a plan; `tell` hears of each step once it is done.

    Raises:
        KasmosError: a step failed; what was done before it is undone, or the message says what not.
    """
    work = _Work(codex=codex, plan=plan, tell=tell)
    with plan.place.alone(), work.undone_on_failure():
        work.make_home()
        work.copy()
        work.add_marketplace()
        work.add_plugin()
        work.turn_apps_on()
        work.verify()
        work.ask_server()
    work.finish()


@dataclass(kw_only=True)
class _Work:
    """One installation at work: what it has done, and how to undo it."""

    codex: Codex
    plan: Plan
    tell: Tell
    undo: list[Callable[[], object]] = field(default_factory=list)

    def __post_init__(self) -> None:
        plan = self.plan
        self.before = plan.place.record()
        self.record = self.before or Record(
            home=str(self.codex.home.path), port=plan.port, made_config=plan.config.content is None
        )
        self.old: list[Path] = []

    @contextmanager
    def undone_on_failure(self) -> Iterator[None]:
        """Undo every step, the last first, when one fails or a person breaks off."""
        try:
            yield
        except BaseException as error:
            left = [why for step in reversed(self.undo) if (why := _failure(step))]
            if self.undo and not left:
                self._say("undo", "undone", "everything is as it was before")
            if left and isinstance(error, KasmosError):
                raise KasmosError(
                    f"{error.message}\nnot undone: {'; '.join(left)}", hint=error.hint
                ) from error
            raise

    def make_home(self) -> None:
        """Make Codex's home where there is none: Codex refuses a named one that is missing."""
        home = self.codex.home.path
        if home.is_dir():
            return
        try:
            home.mkdir(mode=0o700, parents=True)
        except OSError as error:
            raise KasmosError(
                f"'{home}' cannot be made: {error.strerror}.", hint="--codex-home DIR"
            ) from error
        self.undo.append(lambda: remove_if_empty(home))
        self._say("home", "done", f"made '{home}'")

    def copy(self) -> None:
        """Bring our folder up to date."""
        top = self.plan.place.marketplace
        self.undo.append(lambda: put_back(self.codex.home, self.plan.config))
        if self.plan.predicted != self.plan.config.text:
            config_write.back_up(self.plan.config)
        if not self.plan.copies:
            self._say("copy", "same", f"'{top}' is up to date")
            return
        if (before := self.before) is None:
            self.undo.append(self.plan.place.remove)
        else:
            self.undo.append(lambda: self.plan.place.write_down(before))
            if self._is_installed() and self.plan.adds_plugin:
                # Once the old folder is back, Codex takes its old copy from there.
                self.undo.append(lambda: self._keeping(self.codex.add_plugin))
        old = plugin.write(plugin.marketplace(self.plan.port), top)
        self.undo.append(lambda: plugin.put_back(old, top))
        self.old += [old] if old is not None else []
        self._write_down(port=self.plan.port)
        self._say("copy", "done", f"{plural(len(self.plan.copies), 'file')} to '{top}'")

    def add_marketplace(self) -> None:
        """Register our folder."""
        root = self.plan.place.marketplace
        if not self.plan.adds_marketplace:
            self._say("marketplace", "same", "is registered")
            return
        self.undo.append(lambda: self._take_out(MARKETPLACE_TABLE, self.codex.remove_marketplace))
        self._note(MARKETPLACE_TABLE[0], self._keeping(lambda: self.codex.add_marketplace(root)))
        self._say("marketplace", "done", command(*marketplace_add(root)))

    def add_plugin(self) -> None:
        """Have Codex copy the plugin."""
        if not self.plan.adds_plugin:
            self._say("plugin", "same", "is installed")
            return
        if not self._is_installed():
            self.undo.append(lambda: self._take_out(PLUGIN_TABLE, self.codex.remove_plugin))
        self._note(PLUGIN_TABLE[0], self._keeping(self.codex.add_plugin))
        self._say("plugin", "done", command(*PLUGIN_ADD))

    def turn_apps_on(self) -> None:
        """Turn apps on, where the plan says so."""
        if not self.plan.turns_apps_on:
            return
        config = self.codex.home.config

        def turned_on(text: str) -> str:
            return turn_apps_on(text, name=str(config))

        text = config_file.read(config).text
        edit = between(text, turned_on(text))
        # Written down first: one that is killed in between must not leave apps on for good.
        self._note(APPS, edit)
        self.undo.append(lambda: turn_apps_back(self.codex.home, edit))
        config_write.change(config, turned_on)
        self._say("apps", "done", f"turned on in '{config}'")

    def verify(self) -> None:
        """Make sure that Codex tells of the plugin and of its server as they shall be.

        Raises:
            KasmosError: it does not.
        """
        found = next((one for one in self.codex.plugins() if one.id == PLUGIN_ID), None)
        if found is None:
            raise KasmosError("Codex does not list the plugin.", hint="codex plugin list")
        if self.plan.keeps_off:
            message = "the plugin is switched off, and stays so"
            self._say("check", "warning", message, how_to_switch_on(self.codex.home.config))
            return
        text = config_file.read(self.codex.home.config).text
        if has_shadow(text):
            self._say("check", "warning", SHADOW, f"remove it from '{self.codex.home.config}'")
            return
        url = plugin.url(self.plan.port)
        if not any(one.name == SERVER and one.url == url for one in self.codex.servers()):
            raise KasmosError(
                f"Codex does not list the server '{SERVER}' at {url}.", hint="codex mcp list"
            )
        self._say("check", "done", f"Codex lists {PLUGIN_ID} {found.version} and {url}")

    def ask_server(self) -> None:
        """Open an MCP session as Codex will; a server that is not there is a warning.

        Raises:
            Stranger: another program answers.
        """
        port = self.plan.port
        refuse_stranger(port)
        if (name := ports.mcp_server(port, within_s=5)) is not None:
            self._say("server", "done", f"{name} answers at {plugin.url(port)}")
            return
        message = f"nothing answers at {plugin.url(port)} yet"
        hint = ports.how_to_serve(port, "--mcp-port")
        if ports.is_held(port):
            message = f"kas serve has no MCP on port {port}: is it the port of the page?"
            hint = "kas integrations codex install --mcp-port PORT, as kas serve prints it for mcp"
        self._say("server", "warning", message, hint)

    def finish(self) -> None:
        """Remove what was kept for undoing."""
        for old in self.old:
            shutil.rmtree(old, ignore_errors=True)

    def _is_installed(self) -> bool:
        """Return whether the plugin was there before."""
        return table(self.plan.config.text, PLUGIN_TABLE) is not None

    def _keeping(self, run: Callable[[], None]) -> Edit | None:
        keeps_off = self.plan.keeps_off

        def journal(file: ConfigFile | None) -> None:
            self._write_down(unsettled=unsettled(file, keeps_off=keeps_off))

        undo = self.record.undo
        return keeping(self.codex.home, run, undo=undo, keeps_off=keeps_off, journal=journal)

    def _take_out(self, path: TablePath, run: Callable[[], None]) -> None:
        """Undo a step that may have been broken off before Codex did anything."""
        if table(config_file.read(self.codex.home.config).text, path) is not None:
            self._keeping(run)

    def _note(self, name: str, edit: Edit | None) -> None:
        if edit is not None:
            self._write_down(edits={**self.record.edits, name: edit})

    def _write_down(self, **changed: object) -> None:
        self.record = self.record.model_copy(update=changed)
        self.plan.place.write_down(self.record)

    def _say(
        self,
        name: str,
        state: Literal["done", "same", "warning", "undone"],
        message: str,
        hint: str = "",
    ) -> None:
        self.tell(Step(name=name, state=state, message=message, hint=hint))


def _failure(step: Callable[[], object]) -> str:
    """Return why a step of the way back failed, empty when it did not."""
    try:
        step()
    except KasmosError as error:
        return error.message
    except OSError as error:
        return str(error)
    return ""
