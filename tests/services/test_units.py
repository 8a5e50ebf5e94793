"""The two services as text: what systemd and launchd read is what was meant."""

import os
import plistlib
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kasmos_plugin.errors import BadArgument
from kasmos_plugin.services.units import (
    Service,
    arguments_of_plist,
    arguments_of_unit,
    daemon_service,
    launchd_plist,
    serve_service,
    systemd_unit,
)
from tests.services.unit_words import command, environment, settings

PYTHON = Path("/opt/kasmos/bin/python")
BOTH = (serve_service(port=7433, mcp_port=7434), daemon_service())
each_service = pytest.mark.parametrize("service", BOTH, ids=lambda service: service.name)
ODD = (
    "/home/a b/python",
    "/home/100%h/python",
    "/home/$HOME/${x}/$$/python",
    "/home/o'brien/python",
    '/home/"q"/python',
    "/home/back\\slash/\\n/python",
    "/home/ünï/日本/python",
    "/home/tab\tline\nbreak/python",
    "/home/#;=:@/python",
)
PATHS = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0/"), min_size=1, max_size=30
).map(lambda name: f"/{name}")


def unit(service: Service, interpreter: Path = PYTHON, **variables: str) -> str:
    return systemd_unit(service, interpreter=interpreter, environment=variables)


def test_both_services_have_the_names_and_commands_that_are_promised() -> None:
    assert [(one.name, one.arguments) for one in BOTH] == [
        ("kasmosdb", ("serve", "--port", "7433", "--mcp-port", "7434")),
        ("kasmos", ("daemon", "start", "--foreground")),
    ]
    store = Path("/srv/a.db")
    assert serve_service(port=1, mcp_port=2, db=store).arguments[-2:] == ("--db", "/srv/a.db")
    assert daemon_service(db=store).arguments[-2:] == ("--db", "/srv/a.db")


@each_service
def test_a_unit_runs_the_interpreter_of_this_environment(service: Service) -> None:
    text = unit(service)
    assert command(text) == [str(PYTHON), "-P", "-m", "kasmos_plugin", *service.arguments]
    assert environment(text) == {}
    assert settings(text, "Install") == {"WantedBy": ["default.target"]}


@each_service
def test_a_unit_is_tried_again_for_ever_but_not_after_wrong_usage(service: Service) -> None:
    text = unit(service)
    assert settings(text, "Unit")["StartLimitIntervalSec"] == ["0"]
    found = settings(text, "Service")
    assert (found["Restart"], found["RestartPreventExitStatus"]) == (["on-failure"], ["2"])
    assert int(found["RestartSec"][0]) >= 1


def test_the_daemon_is_not_confined_and_its_agents_are_spared() -> None:
    """Whatever is set for the daemon, agents would inherit."""
    found = settings(unit(daemon_service()), "Service")
    assert found["KillMode"] == ["process"]
    assert found["OOMPolicy"] == ["continue"]
    assert not [
        key for key in found if key.startswith(("Restrict", "Protect", "Private", "System"))
    ]
    assert not {"NoNewPrivileges", "UMask", "MemoryDenyWriteExecute"} & set(found)


def test_serve_is_confined_by_nothing_that_needs_privileges() -> None:
    found = settings(unit(serve_service(port=1, mcp_port=2)), "Service")
    assert found["NoNewPrivileges"] == ["yes"]
    assert found["RestrictAddressFamilies"] == ["AF_UNIX AF_INET"]
    # Each needs a mount or user namespace, or a capability, that a user's manager may not have.
    assert not [key for key in found if key.startswith(("Protect", "Private", "Capability", "IP"))]


@pytest.mark.parametrize("path", ODD)
def test_an_odd_path_reaches_the_program_as_it_is(path: str) -> None:
    service = daemon_service(db=Path(path))
    text = unit(service, Path(path), KASMOS_HOME=path)
    ours = [path, "-P", "-m", "kasmos_plugin", *service.arguments]
    assert command(text)[-len(ours) :] == ours
    assert environment(text) == {"KASMOS_HOME": path}
    assert arguments_of_unit(text.encode()) == service.arguments


