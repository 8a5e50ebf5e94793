"""`kas integrations codex` on the real client: in, again, looked at, out; every byte as before."""

import http.server
import os
import pty
import select
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from e2e.codex.client import BIN, Codex
from e2e.codex.kas import Kas
from e2e.harness import World
from kasmos_plugin import __version__

QUIET = b"check_for_update_on_startup = false # mine\n"
CONFIGS = {
    "comments": QUIET + b'\n# about models\nmodel = "x"  # why\n\n[analytics]\nenabled = false\n',
    "no final newline": QUIET + b"[analytics]\nenabled = false",
    "crlf": (
        QUIET + b'# a\n\n[analytics]\nenabled = false\n[mcp_servers.a]\ncommand = "x"\n'
    ).replace(b"\n", b"\r\n"),
    "byte order mark": b"\xef\xbb\xbf" + QUIET + b"[analytics]\r\nenabled = false\r\n",
    "inline tables": QUIET
    + b'plugins = { "a@b" = { enabled = false } } # in\nmarketplaces = {} \n'
    + b"analytics = { enabled = false }\n",
    "dotted keys": QUIET + b'analytics.enabled = false\nplugins."a@b".enabled = false\n',
    "connectors": QUIET + b"[features] # f\nconnectors = true # old\napps = false\n",
    "the same lines in a string": QUIET
    + b'model = """\n\n[plugins."kasmos@kasmos"]\nenabled = true\n"""\n',
    "keys that codex does not know": QUIET
    + b'[mcp_servers.a]\ncommand = "x"\nmade_up = [1, 2]\ntool_timeout_sec = 5\n',
}
every_config = pytest.mark.parametrize("content", CONFIGS.values(), ids=CONFIGS.keys())


def mcp_port(world: World) -> str:
    return str(world.addresses["mcp"]).rsplit(":", 1)[1].partition("/")[0]


def looks(codex: Codex) -> tuple[bytes, int]:
    """Return the configuration's bytes and mode."""
    return codex.config.read_bytes(), codex.config.stat().st_mode & 0o7777


@every_config
def test_installing_and_uninstalling_leaves_every_byte_as_it_was(
    content: bytes, kas: Kas, free_port: int
) -> None:
    """Faults A1, A2, A9: line ends, byte order mark, comments and unknown keys stay."""
    codex = kas.codex
    codex.config.write_bytes(content)
    codex.config.chmod(0o644)
    kas.install("--mcp-port", str(free_port))
    installed, mode = looks(codex)
    assert mode == 0o644
    assert installed.startswith(content.rstrip(b"\n")) or b"{" in content
    assert [one["pluginId"] for one in codex.json("plugin", "list")["installed"]] == [
        "kasmos@kasmos"
    ]
    assert kas.install().json["changed"] is False
    assert looks(codex) == (installed, 0o644), "twice is the same as once"
    kas.uninstall()
    assert looks(codex) == (content, 0o644)
    assert codex.json("plugin", "list")["installed"] == []
    assert codex.json("plugin", "marketplace", "list")["marketplaces"] == []
    assert not kas.marketplace.parent.exists()
    assert [path.name for path in codex.home.iterdir() if "config" in path.name] == ["config.toml"]
    assert kas.uninstall().json["changed"] is False
    assert looks(codex) == (content, 0o644)


def test_a_configuration_that_was_not_there_is_gone_again(kas: Kas, free_port: int) -> None:
    """Fault A12: absent is not empty."""
    kas.codex.config.unlink()
    kas.install("--mcp-port", str(free_port))
    assert kas.codex.config.exists()
    kas.uninstall()
    assert not kas.codex.config.exists()


def test_a_symlink_to_the_configuration_stays_one(kas: Kas, free_port: int, tmp_path: Path) -> None:
    """Fault A3."""
    config, real = kas.codex.config, tmp_path / "dotfiles" / "codex.toml"
    real.parent.mkdir()
    config.rename(real)
    (tmp_path / "between").symlink_to(real)
    config.symlink_to(tmp_path / "between")
    before = real.read_bytes()
    kas.install("--mcp-port", str(free_port))
    assert config.is_symlink()
    assert b"kasmos@kasmos" in real.read_bytes()
    kas.uninstall()
    assert config.is_symlink()
    assert real.read_bytes() == before


