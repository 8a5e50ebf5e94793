"""What the doctor says of a healthy kasmos, of none, and of each thing that is wrong."""

import os
import socket
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from kasmos_plugin import paths
from kasmos_plugin.codex.home import CodexHome
from kasmos_plugin.contract.check import Check
from kasmos_plugin.doctor import PROXIES, examine
from kasmos_plugin.store import Store
from kasmos_plugin.store.database import SCHEMA_VERSION
from tests.test_ports import answering


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*PROXIES, "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture
def look(tmp_path: Path, free_port: int) -> "Look":
    return Look(tmp_path, free_port)


class Look:
    """Runs every check in a temporary home, without Codex."""

    def __init__(self, root: Path, port: int) -> None:
        self.root, self.port = root, port
        self.cwd = root

    def __call__(self, name: str, *, port: int | None = None) -> Check:
        checks = examine(
            home=CodexHome(path=self.root / ".codex", told_by="--codex-home"),
            codex=None,
            database=paths.database(),
            monitor_port=port or self.port,
            cwd=self.cwd,
        )
        assert len({check.name for check in checks}) == len(checks), "names are keys"
        (found,) = [check for check in checks if check.name == name]
        assert found.state == "ok" or found.hint or found.name == "plugin server"
        return found


@pytest.fixture
def free_port() -> int:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        port: int = bound.getsockname()[1]
        return port


def test_a_new_home_is_no_failure_but_says_what_is_missing(look: Look) -> None:
    assert look("store").state == "warning"
    assert look("daemon").state == "warning"
    assert "unknown" in look("daemon").message
    assert look("monitor").state == "warning"
    assert not paths.database().exists()


def test_a_healthy_store_is_told_with_schema_and_log(look: Look, store: Store) -> None:
    found = look("store")
    assert found.state == "ok"
    assert f"schema {SCHEMA_VERSION}" in found.message
    assert "intact" in found.message


def test_a_damaged_or_newer_store_has_failed(look: Look, store: Store) -> None:
    """Faults B3, B4."""
    path = store.path
    store.close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 999")
    assert (look("store").state, "999" in look("store").message) == ("failed", True)
    path.write_bytes(b"no database at all, by far" * 400)
    assert look("store").state == "failed"


def test_a_read_only_store_is_a_warning(
    look: Look, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = store.path
    store.close()
    path.chmod(0o400)
    # Root may write anything: what another user would see is asked of the mode alone.
    real = os.access
    monkeypatch.setattr(
        "kasmos_plugin.store.inspection.os.access",
        lambda asked, mode: not (asked == path and mode == os.W_OK) and real(asked, mode),
    )
    found = look("store")
    assert (found.state, found.hint) == ("warning", f"chmod u+w '{path}'")


def test_another_program_on_the_port_has_failed_and_is_named(look: Look) -> None:
    """Fault D6."""
    with answering(b"{}") as port:
        found = look("monitor", port=port)
    assert found.state == "failed"
    assert f"port {port}" in found.message
    assert "pid" in found.message


def test_a_sick_or_older_serve_is_told(look: Look) -> None:
    sick = b'{"kasmos": "serve", "version": "0", "instance": "i", "error": {"message": "m"}}'
    with answering(sick) as port:
        assert look("monitor", port=port).state == "failed"
    with answering(b'{"kasmos": "serve", "version": "0.0.1", "instance": "i"}') as port:
        found = look("monitor", port=port)
        assert (found.state, "0.0.1" in found.message) == ("warning", True)


@pytest.mark.parametrize(
    ("no_proxy", "state"),
    [("", "warning"), ("localhost", "warning"), ("127.0.0.1, localhost", "ok"), ("*", "ok")],
)
def test_a_proxy_without_an_exception_for_loopback_is_a_warning_and_no_secret_is_shown(
    no_proxy: str, state: str, look: Look, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://ann:secret@proxy.example")
    monkeypatch.setenv("NO_PROXY", no_proxy)
    found = look("proxy")
    assert found.state == state
    assert "secret" not in found.model_dump_json()


def test_without_codex_its_lines_say_so_and_the_others_stand(look: Look) -> None:
    assert look("codex").state == "failed"
    assert look("plugin").state == "warning"
    assert look("marketplace").state == "warning"


@pytest.mark.parametrize(
    ("content", "line"), [("[features\n", "line 1"), ("[features]\napps = 1\n", "line 2")]
)
def test_a_broken_configuration_is_told_by_its_line(content: str, line: str, look: Look) -> None:
    (look.root / ".codex").mkdir()
    (look.root / ".codex" / "config.toml").write_text(content)
    name = "codex config" if "features\n" in content else "apps feature"
    assert (look(name).state, line in look(name).message) == ("failed", True)


def test_another_marketplace_that_went_is_named_with_what_mends_it(look: Look) -> None:
    config = look.root / ".codex" / "config.toml"
    config.parent.mkdir()
    gone = look.root / "gone"
    config.write_text(f'[marketplaces.other]\nsource_type = "local"\nsource = "{gone}"\n')
    check = look("marketplace")
    assert check.state == "failed"
    assert f"'other' of Codex is gone: '{gone}'" in check.message
    assert check.hint == "codex plugin marketplace remove other"


def test_with_all_plugins_off_the_server_is_off_too(look: Look) -> None:
    config = look.root / ".codex" / "config.toml"
    config.parent.mkdir()
    config.write_text("[features]\nplugins = false\n")
    assert look("apps feature").state == "failed"
    assert look("plugin server").message == "is off with all plugins"


@pytest.mark.parametrize(
    ("trust", "words"), [("", "by default"), ('trust_level = "untrusted"', "by default")]
)
def test_an_untrusted_project_decides_nothing(
    trust: str, words: str, look: Look, repo: Path
) -> None:
    project(look, repo, trust)
    assert words in look("apps feature").message


def test_a_trusted_project_decides_for_its_directories(look: Look, repo: Path) -> None:
    project(look, repo, 'trust_level = "trusted"')
    found = look("apps feature")
    assert found.state == "warning"
    assert f"'{repo}/.codex/config.toml' line 2" in found.message


def project(look: Look, repo: Path, trust: str) -> None:
    """Make a project that turns apps off, and look from a directory in it."""
    (look.root / ".codex").mkdir()
    (look.root / ".codex" / "config.toml").write_text(f'[projects."{repo}"]\n{trust}\n')
    (repo / ".codex").mkdir()
    (repo / ".codex" / "config.toml").write_text("[features]\napps = false\n")
    look.cwd = repo / "inner"
    look.cwd.mkdir()