@given(PATHS, PATHS)
def test_any_path_survives_the_unit(interpreter: str, home: str) -> None:
    service = daemon_service(db=Path(home))
    text = unit(service, Path(interpreter), KASMOS_HOME=home)
    ours = [str(Path(interpreter)), "-P", "-m", "kasmos_plugin", *service.arguments]
    assert command(text)[-len(ours) :] == ours
    assert environment(text) == {"KASMOS_HOME": home}


def test_a_program_that_systemd_refuses_is_run_by_a_shell_that_becomes_it(tmp_path: Path) -> None:
    """systemd takes no quote and no backslash in the path of a program."""
    directory = tmp_path / 'o\'brien "$HOME" \\n'
    directory.mkdir()
    program = directory / "python"
    program.symlink_to(sys.executable)
    argv = command(unit(daemon_service(), program))
    assert argv[0] == "/bin/sh"
    told = [
        *argv[: argv.index("-P")],
        "-c",
        "import os, sys; print(os.getpid(), sys.argv[1:])",
        "x",
    ]
    process = subprocess.Popen(told, stdout=subprocess.PIPE, text=True)
    out, _ = process.communicate(timeout=20)
    assert out == f"{process.pid} ['x']\n"


def test_a_path_that_is_not_utf8_is_refused() -> None:
    with pytest.raises(BadArgument, match="not UTF-8"):
        unit(daemon_service(), Path(os.fsdecode(b"/home/\xff/python")))
    with pytest.raises(BadArgument):
        launchd_plist(
            daemon_service(),
            interpreter=Path("/home/\x01/python"),
            environment={},
            log=Path("/l"),
        )


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[Service]\nX-Kasmos=[]\n",
        b"[Unit]\n# X-Kasmos=[]\nDescription=kasmos\n",
        b"[Unit]\nX-Kasmos=[1]\n",
        b"[Unit]\nX-Kasmos=yes\n",
        b"\xff\xfe",
    ],
)
def test_another_unit_is_not_taken_for_ours(content: bytes) -> None:
    assert arguments_of_unit(content) is None


@pytest.mark.parametrize(
    "content",
    [b"", b"<plist/>", plistlib.dumps([]), plistlib.dumps({"ProgramArguments": ["/bin/kas", 1]})],
)
def test_another_agent_is_not_taken_for_ours(content: bytes) -> None:
    assert arguments_of_plist(content) is None


@each_service
def test_a_launchd_agent_says_the_same(service: Service) -> None:
    log = Path("/home/a/log/x.log")
    content = launchd_plist(
        service, interpreter=PYTHON, environment={"KASMOS_HOME": "/home/é & <b>"}, log=log
    )
    expected = {
        "Label": service.name,
        "ProgramArguments": [str(PYTHON), "-P", "-m", "kasmos_plugin", *service.arguments],
        "EnvironmentVariables": {"KASMOS_HOME": "/home/é & <b>"},
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
        "ThrottleInterval": 5,
        "ExitTimeOut": 15,
        "StandardOutPath": str(log),
        "StandardErrorPath": str(log),
    }
    if service.may_start_agents:
        expected["AbandonProcessGroup"] = True
    assert plistlib.loads(content) == expected
    assert arguments_of_plist(content) == service.arguments


@pytest.mark.parametrize("path", [sys.executable, *ODD])
def test_systemd_itself_finds_no_fault(path: str, tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not here, so that no unit could be verified")
    # The program must exist; below /home it does not.
    program = Path(f"{tmp_path}{path}") if path != sys.executable else Path(path)
    program.parent.mkdir(parents=True, exist_ok=True)
    if path != sys.executable:
        program.symlink_to(sys.executable)
    files = []
    for service in BOTH:
        file = tmp_path / f"{service.name}.service"
        file.write_text(unit(service, program, KASMOS_HOME=path), "utf-8")
        files.append(str(file))
    runtime = tmp_path / "run"
    runtime.mkdir(mode=0o700)
    done = subprocess.run(
        ["systemd-analyze", "--user", "verify", *files],
        env=os.environ | {"XDG_RUNTIME_DIR": str(runtime), "LC_ALL": "C"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