def test_a_data_directory_behind_a_link_is_no_strangers(kas: Kas, free_port: int) -> None:
    before = looks(kas.codex)
    elsewhere = kas.home.with_name("elsewhere")
    elsewhere.mkdir()
    kas.home.symlink_to(elsewhere)
    kas.install("--mcp-port", str(free_port))
    assert kas.install().json["changed"] is False
    kas.uninstall()
    assert looks(kas.codex) == before


def test_other_plugins_and_marketplaces_are_untouched(
    kas: Kas, free_port: int, tmp_path: Path
) -> None:
    codex = kas.codex
    other = tmp_path / "other"
    (other / ".agents" / "plugins").mkdir(parents=True)
    (other / "sub" / ".codex-plugin").mkdir(parents=True)
    (other / ".agents" / "plugins" / "marketplace.json").write_text(
        '{"name": "other", "plugins": [{"name": "o", "category": "x",'
        ' "source": {"source": "local", "path": "./sub"},'
        ' "policy": {"installation": "AVAILABLE", "authentication": "ON_INSTALL"}}]}'
    )
    (other / "sub" / ".codex-plugin" / "plugin.json").write_text('{"name": "o", "version": "1.0"}')
    codex.run("plugin", "marketplace", "add", str(other))
    codex.run("plugin", "add", "o@other")
    before = looks(codex)
    listed = codex.json("plugin", "list")
    kas.install("--mcp-port", str(free_port))
    assert listed["installed"][0] in codex.json("plugin", "list")["installed"]
    kas.uninstall()
    assert codex.json("plugin", "list") == listed
    assert looks(codex) == before


def test_the_configuration_before_lies_beside_it(kas: Kas, free_port: int) -> None:
    before = kas.codex.config.read_bytes()
    kas.install("--mcp-port", str(free_port))
    assert (kas.codex.home / "config.toml.kasmos-backup").read_bytes() == before


def test_a_read_only_configuration_is_left_alone_and_the_lines_to_add_are_told(
    kas: Kas, free_port: int
) -> None:
    """Codex itself would write it when root runs it."""
    kas.codex.config.chmod(0o444)
    before = looks(kas.codex)
    said = kas.install("--mcp-port", str(free_port), code=1)
    assert "is read-only" in said.err
    assert "+[marketplaces.kasmos]" in said.err
    assert looks(kas.codex) == before
    assert not kas.marketplace.exists()


def test_what_the_user_changes_meanwhile_stays(kas: Kas, free_port: int) -> None:
    config = kas.codex.config
    before = config.read_text()
    kas.install("--mcp-port", str(free_port))
    config.write_text(f"# first\n{config.read_text()}\n[tui]\nnotifications = false # n\n")
    kas.uninstall()
    found = config.read_text()
    assert "kasmos" not in found
    assert found.startswith(f"# first\n{before}")
    assert "[tui]\nnotifications = false # n\n" in found


def test_the_plugin_is_listed_with_its_server_and_the_real_server_answers(
    kas: Kas, calm: World
) -> None:
    said = kas.install("--mcp-port", mcp_port(calm))
    assert said.step("server")["state"] == "done"
    (server,) = kas.codex.json("mcp", "list")
    assert server["transport"]["url"] == calm.addresses["mcp"]
    (listed,) = kas.codex.json("plugin", "list")["installed"]
    assert (listed["version"], listed["enabled"]) == (__version__, True)
    assert listed["source"]["path"].startswith(str(kas.marketplace))
    status = kas.status()
    assert status.code == 0
    assert [one for one in status.json["checks"] if one["state"] != "ok"] == []


def test_a_server_that_is_not_there_is_a_warning_with_the_next_step(
    kas: Kas, free_port: int
) -> None:
    said = kas.install("--mcp-port", str(free_port))
    step = said.step("server")
    assert step["state"] == "warning"
    assert f"kas serve --mcp-port {free_port}" in step["hint"]
    assert any("kas serve" in line for line in said.json["next"])
    assert any("new thread" in line for line in said.json["next"])


def test_the_port_of_the_page_is_told_from_that_of_mcp(kas: Kas, calm: World) -> None:
    page = str(calm.addresses["monitor"]).rsplit(":", 1)[1].partition("/")[0]
    step = kas.install("--mcp-port", page).step("server")
    assert (step["state"], "port of the page" in step["message"]) == ("warning", True)


def test_a_home_that_is_not_there_is_no_failure(kas: Kas, tmp_path: Path) -> None:
    home = str(tmp_path / "none")
    said = kas("integrations", "codex", "status", "--json", "--codex-home", home)
    assert said.code == 0, said
    assert said.check("codex home")["state"] == "warning"


