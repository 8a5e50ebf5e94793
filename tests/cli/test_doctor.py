"""`kas doctor`: one table, one JSON object, and an exit code that says whether something failed."""

from pathlib import Path

import pytest

from tests.cli.conftest import Kas
from tests.test_ports import answering


@pytest.fixture(autouse=True)
def nobodys_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "codex"))
    monkeypatch.setenv("KASMOS_CODEX", "")


def test_a_failed_line_makes_the_exit_code_and_stands_in_both_forms(kas: Kas) -> None:
    with answering(b"{}") as port:
        told = kas("doctor", "--port", str(port), "--json")
        shown = kas("doctor", "--port", str(port))
    assert (told.code, shown.code, told.json["ok"]) == (1, 1, False)
    (line,) = [one for one in told.json["checks"] if one["name"] == "monitor"]
    assert (line["state"], set(line)) == ("failed", {"name", "state", "message", "hint"})
    assert "■ failed" in shown.out
    assert line["hint"].split(",")[0] in shown.out
    counts = dict.fromkeys(("ok", "warning", "failed"), 0)
    for one in told.json["checks"]:
        counts[one["state"]] += 1
    assert shown.out.rstrip().splitlines()[-1].startswith(f"{counts['ok']} ok, ")


def test_warnings_alone_are_no_failure(
    kas: Kas, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A stand-in for Codex: what it says is tried on the real one in e2e/codex."""
    binary = tmp_path / "codex-stand-in"
    binary.write_text(
        '#!/bin/sh\ncase "$1" in --version) echo codex-cli 0.171.0;; mcp) echo "[]";;'
        ' *) echo "apps stable true";; esac\n'
    )
    binary.chmod(0o755)
    (tmp_path / "codex").mkdir()
    monkeypatch.setenv("KASMOS_CODEX", str(binary))
    with answering(b'{"kasmos": "serve", "version": "0", "instance": "i"}') as port:
        told = kas("doctor", "--port", str(port), "--json")
    failed = [one for one in told.json["checks"] if one["state"] == "failed"]
    assert (failed, told.code, told.json["ok"]) == ([], 0, True)
    assert [one for one in told.json["checks"] if one["state"] == "warning"]
