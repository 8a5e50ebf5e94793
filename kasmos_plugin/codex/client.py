"""Codex's own commands, run as a person would run them, with their JSON read. Decides nothing.

`codex mcp add` and `codex mcp remove` are never called: they strip comments and unknown keys from
every server of the user.
"""

import json
import os
import re
import shlex
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from kasmos_plugin.codex.home import CodexHome, find_binary
from kasmos_plugin.errors import KasmosError
from kasmos_plugin.rules.text import clean

MARKETPLACE = "kasmos"
PLUGIN = "kasmos"
PLUGIN_ID = f"{PLUGIN}@{MARKETPLACE}"
SERVER = "kasmos"
"""The name of our MCP server in the plugin's `.mcp.json`."""

INSTALL_CODEX = "npm install -g @openai/codex"
PLUGIN_ADD = ("plugin", "add", PLUGIN_ID)
PLUGIN_REMOVE = ("plugin", "remove", PLUGIN_ID)
MARKETPLACE_REMOVE = ("plugin", "marketplace", "remove", MARKETPLACE)

OLDEST = (0, 138)
"""The first version whose plugin commands speak JSON; seen by running them."""

WITHIN_S = 60.0
"""A command takes 0.1 s; the first one of a cold disk has 300 MB to read."""

_VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)")
_Parsed = TypeVar("_Parsed")


class CodexFailed(KasmosError):
    """A command of Codex failed, took too long, or said what cannot be read."""

    code = "codex_failed"

    def __init__(self, arguments: Sequence[str], why: str) -> None:
        told = command(*arguments)
        super().__init__(f"'{told}' failed: {clean(why, 400)}", hint=told)


class CodexMissing(KasmosError):
    """No `codex` is on the PATH; the plugin can still be put in by hand, where there is one."""

    code = "codex_missing"

    def __init__(self, root: Path) -> None:
        super().__init__(
            "Codex was not found: there is no 'codex' on the PATH.\n"
            "Where it is installed, these two commands put the plugin in:\n"
            f"  {command(*marketplace_add(root))}\n"
            f"  {command(*PLUGIN_ADD)}",
            hint=f"{INSTALL_CODEX}, or set KASMOS_CODEX to its path",
        )


class CodexTooOld(KasmosError):
    """A Codex from before `OLDEST`."""

    code = "codex_too_old"

    def __init__(self, version: str, binary: Path) -> None:
        oldest = ".".join(map(str, OLDEST))
        super().__init__(
            f"Codex {version} at '{binary}' is too old for plugins; {oldest} or newer works.",
            hint=f"{INSTALL_CODEX}@latest",
        )


