"""cli.serve: what `kas serve` takes, and what it must not drag into other commands."""

import subprocess
import sys

import pytest


def kas(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "kasmos_plugin", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(
    "arguments", [("--port", "abc"), ("--port", "-1"), ("--mcp-port", "65536"), ("more",)]
)
def test_a_port_that_is_none_is_wrong_usage(arguments: tuple[str, ...]) -> None:
    assert kas("serve", *arguments).returncode == 2


def test_its_help_shows_both_ports() -> None:
    shown = kas("serve", "--help")
    assert shown.returncode == 0
    for text in ("--port", "7433", "--mcp-port", "7434", "--json", "--db"):
        assert text in shown.stdout


def test_no_other_module_of_ours_imports_the_sdk() -> None:
    """The SDK costs seconds: only what `kas serve` imports when it starts may need it."""
    code = """
import importlib, pkgutil, sys
import kasmos_plugin
sdk = ("kasmos_plugin.serve.mcp_server", "kasmos_plugin.serve.fast_path")
for found in pkgutil.walk_packages(kasmos_plugin.__path__, "kasmos_plugin."):
    if found.name not in (*sdk, "kasmos_plugin.__main__"):
        importlib.import_module(found.name)
assert "mcp" not in sys.modules, "mcp is imported"
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
