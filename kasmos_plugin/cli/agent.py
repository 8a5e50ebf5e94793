"""`kas agent`: run agents, look at them, pause, stop and dismiss them. The daemon judges."""

import json
import secrets
import shlex
import time
from contextlib import closing
from pathlib import Path
from typing import get_args

import click

from kasmos_plugin import paths
from kasmos_plugin.cli.launch import become_shim, checked_task, log_path, unusable, utf8
from kasmos_plugin.cli.options import (
    InOrder,
    choose_project,
    complete_agents,
    complete_tasks,
    db_option,
    json_option,
    open_cli_store,
    project_option,
)
from kasmos_plugin.cli.output import echo_json, echo_models, note, table
from kasmos_plugin.contract.agent import AgentRecord, AgentView, Stage
from kasmos_plugin.contract.base import rfc3339
from kasmos_plugin.contract.control import AgentsReply
from kasmos_plugin.daemon.client import call, segment
from kasmos_plugin.errors import BadArgument, Conflict, KasmosError, NotFound
from kasmos_plugin.repository import find_repository
from kasmos_plugin.rules.health import Traces, judge
from kasmos_plugin.rules.text import clean, is_clean_name
from kasmos_plugin.store import Store, utc_now
from kasmos_plugin.summary import age

STOPPED_WITHIN_S = 8.0
STORED_WITHIN_S = 5.0


@click.group(cls=InOrder)
def agent() -> None:
    """Run agents and look after them.

    \b
    Examples:
      kas agent run --task fix-login -- codex
      kas agent list
      kas agent pause 5f0c9a2e
    """


@agent.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="[--] COMMAND…")
@click.option(
    "--task", default="", metavar="TASK", shell_complete=complete_tasks, help="What it works on."
)
@click.option("--role", default="coder", show_default=True, metavar="ROLE", help="What it is.")
@click.option("--wave", type=click.IntRange(0, 10_000), default=0, help="[default: its subtask's]")
@click.option(
    "--number",
    type=click.IntRange(0),
    default=0,
    help="The subtask's number in the whole plan, as `kas task show` counts.",
)
@click.option("--program", default="", metavar="NAME", help="[default: the command's name]")
@click.option("--detach", is_flag=True, help="Run without this terminal; print the agent's id.")
@project_option
@db_option
@json_option
def run(
    command: tuple[str, ...],
    task: str,
    role: str,
    wave: int,
    number: int,
    program: str,
    detach: bool,
    project: str,
    db: Path | None,
    as_json: bool,
) -> int:
    """Run COMMAND as an agent that the monitor sees.

    The command gets a terminal of its own, and KASMOS_AGENT_ID, KASMOS_SOCKET, KASMOS_PROJECT,
    KASMOS_TASK and KASMOS_WAVE. The exit code is the command's, 128 and the signal's number when
    one ended it, 126 when it cannot be executed, 127 when there is no such command.

    \b
    Examples:
      kas agent run -- claude
      kas agent run --task fix-login --number 2 -- codex --full-auto
      kas agent run --detach --role reviewer -- ./review.sh
    """
    if not command:
        raise click.UsageError("Missing argument 'COMMAND…'.")
    if (code := unusable(command[0])) is not None:
        return code
    for name, value in (("role", role), ("program", program or "-")):
        if not is_clean_name(value):
            raise BadArgument(f"'{clean(value)}' cannot be a {name}.")
    with closing(open_cli_store(db)) as store:
        project = choose_project(store, project)
        if task:
            task, wave = checked_task(store, project, task, number, wave)
        elif number:
            raise BadArgument("A subtask's number needs its task.", hint="--task TASK")
    agent_id = secrets.token_hex(4)
    found = find_repository(Path.cwd())
    hello = {
        "id": agent_id,
        "project": project,
        "task": task,
        "role": role,
        "wave": wave,
        "task_number": number,
        "program": program or clean(Path(command[0]).name) or "command",
        "branch": clean(found.branch) if found is not None else "",
        "worktree": utf8(found.root) if found is not None else "",
        "log": str(log_path(agent_id)) if detach else "",
        "started_at": rfc3339(utc_now()),
    }
    announcement = json.dumps({"id": agent_id}) if as_json else agent_id
    return become_shim(hello, announcement, command)


