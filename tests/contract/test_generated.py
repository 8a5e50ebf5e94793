"""What is generated from the models is what the models say."""

import json
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

from kasmos_plugin.contract.live_status import LiveStatus

ROOT = Path(__file__).resolve().parents[2]
FIXTURES = sorted((ROOT / "web/src/contract/fixtures").glob("*.json"))


def test_schema_types_and_fixtures_are_what_the_models_say() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts/gen-contract"), "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.stem)
def test_the_published_schema_and_the_models_read_every_fixture(path: Path) -> None:
    schema = json.loads((ROOT / "kasmos_plugin/contract/live_status.schema.json").read_text())
    text = path.read_text(encoding="utf-8")
    jsonschema.Draft202012Validator(schema).validate(json.loads(text))
    assert json.loads(LiveStatus.model_validate_json(text).model_dump_json()) == json.loads(text)
