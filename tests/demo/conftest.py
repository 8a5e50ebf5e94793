"""The demo's tests use what the command line's tests share."""

from tests.cli.conftest import cli_store, daemon, demo_project, task

__all__ = ["cli_store", "daemon", "demo_project", "task"]