@agent.command("list")
@project_option
@db_option
@json_option
def list_(project: str, db: Path | None, as_json: bool) -> None:
    """List the agents of a project.

    \b
    Examples:
      kas agent list
      kas agent list --project shop --json
    """
    with closing(open_cli_store(db)) as store:
        project = choose_project(store, project)
        store_id = store.store_id
    reply = AgentsReply.model_validate_json(
        call(paths.socket(), "GET", f"/v1/repos/{segment(project)}/agents")
    )
    if reply.store_id != store_id:
        raise Conflict(
            "The daemon watches another store: agents of this one are unknown.",
            hint="kas daemon status",
        )
    if as_json:
        echo_models(reply.agents)
        return
    now = utc_now()
    table(
        ("id", "task", "role", "wave", "nr", "state", "active", "worktree"),
        (
            (
                one.id,
                one.task or "-",
                one.role,
                str(one.wave or "-"),
                str(one.task_number or "-"),
                _state(one),
                age(one.last_activity, now) if one.last_activity else "-",
                one.worktree or "-",
            )
            for one in reply.agents
        ),
        empty=f"no agent runs in project '{project}'",
    )


@agent.command()
@click.argument("agent_id", metavar="AGENT", shell_complete=complete_agents)
@project_option
@db_option
@json_option
def show(agent_id: str, project: str, db: Path | None, as_json: bool) -> None:
    """Show one agent, also one that has ended.

    \b
    Examples:
      kas agent show 5f0c9a2e
      kas agent show 5f0c9a2e --json
    """
    view = _view(agent_id, db, project)
    if as_json:
        echo_json(view)
        return
    now = utc_now()
    facts = {
        "agent": view.id,
        "state": _state(view),
        "since": age(view.stage_since, now) if view.stage_since else "",
        "evidence": view.evidence or "",
        "project": view.project,
        "task": view.task,
        "role": view.role,
        "wave": str(view.wave or ""),
        "number": str(view.task_number or ""),
        "program": view.program,
        "branch": view.branch,
        "worktree": view.worktree,
        "pid": str(view.pid or ""),
        "started": f"{age(view.started_at, now)} ago",
        "activity": f"{age(view.last_activity, now)} ago" if view.last_activity else "",
    }
    for name, value in facts.items():
        if value:
            print(f"{name:<10}{clean(value)}")


@agent.command()
@click.argument("agent_id", metavar="AGENT", shell_complete=complete_agents)
@project_option
@click.option("--follow", "-f", is_flag=True, help="Go on until the agent ends.")
@click.option("--raw", is_flag=True, help="With escape sequences, as the agent wrote them.")
@db_option
def logs(agent_id: str, project: str, follow: bool, raw: bool, db: Path | None) -> None:
    """Print what a detached agent wrote; the newest 4 to 8 MB are kept.

    \b
    Examples:
      kas agent logs 5f0c9a2e
      kas agent logs 5f0c9a2e --follow
    """
    from kasmos_plugin.cli.logs import print_log

    with closing(open_cli_store(db, create=False)) as store:
        record = _stored(store, agent_id, project)
        if not record.log:
            raise Conflict(
                f"Agent '{agent_id}' runs in a terminal: only detached ones have a log.",
                hint="kas agent run --detach -- COMMAND",
            )
        if follow:
            print_log(
                Path(record.log),
                is_raw=raw,
                is_over=lambda: store.agents.get(agent_id).end is not None,
            )
        else:
            print_log(Path(record.log), is_raw=raw)


@agent.command()
@click.argument("agent_id", metavar="AGENT", shell_complete=complete_agents)
@project_option
@json_option
def pause(agent_id: str, project: str, as_json: bool) -> None:
    """Stop every process of an agent's session until it is resumed.

    Processes that began a session of their own go on.

    \b
    Example:
      kas agent pause 5f0c9a2e
    """
    _done(_order(agent_id, "pause", project), "paused", as_json)


@agent.command()
@click.argument("agent_id", metavar="AGENT", shell_complete=complete_agents)
@project_option
@json_option
def resume(agent_id: str, project: str, as_json: bool) -> None:
    """Let a paused agent go on.

    \b
    Example:
      kas agent resume 5f0c9a2e
    """
    _done(_order(agent_id, "resume", project), "resumed", as_json)


@agent.command()
@click.argument("agent_id", metavar="AGENT", shell_complete=complete_agents)
@project_option
@db_option
@json_option
def stop(agent_id: str, project: str, db: Path | None, as_json: bool) -> None:
    """End an agent: SIGTERM to its session, SIGKILL to what is left after 5 s.

    One that did not end with code 0 stays listed until it is dismissed.

    \b
    Example:
      kas agent stop 5f0c9a2e
    """
    _order(agent_id, "stop", project)
    deadline = time.monotonic() + STOPPED_WITHIN_S
    while not _has_ended(view := _view(agent_id, db, project)):
        if time.monotonic() > deadline:
            raise KasmosError(
                f"Agent '{agent_id}' has not ended within {STOPPED_WITHIN_S:g} s.",
                hint=f"kas agent show {agent_id}",
            )
        time.sleep(0.05)
    _done(view, f"stopped, {view.reason or 'exited with code 0'}", as_json)
    if view.reason and not as_json:
        note(f"hint: kas agent dismiss {agent_id}")


