"""What REST says of itself is what it does: schemathesis asks a real `kas serve` with a daemon."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from kasmos_plugin.store import Store, open_store
from tests.daemon.harness import RunningDaemon
from tests.serve.test_app import Server

HERE = Path(__file__).parent
PLAN = "**Goal:** sign in\n\n## Wave 1\n### Task 1: model\n## Wave 2\n### Task 1: form\n"


@pytest.fixture
def server(home: Path, store: Store, repo: Path) -> Iterator[Server]:
    """A server and a daemon over a store with a project and a task, whose names are short."""
    store.projects.add(repo, "0")
    with closing(open_store(store.path)) as of_now:
        of_now.tasks.create("0", "0", plan_text=PLAN)
    daemon = RunningDaemon(home).start()
    server = Server(home)
    yield server
    server.process.terminate()
    server.process.communicate(timeout=60)
    daemon.close()


def test_the_description_tells_what_is_accepted_refused_and_answered(
    server: Server, home: Path, tmp_path: Path
) -> None:
    token = (home / "state" / "api-token").read_text()
    done = subprocess.run(
        [
            *(sys.executable, "-m", "schemathesis.cli"),
            *("--config-file", str(HERE / "schemathesis.toml")),
            *("run", f"http://127.0.0.1:{server.port()}/v1/openapi.json"),
            *("--max-examples", "8", "--seed", "1", "--warnings", "off"),
            *("--header", f"Authorization: Bearer {token}"),
            # A change says so without a body as well, which a description cannot ask for.
            *("--header", "Content-Type: application/json"),
            "--continue-on-failure",
        ],
        cwd=tmp_path,
        env=os.environ | {"NO_COLOR": "1", "COLUMNS": "200"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout[-12_000:]
    assert "Tested: 22" in done.stdout
