"""serve.secret: made once, for this user alone."""

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from kasmos_plugin import paths
from kasmos_plugin.errors import KasmosError
from kasmos_plugin.serve.secret import preview_secret


def test_it_is_made_once_and_only_we_may_read_it() -> None:
    secret = preview_secret()
    path = paths.state_dir() / "preview-secret"
    assert preview_secret() == secret == path.read_text()
    assert len(secret) == 43
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [found.name for found in path.parent.iterdir()] == ["preview-secret"]


def test_all_who_make_it_at_once_get_the_same(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        made = set(pool.map(lambda _: preview_secret(tmp_path / "state"), range(32)))
    assert len(made) == 1


def test_one_that_others_could_read_is_replaced(tmp_path: Path) -> None:
    secret = preview_secret(tmp_path)
    (tmp_path / "preview-secret").chmod(0o644)
    assert preview_secret(tmp_path) != secret


@pytest.mark.parametrize("found", ["", "short", "x" * 44])
def test_what_is_no_secret_is_replaced(tmp_path: Path, found: str) -> None:
    path = tmp_path / "preview-secret"
    path.write_text(found)
    path.chmod(0o600)
    assert len(preview_secret(tmp_path)) == 43


def test_a_link_at_its_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("x" * 43)
    (tmp_path / "preview-secret").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(KasmosError, match="cannot be kept"):
        preview_secret(tmp_path)