def test_another_marketplace_that_went_is_named_before_anything_is_done(
    kas: Kas, free_port: int, tmp_path: Path
) -> None:
    config = kas.codex.config
    other = f'[marketplaces.other]\nsource_type = "local"\nsource = "{tmp_path / "gone"}"\n'
    config.write_text(config.read_text() + other)
    said = kas.install("--mcp-port", str(free_port), code=1)
    assert "hint: codex plugin marketplace remove other" in said.err
    assert not kas.marketplace.exists()
    assert kas.status().check("marketplace")["state"] == "failed"


def test_a_stranger_on_the_port_is_a_failure_and_nothing_is_changed(kas: Kas) -> None:
    """Fault D6."""
    before = looks(kas.codex)
    with stranger() as port:
        said = kas.install("--mcp-port", str(port), code=1)
    assert "no kas serve" in said.err
    assert looks(kas.codex) == before
    assert not kas.marketplace.exists()


def test_a_dry_run_tells_exactly_what_an_installation_then_does(kas: Kas, free_port: int) -> None:
    codex = kas.codex
    codex.config.write_bytes(QUIET + b"[features] # f\napps = false\n")
    before = looks(codex)
    options = ("--mcp-port", str(free_port), "--enable-apps")
    told = kas.install("--dry-run", *options).json
    assert looks(codex) == before
    assert not kas.home.exists()
    text = kas("integrations", "codex", "install", "--dry-run", *options)
    assert text.code == 0
    assert "+[marketplaces.kasmos]" in text.out
    assert "-apps = false" in text.out
    kas.install(*options)
    old, new = before[0].decode().splitlines(), codex.config.read_text().splitlines()
    added = [line[1:] for line in told["diff"].splitlines() if line[:1] == "+"][1:]
    gone = [line[1:] for line in told["diff"].splitlines() if line[:1] == "-"][1:]
    assert [line for line in new if line not in old] == [line for line in added if line not in old]
    assert gone == ["apps = false"]
    files = {str(path.relative_to(kas.marketplace)) for path in kas.marketplace.rglob("*.*")}
    assert set(told["files"]) <= files
    assert told["commands"] == [
        f"codex plugin marketplace add {kas.marketplace}",
        "codex plugin add kasmos@kasmos",
    ]


def test_apps_stay_off_unless_they_are_asked_for_and_go_off_again(kas: Kas, free_port: int) -> None:
    codex = kas.codex
    content = QUIET + b"[features]\r\napps = false # no\r\nconnectors = false\r\n"
    codex.config.write_bytes(content)
    said = kas.install("--mcp-port", str(free_port), "--yes")
    assert b"apps = false # no\r\n" in codex.config.read_bytes()
    assert any("--enable-apps" in line for line in said.json["next"])
    check = kas.status().check("apps feature")
    assert (check["state"], check["hint"]) == (
        "warning",
        "kas integrations codex install --enable-apps",
    )
    assert "'connectors'" in check["message"]
    kas.install("--enable-apps")
    assert b"apps = true # no\r\nconnectors = true\r\n" in codex.config.read_bytes()
    assert "apps" in {
        line.split()[0]
        for line in codex.run("features", "list").out.splitlines()
        if line.endswith("true")
    }
    kas.uninstall()
    assert codex.config.read_bytes() == content


def test_an_upgrade_keeps_a_plugin_that_the_user_has_switched_off(
    kas: Kas, free_port: int, calm: World
) -> None:
    codex = kas.codex
    kas.install("--mcp-port", str(free_port))
    text = codex.config.read_text().replace(
        '[plugins."kasmos@kasmos"]\nenabled = true',
        '[plugins."kasmos@kasmos"]\nenabled = false # x',
    )
    codex.config.write_text(text)
    said = kas.install("--mcp-port", mcp_port(calm))
    assert said.json["changed"] is True
    assert codex.config.read_text() == text
    assert said.step("check")["state"] == "warning"
    assert "enabled = true" in said.json["next"][0]
    servers = codex.home.glob("plugins/cache/kasmos/kasmos/*/.mcp.json")
    assert mcp_port(calm) in next(servers).read_text()
    assert kas.status().check("plugin")["message"] == "is installed, and switched off"