@agent.command()
@click.argument("agent_id", metavar="AGENT", shell_complete=complete_agents)
@project_option
@json_option
def dismiss(agent_id: str, project: str, as_json: bool) -> None:
    """Take an agent that failed, was killed or is lost off every list.

    \b
    Example:
      kas agent dismiss 5f0c9a2e
    """
    _done(_order(agent_id, "dismiss", project), "dismissed", as_json)


@agent.command(
    context_settings={"ignore_unknown_options": True},
    epilog="Exit codes: 0 taken, 1 refused or no agent named, 2 wrong usage, 3 no daemon.",
)
@click.option(
    "--stage",
    type=click.Choice(get_args(Stage)),
    required=True,
    help="How far it is.",
)
@click.option("--agent", "agent_id", default="", metavar="ID", help="[default: KASMOS_AGENT_ID]")
@click.option("--project", default="", metavar="NAME", help="Refuse an agent of another project.")
@click.option("--verbose", "-v", is_flag=True, help="Say why nothing was reported.")
def report(stage: str, agent_id: str, project: str, verbose: bool) -> int:
    """Say what an agent is doing; for the agent itself, and its hooks.

    ready means that it waits for a person. Silent, so that hooks can call it.

    \b
    Examples:
      kas agent report --stage ready
      kas agent report --stage running --agent 5f0c9a2e --verbose
    """
    from kasmos_plugin.cli.report import report as send

    named = ["--agent", agent_id] if agent_id else []
    named += ["--project", project] if project else []
    return send(["--stage", stage, *named, *(["--verbose"] if verbose else [])])


def _order(agent_id: str, verb: str, project: str) -> AgentView:
    target = f"/v1/agents/{segment(agent_id)}/{verb}{_of(project)}"
    return AgentView.model_validate_json(call(paths.socket(), "POST", target))


def _of(project: str) -> str:
    return f"?project={segment(project)}" if project else ""


def _done(view: AgentView, word: str, as_json: bool) -> None:
    if as_json:
        echo_json(view)
    else:
        note(f"agent '{view.id}' {word}")


def _view(agent_id: str, db: Path | None, project: str) -> AgentView:
    """Return what the daemon says of the agent, or what the store remembers of its end."""
    try:
        body = call(paths.socket(), "GET", f"/v1/agents/{segment(agent_id)}{_of(project)}")
    except KasmosError as error:
        if error.code != "not_found":
            raise
        with closing(open_cli_store(db, create=False)) as store:
            return _remembered(_stored(store, agent_id, project))
    return AgentView.model_validate_json(body)


def _stored(store: Store, agent_id: str, project: str) -> AgentRecord:
    record = _record(store, agent_id)
    if project and record.project != project:
        raise NotFound(
            f"Project '{project}' has no agent '{agent_id}'.",
            hint=f"kas agent list --project {shlex.quote(project)}",
        )
    return record


def _record(store: Store, agent_id: str) -> AgentRecord:
    """Return an agent's record; one that the daemon has just met is stored in a moment."""
    deadline = time.monotonic() + STORED_WITHIN_S
    while True:
        try:
            return store.agents.get(agent_id)
        except NotFound:
            if time.monotonic() > deadline or not _is_known(agent_id):
                raise
        time.sleep(0.05)


def _is_known(agent_id: str) -> bool:
    try:
        call(paths.socket(), "GET", f"/v1/agents/{segment(agent_id)}")
    except KasmosError:
        return False
    return True


def _remembered(record: AgentRecord) -> AgentView:
    return judge(Traces(record=record, is_linked=False), now=utc_now())


def _has_ended(view: AgentView) -> bool:
    return not view.pid


def _state(view: AgentView) -> str:
    """Return an agent's state in words, the worst first."""
    if view.reason:
        return view.reason
    if view.health == "unknown":
        return "unknown"
    if view.is_paused:
        return "ready, paused" if view.is_ready else "paused"
    if view.is_ready:
        return "waits for you"
    if not view.is_active:
        return "exited with code 0"
    return view.stage or "quiet"
