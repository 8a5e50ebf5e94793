"""What is read from Codex's commands. The real ones run in e2e/codex."""

from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from kasmos_plugin.codex.client import (
    Codex,
    CodexFailed,
    CodexTooOld,
    command,
    is_too_old,
    marketplace_add,
    reason,
)
from kasmos_plugin.codex.home import CodexHome


def codex(tmp_path: Path, script: str) -> Codex:
    """Return a client whose binary is a shell script: what a broken installation may be."""
    binary = tmp_path / "codex"
    binary.write_text(f"#!/bin/sh\n{script}\n")
    binary.chmod(0o755)
    return Codex(binary=binary, home=CodexHome(path=tmp_path, told_by="--codex-home"))


COMPLAINT = """WARNING: proceeding, even though we could not create PATH aliases: no
Error: failed to load configuration

Caused by:
    0: /h/config.toml:1:10: unclosed table, expected `]`
    1: TOML parse error at line 1, column 10

Stack backtrace:
   0: <unknown>
"""


def test_the_reason_is_the_error_and_its_first_cause_without_warning_and_trace() -> None:
    assert reason(COMPLAINT) == (
        "failed to load configuration: /h/config.toml:1:10: unclosed table, expected `]`"
    )
    gone = "Error: failed to load:\n- `m` at /m: no manifest\n- `n` at /n: none\n\nStack backtrace:"
    assert reason(gone) == "failed to load: `m` at /m: no manifest"
    assert reason("") == "it gave no reason"
    assert reason("sh: codex: broken\n") == "sh: codex: broken"


def test_versions_are_compared_as_numbers() -> None:
    assert is_too_old("0.9.0")
    assert is_too_old("0.137.9")
    assert not is_too_old("0.138.0")
    assert not is_too_old("1.0.0")
    assert not is_too_old("dev")


def test_an_old_codex_is_told_by_its_path_and_with_the_way_to_a_newer_one(tmp_path: Path) -> None:
    old = codex(tmp_path, "echo codex-cli 0.137.9")
    with pytest.raises(CodexTooOld) as caught:
        old.new_enough_version()
    assert caught.value.message == (
        f"Codex 0.137.9 at '{old.binary}' is too old for plugins; 0.138 or newer works."
    )
    assert caught.value.hint == "npm install -g @openai/codex@latest"
    assert codex(tmp_path, "echo codex-cli 0.138.0").new_enough_version() == "0.138.0"


def test_a_command_can_be_typed_as_it_is_shown() -> None:
    assert command(*marketplace_add(Path("/a b/c"))) == "codex plugin marketplace add '/a b/c'"


@pytest.mark.parametrize("told", ["", "[]", "{", '{"installed": 3}', '{"installed": [{}]}'])
def test_what_cannot_be_read_is_never_taken_for_nothing_installed(
    told: str, tmp_path: Path
) -> None:
    """Fault A12: absent and unreadable differ."""
    with pytest.raises(CodexFailed, match="cannot read"):
        codex(tmp_path, f"echo '{told}'").plugins()


def test_a_refusal_is_told_with_its_reason_and_the_command(tmp_path: Path) -> None:
    with pytest.raises(CodexFailed) as caught:
        codex(tmp_path, "echo 'Error: \\033[31mno' >&2; exit 3").servers()
    assert caught.value.message == "'codex mcp list --json' failed: no"
    assert caught.value.hint == "codex mcp list --json"


def test_warnings_on_standard_error_do_not_spoil_the_answer(tmp_path: Path) -> None:
    client = codex(tmp_path, "echo WARNING: x >&2; echo codex-cli 0.171.0")
    assert client.version() == "0.171.0"


def test_a_binary_that_is_none_is_told_by_its_path(tmp_path: Path) -> None:
    client = codex(tmp_path, "")
    client.binary.write_bytes(b"\x00\x01")
    with pytest.raises(CodexFailed, match="codex"):
        client.version()
    client.binary.unlink()
    with pytest.raises(CodexFailed, match="No such file"):
        client.version()


def test_the_home_is_told_to_codex(tmp_path: Path) -> None:
    client = codex(
        tmp_path, 'echo "1.2.3 $CODEX_HOME" > "$CODEX_HOME/said"; cat "$CODEX_HOME/said"'
    )
    assert client.version() == "1.2.3"
    assert (tmp_path / "said").read_text() == f"1.2.3 {tmp_path}\n"


def test_what_a_client_has_started_ends_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """npm's `codex` starts the real one: that must not write on when nobody waits any more."""
    monkeypatch.setattr("kasmos_plugin.codex.client.WITHIN_S", 0.5)
    hanging = codex(
        tmp_path, "sleep 600 &\necho $! > started\nwait".replace("> ", f"> {tmp_path}/")
    )
    with pytest.raises(CodexFailed, match=r"no answer within 0\.5 s"):
        hanging.add_plugin()
    child = int((tmp_path / "started").read_text())
    with suppress(psutil.NoSuchProcess):
        psutil.Process(child).wait(timeout=30)
    assert not psutil.pid_exists(child)