def test_settings_of_the_plugin_outlive_an_upgrade(kas: Kas, free_port: int, calm: World) -> None:
    codex = kas.codex
    kas.install("--mcp-port", str(free_port))
    mine = '\n[plugins."kasmos@kasmos".mcp_servers.kasmos]\ndisabled_tools = ["live_status"] # m\n'
    codex.config.write_text(codex.config.read_text() + mine)
    kas.install("--mcp-port", mcp_port(calm))
    assert mine in codex.config.read_text()
    check = kas.status().check("plugin server")
    assert (check["state"], "disabled_tools" in check["message"]) == ("warning", True)
    said = kas("integrations", "codex", "uninstall")
    assert "mcp_servers.kasmos.disabled_tools" in said.err
    assert "kasmos" not in codex.config.read_text()


def test_a_step_that_fails_undoes_those_before_it(kas: Kas, free_port: int, tmp_path: Path) -> None:
    before = looks(kas.codex)
    said = kas.install("--mcp-port", str(free_port), code=1, **broken_door(tmp_path))
    assert "broken" in said.err
    assert looks(kas.codex) == before
    assert kas.codex.json("plugin", "list")["installed"] == []
    assert kas.codex.json("plugin", "marketplace", "list")["marketplaces"] == []
    assert not kas.marketplace.exists()


def test_a_failed_upgrade_leaves_the_older_installation(
    kas: Kas, free_port: int, tmp_path: Path
) -> None:
    kas.install("--mcp-port", str(free_port))
    before = looks(kas.codex)
    kas.install("--mcp-port", "9", code=1, **broken_door(tmp_path))
    assert looks(kas.codex) == before
    (server,) = kas.codex.json("mcp", "list")
    assert server["transport"]["url"] == f"http://127.0.0.1:{free_port}/mcp"
    assert kas.install().json["changed"] is False


def test_a_marketplace_of_our_name_from_elsewhere_is_left_alone(kas: Kas, free_port: int) -> None:
    root = Path(__file__).parents[2]
    kas.codex.run("plugin", "marketplace", "add", str(root))
    before = looks(kas.codex)
    said = kas.install("--mcp-port", str(free_port), code=1)
    assert str(root) in said.err
    assert "codex plugin marketplace remove kasmos" in said.err
    gone = kas("integrations", "codex", "uninstall", "--json")
    assert gone.code == 1
    assert looks(kas.codex) == before
    assert kas.status().check("marketplace")["state"] == "warning"


def test_a_folder_of_ours_that_went_is_told_and_mended(kas: Kas, free_port: int) -> None:
    kas.install("--mcp-port", str(free_port))
    shutil.rmtree(kas.marketplace)
    status = kas.status()
    assert status.code == 1
    assert status.check("marketplace")["state"] == "failed"
    kas.install()
    assert kas.status().check("marketplace")["state"] == "ok"
    shutil.rmtree(kas.marketplace)
    kas.uninstall()
    assert kas.codex.json("plugin", "list")["installed"] == []


def test_a_tampered_copy_is_seen_and_renewed(kas: Kas, free_port: int) -> None:
    kas.install("--mcp-port", str(free_port))
    (skill,) = kas.codex.home.glob("plugins/cache/kasmos/kasmos/*/skills/monitor*/SKILL.md")
    skill.write_text("changed")
    check = kas.status().check("plugin copy")
    assert (check["state"], "SKILL.md" in check["message"]) == ("warning", True)
    assert kas.install().json["changed"] is True
    assert kas.status().check("plugin copy")["state"] == "ok"


def test_a_server_of_the_users_that_hides_ours_is_told(kas: Kas, free_port: int) -> None:
    config = kas.codex.config
    config.write_text(config.read_text() + '[mcp_servers.kasmos]\ncommand = "mine"\n')
    said = kas.install("--mcp-port", str(free_port))
    assert "hides" in said.step("check")["message"]
    assert kas.status().check("plugin server")["state"] == "warning"


