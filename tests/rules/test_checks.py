"""The lines of a doctor's list."""

from kasmos_plugin.contract.check import Check
from kasmos_plugin.errors import KasmosError
from kasmos_plugin.rules.checks import check, failed


def test_what_another_program_said_is_shown_without_its_escapes_and_in_one_line() -> None:
    assert check("store", "ok", "a\x1b[31mb\nc", "d\x07") == Check(
        name="store", state="ok", message="ab c", hint="d"
    )


def test_an_expected_failure_brings_its_own_words() -> None:
    error = KasmosError("It is gone.", hint="kas serve")
    assert failed("monitor", error) == Check(
        name="monitor", state="failed", message="It is gone.", hint="kas serve"
    )