class _Told(BaseModel):
    """Part of what Codex says; what it says beyond is left alone."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class Plugin(_Told):
    """One plugin that is installed."""

    id: str = Field(alias="pluginId")
    version: str | None = None


class Server(_Told):
    """One MCP server, of the user or of a plugin."""

    name: str
    enabled: bool
    transport: dict[str, object] = {}

    @property
    def url(self) -> str:
        """Its address; empty for a server that is a command."""
        return str(self.transport.get("url") or "")


class _Plugins(_Told):
    installed: tuple[Plugin, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Codex:
    """A Codex binary together with the home that it shall use."""

    binary: Path
    home: CodexHome

    def version(self) -> str:
        """Return the version in words, such as `0.171.0`.

        Raises:
            CodexFailed: it cannot be run, or names none.
        """
        told = self._run("--version")
        if (found := _VERSION.search(told)) is None:
            raise CodexFailed(["--version"], f"it said '{clean(told, 80)}'")
        return found[0]

    def new_enough_version(self) -> str:
        """Return the version in words, of a Codex that knows plugins.

        Raises:
            CodexFailed: it cannot be run, or names none.
            CodexTooOld: it is from before `OLDEST`.
        """
        version = self.version()
        if is_too_old(version):
            raise CodexTooOld(version, self.binary)
        return version

    def plugins(self) -> tuple[Plugin, ...]:
        """Return every installed plugin.

        Raises:
            CodexFailed: it cannot tell: a broken configuration, or a marketplace whose folder went.
        """
        return self._ask(_Plugins, "plugin", "list").installed

    def servers(self) -> tuple[Server, ...]:
        """Return every MCP server that a new thread would get.

        Raises:
            CodexFailed: it cannot tell.
        """
        return self._ask(tuple[Server, ...], "mcp", "list")

    def features(self) -> Mapping[str, bool]:
        """Return every feature with its effective value.

        Raises:
            CodexFailed: it cannot tell.
        """
        rows = (line.split() for line in self._run("features", "list").splitlines())
        return {row[0]: row[-1] == "true" for row in rows if len(row) > 1}

    def add_marketplace(self, root: Path) -> None:
        """Register `root`, an absolute directory that stays.

        Raises:
            CodexFailed: Codex refused.
        """
        self._run(*marketplace_add(root), "--json")

    def add_plugin(self) -> None:
        """Copy our plugin into Codex and enable it; once more renews the copy.

        Raises:
            CodexFailed: Codex refused.
        """
        self._run(*PLUGIN_ADD, "--json")

    def remove_plugin(self) -> None:
        """Take our plugin out, with the user's settings of it.

        Raises:
            CodexFailed: Codex refused.
        """
        self._run(*PLUGIN_REMOVE, "--json")

    def remove_marketplace(self) -> None:
        """Forget our marketplace; the plugin must be out before.

        Raises:
            CodexFailed: Codex refused.
        """
        self._run(*MARKETPLACE_REMOVE, "--json")

    def _ask(self, shape: type[_Parsed], *arguments: str) -> _Parsed:
        told = self._run(*arguments, "--json")
        try:
            return TypeAdapter(shape).validate_python(json.loads(told))
        except (ValueError, ValidationError, RecursionError) as error:
            raise CodexFailed(arguments, f"it said what kasmos cannot read: {error}") from None

    def _run(self, *arguments: str) -> str:
        """Return what a command printed; its warnings on standard error are left out."""
        try:
            process = subprocess.Popen(
                [str(self.binary), *arguments],
                env=os.environ | {"CODEX_HOME": str(self.home.path)},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            raise CodexFailed(arguments, f"{self.binary}: {error.strerror}") from error
        with process:
            try:
                output, complaint = process.communicate(timeout=WITHIN_S)
            except BaseException as error:
                # npm's `codex` starts the real one, which must not write on after we gave up.
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                if isinstance(error, subprocess.TimeoutExpired):
                    raise CodexFailed(arguments, f"no answer within {WITHIN_S:g} s") from None
                raise
        if process.returncode:
            raise CodexFailed(arguments, reason(complaint.decode("utf-8", "replace")))
        return output.decode("utf-8", "replace")


def find_codex(home: CodexHome) -> Codex | None:
    """Return the Codex of this user with a home, or None where there is none.

    Raises:
        BadArgument: `KASMOS_CODEX` names nothing that can be run.
    """
    binary = find_binary()
    return Codex(binary=binary, home=home) if binary is not None else None


def marketplace_add(root: Path) -> tuple[str, ...]:
    """Return the arguments that register `root`."""
    return ("plugin", "marketplace", "add", str(root))


def command(*arguments: str) -> str:
    """Return a command of Codex as a person types it."""
    return shlex.join(["codex", *arguments])


def take_out() -> str:
    """Return the commands that take our plugin out, in the one order that works."""
    return f"{command(*PLUGIN_REMOVE)} && {command(*MARKETPLACE_REMOVE)}"


def is_too_old(version: str) -> bool:
    """Return whether `version` is from before `OLDEST`."""
    found = _VERSION.search(version)
    return found is not None and (int(found[1]), int(found[2])) < OLDEST


def reason(complaint: str) -> str:
    """Return what Codex gave as the reason: its `Error:` line, first cause and item."""
    lines = [line.strip() for line in complaint.partition("Stack backtrace:")[0].splitlines()]
    told = [line for line in lines if line and not line.startswith("WARNING:")]
    items = [line.removeprefix("- ") for line in told if line.startswith("- ")]
    errors = [line.removeprefix("Error: ") for line in told if line.startswith("Error: ")]
    causes = [line.partition(": ")[2] for line in told if re.match(r"0: ", line)]
    return (
        ": ".join(one.removesuffix(":") for one in (errors[:1] + causes[:1] + items[:1]))
        or " ".join(told)
        or "it gave no reason"
    )
