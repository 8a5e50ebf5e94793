"""The wheel as built: installed into an empty virtualenv, without Node, it does its main job."""

import json
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
import venv
import zipfile
from pathlib import Path

import pytest

from kasmos_plugin.codex.plugin import differences, packaged

ROOT = Path(__file__).parent.parent
NEEDED = (
    "kasmos_plugin/py.typed",
    "kasmos_plugin/contract/live_status.schema.json",
    "kasmos_plugin/widget/assets/monitor.js",
    "kasmos_plugin/agent/shim.py",
    "kasmos_plugin/codex/plugin/.codex-plugin/plugin.json",
    "kasmos_plugin/codex/plugin/.mcp.json",
)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [
            sys.executable,
            "-m",
            "build",
            "--wheel",
            "--no-isolation",
            "--outdir",
            str(out),
            str(ROOT),
        ],
        check=True,
        capture_output=True,
    )
    (built,) = out.glob("*.whl")
    return built


def test_the_wheel_holds_the_package_and_what_it_reads(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert set(NEEDED) <= names
    assert not [name for name in names if name.startswith(("tests", "e2e", "web", "scripts"))]


def test_the_wheel_holds_the_plugin_file_for_file(wheel: Path) -> None:
    prefix = "kasmos_plugin/codex/plugin/"
    with zipfile.ZipFile(wheel) as archive:
        found = {
            name.removeprefix(prefix): archive.read(name)
            for name in archive.namelist()
            if name.startswith(prefix)
        }
    assert found == dict(packaged())


def test_the_installed_wheel_runs_the_demo_without_node(wheel: Path, tmp_path: Path) -> None:
    place = tmp_path / "empty"
    venv.create(place, with_pip=False)
    subprocess.run(
        [
            *(sys.executable, "-m", "uv", "pip", "install", "--quiet", "--python", str(place)),
            *("--constraint", str(ROOT / "requirements.lock"), str(wheel)),
        ],
        check=True,
    )
    git = shutil.which("git")
    assert git is not None
    (tmp_path / "tools").mkdir()
    for tool in (Path(git), Path("/bin/sh"), Path("/usr/bin/env")):
        (tmp_path / "tools" / tool.name).symlink_to(tool)
    env = {
        "PATH": f"{place / 'bin'}:{tmp_path / 'tools'}",
        "HOME": str(tmp_path),
        "KASMOS_HOME": str(tmp_path / "home"),
    }
    # Without Codex the plugin of the wheel is written, and the way to put it in by hand is told.
    bare = [str(place / "bin" / "kas"), "integrations", "codex", "install"]
    told = subprocess.run(bare, env=env, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (told.returncode, "codex plugin add kasmos@kasmos" in told.stderr) == (1, True)
    (written,) = (tmp_path / "home" / "data" / "codex").glob("*/marketplace/plugin")
    assert differences(packaged(), written) == []
    up = subprocess.Popen(
        [str(place / "bin" / "kas"), "up", "--demo", "--port", "0", "--mcp-port", "0"],
        env=env,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        assert up.stdout is not None
        address = ""
        while not address:
            line = up.stdout.readline()
            assert line, "kas up ended"
            found = re.search(r"http://127\.0\.0\.1:\d+/", line)
            address = found[0] if found and "monitor" in line else ""
        deadline = time.monotonic() + 60
        agents: list[object] = []
        while not agents:
            assert time.monotonic() < deadline, "no agent was seen at work"
            agents = _snapshot(address).get("active_agents", [])
        up.send_signal(signal.SIGINT)
        rest, _ = up.communicate(timeout=30)
    finally:
        if up.poll() is None:
            up.kill()
            up.communicate()
    assert up.returncode in (0, 130), rest


def _snapshot(address: str) -> dict[str, list[object]]:
    request = urllib.request.Request(
        f"{address}v1/monitor/snapshot",
        data=b'{"project": "demo"}',
        headers={"Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=5) as answer:
            content: dict[str, list[object]] = json.loads(answer.read())["structuredContent"]
            return content
    except OSError:
        time.sleep(0.2)
        return {}