def test_without_codex_the_two_commands_are_told_and_uninstalling_still_works(
    kas: Kas, free_port: int, tmp_path: Path
) -> None:
    before = kas.codex.config.read_bytes()
    kas.install("--mcp-port", str(free_port))
    bare = {"PATH": str(tmp_path)}
    said = kas("integrations", "codex", "install", **bare)
    assert kas.status().check("marketplace")["state"] == "ok"
    assert said.code == 1
    assert f"codex plugin marketplace add {kas.marketplace}" in said.err
    assert "codex plugin add kasmos@kasmos" in said.err
    status = kas("integrations", "codex", "status", "--json", **bare)
    assert (status.code, status.check("codex")["state"]) == (1, "failed")
    assert kas("integrations", "codex", "uninstall", **bare).code == 0
    assert kas.codex.config.read_bytes() == before
    assert kas.codex.json("plugin", "list")["installed"] == []


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"[features\n", "line 1"),
        (b"a = 1\na = 2\n", "line 2"),
        (b'[features]\napps = "yes"\n', "line 2"),
        (b"[features]\nplugins = false\n", "plugins are off"),
        ("a = 'x'\n".encode("utf-16"), "UTF-16"),
        (b"# \xff\n", "UTF-8"),
    ],
    ids=["broken", "duplicate", "no boolean", "plugins off", "utf-16", "latin-1"],
)
def test_a_configuration_that_cannot_be_used_is_named_and_left_alone(
    content: bytes, said: str, kas: Kas, free_port: int
) -> None:
    """Faults A5, A9."""
    kas.codex.config.write_bytes(content)
    found = kas.install("--mcp-port", str(free_port), code=1)
    assert said in found.err
    assert "hint:" in found.err
    assert kas.codex.config.read_bytes() == content
    status = kas.status()
    assert status.code == 1


def test_at_a_terminal_it_shows_the_change_and_asks(kas: Kas, free_port: int) -> None:
    config = kas.codex.config
    config.write_bytes(QUIET + b"[features]\napps = false\n")
    before = looks(kas.codex)
    options = ("integrations", "codex", "install", "--mcp-port", str(free_port))
    code, said = at_terminal(kas, *options, answers=("y", "n"))
    assert code == 1
    assert said.index("turn apps on?") < said.index("-apps = false") < said.index("go on?")
    assert "nothing was changed" in said
    assert looks(kas.codex) == before
    assert not kas.marketplace.exists()
    code, said = at_terminal(kas, *options, answers=("y", ""))
    assert code == 0, said
    assert b"apps = true" in config.read_bytes()
    code, said = at_terminal(kas, *options, answers=())
    assert (code, "nothing to change" in said) == (0, True)


def test_at_a_terminal_it_asks_before_settings_of_the_user_go(kas: Kas, free_port: int) -> None:
    config = kas.codex.config
    kas.install("--mcp-port", str(free_port))
    mine = '\n[plugins."kasmos@kasmos".mcp_servers.kasmos]\ndisabled_tools = ["live_status"]\n'
    config.write_text(config.read_text() + mine)
    code, said = at_terminal(kas, "integrations", "codex", "uninstall", answers=("",))
    assert (code, "disabled_tools" in said) == (1, True)
    assert mine in config.read_text()
    code, said = at_terminal(kas, "integrations", "codex", "uninstall", answers=("y",))
    assert code == 0, said
    assert "kasmos" not in config.read_text()


def broken_door(directory: Path) -> dict[str, str]:
    """Return the environment of a real client behind a door that fails one command."""
    door = directory / "codex-door"
    door.write_text(
        '#!/bin/sh\nif [ "$1 $2" = "mcp list" ]; then echo "Error: broken" >&2; exit 1; fi\n'
        'exec "$REAL_CODEX" "$@"\n'
    )
    door.chmod(0o755)
    return {"KASMOS_CODEX": str(door), "REAL_CODEX": str(BIN / "codex")}


def at_terminal(kas: Kas, *arguments: str, answers: tuple[str, ...]) -> tuple[int, str]:
    """Run a command on a pty, answer what it asks, and return its exit code and what it said."""
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "kasmos_plugin", *arguments],
        env=kas.codex.env | {"KASMOS_HOME": str(kas.home), "TERM": "xterm"},
        cwd=kas.codex.work,
        stdin=slave,
        stdout=slave,
        stderr=slave,
    )
    os.close(slave)
    said, left = "", list(answers)
    try:
        while select.select([master], [], [], 30)[0]:
            try:
                piece = os.read(master, 65_536).decode()
            except OSError:
                break
            said += piece
            if left and said.rstrip().endswith("]:"):
                os.write(master, f"{left.pop(0)}\n".encode())
                said += "\n"
    finally:
        os.close(master)
        process.terminate()
        process.wait(10)
    assert not left, said
    return process.returncode, said


@contextmanager
def stranger() -> Iterator[int]:
    """Serve something else on a port."""
    handler = http.server.BaseHTTPRequestHandler
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()
