"""`kas` beside one Codex, and what it said."""

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from e2e.codex.client import Codex


@dataclass(frozen=True)
class Said:
    """What `kas` printed, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    def step(self, name: str) -> dict[str, str]:
        """Return one step of an installation."""
        (found,) = [one for one in self.json["steps"] if one["name"] == name]
        step: dict[str, str] = found
        return step

    def check(self, name: str) -> dict[str, str]:
        """Return one line of a status."""
        (found,) = [one for one in self.json["checks"] if one["name"] == name]
        check: dict[str, str] = found
        return check


@dataclass(frozen=True)
class Kas:
    """`kas` beside one Codex, with a home of its own."""

    codex: Codex
    home: Path

    def __call__(self, *arguments: str, **environment: str) -> Said:
        done = subprocess.run(
            [sys.executable, "-P", "-m", "kasmos_plugin", *arguments],
            env=self.codex.env | {"KASMOS_HOME": str(self.home)} | environment,
            cwd=self.codex.work,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
        )
        return Said(done.returncode, done.stdout, done.stderr)

    def install(self, *options: str, code: int = 0, **environment: str) -> Said:
        said = self("integrations", "codex", "install", "--json", *options, **environment)
        assert said.code == code, said
        return said

    def uninstall(self, *options: str) -> Said:
        said = self("integrations", "codex", "uninstall", "--json", *options)
        assert said.code == 0, said
        return said

    def status(self) -> Said:
        return self("integrations", "codex", "status", "--json")

    @property
    def marketplace(self) -> Path:
        return self.home / "data" / "codex" / "default" / "marketplace"
