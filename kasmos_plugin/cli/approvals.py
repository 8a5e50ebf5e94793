"""`kas task approve`, `decline` and `approvals`: a person's yes or no, given at a terminal.

A program of the same user can still forge a terminal; `docs/approvals.md` says what this stops.
"""

import difflib
import getpass
import os
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import click

from kasmos_plugin.cli.options import (
    choose_project,
    db_option,
    json_option,
    open_cli_store,
    open_for_reading,
    project_option,
    task_argument,
)
from kasmos_plugin.cli.output import echo_json, echo_models, note, table
from kasmos_plugin.contract.agent import ProcessIdentity
from kasmos_plugin.contract.approval import Approval, Step
from kasmos_plugin.contract.task import Subtask, Task
from kasmos_plugin.errors import BadArgument, Exit, NoTerminal
from kasmos_plugin.rules import approval as rules
from kasmos_plugin.rules.lifecycle import legal_events, position_of
from kasmos_plugin.rules.text import clean, clean_block
from kasmos_plugin.store import Store, utc_now
from kasmos_plugin.summary import age, status_words

_STEPS = click.Choice([step.value for step in Step])


@click.command()
@task_argument
@click.option("--step", type=_STEPS, help="What is approved.  [default: what is asked for]")
@project_option
@db_option
@json_option
def approve(task: str, step: str | None, project: str, db: Path | None, as_json: bool) -> None:
    """Approve one step of a task, after reading its plan. For a person, at a terminal.

    \b
    Examples:
      kas task approve auth                      what is asked for, or what comes next
      kas task approve auth --step task_delete

    \b
    Steps: implement_start, advance_wave, agent_start, agent_send, task_delete, merge, push

    It shows the plan, or what changed in it since the last approval, and asks. The approval is for
    this step and this plan, holds for 24 hours, and is used once. There is no way to say yes
    without being asked, and agents that kasmos knows are refused.
    """
    with closing(open_cli_store(db)) as store:
        _require_person(store)
        chosen = choose_project(store, project)
        found = store.tasks.get(chosen, task)
        wanted = _step(store, found, step)
        plan = store.tasks.plan_text(chosen, task)
        print("\n".join(_question(store, found, wanted, plan)), file=sys.stderr)
        if not click.confirm("approve?", default=False, err=True):
            note("nothing was approved")
            click.get_current_context().exit(Exit.FAILED)
        made = store.approvals.decide(
            *(chosen, task, wanted, "approved"),
            by=getpass.getuser(),
            plan_hash=rules.plan_hash(plan),
        )
    if as_json:
        echo_json(made)
    else:
        print(f"approved: {rules.step_words(made.step, made.wave)}, for 24 hours, once")


@click.command()
@task_argument
@click.option("--step", type=_STEPS, help="What is declined.  [default: what is asked for]")
@project_option
@db_option
@json_option
def decline(task: str, step: str | None, project: str, db: Path | None, as_json: bool) -> None:
    """Decline what is asked for.

    \b
    Examples:
      kas task decline auth
      kas task decline auth --step merge
    """
    with closing(open_cli_store(db)) as store:
        _refuse_agents(store)
        chosen = choose_project(store, project)
        found = store.tasks.get(chosen, task)
        asked = Step(step) if step is not None else found.pending_step
        if asked is None:
            raise BadArgument(
                f"Nothing is asked for in task '{clean(found.filename)}'.",
                hint=f"kas task approvals --project '{clean(chosen)}'",
            )
        plan = rules.plan_hash(store.tasks.plan_text(chosen, task))
        made = store.approvals.decide(
            chosen, task, asked, "declined", by=getpass.getuser(), plan_hash=plan
        )
    if as_json:
        echo_json(made)
    else:
        print(f"declined: {rules.step_words(made.step, made.wave)}")


@click.command()
@click.option("--all", "with_past", is_flag=True, help="Also the declined, used and lapsed ones.")
@project_option
@db_option
@json_option
def approvals(with_past: bool, project: str, db: Path | None, as_json: bool) -> None:
    """List what a person is asked to approve, and what is approved and not used.

    \b
    Examples:
      kas task approvals
      kas task approvals --all --json
    """
    with closing(open_for_reading(db)) as store:
        chosen = choose_project(store, project)
        found = store.approvals.list(chosen, is_open=not with_past)
    shown = [one.model_copy(update={"reason": clean(one.reason)}) for one in found]
    if as_json:
        echo_models(shown)
        return
    table(
        ("task", "step", "state", "since", "by", "reason"),
        [_row(one) for one in shown],
        empty="nothing is asked for, and nothing is approved",
    )


def _row(one: Approval) -> tuple[str, ...]:
    since = age(one.used_at or one.decided_at or one.requested_at, utc_now())
    words = rules.step_words(one.step, one.wave)
    return (one.task, words, one.state, since, one.decided_by, one.reason)


def _step(store: Store, task: Task, wanted: str | None) -> Step:
    """Return the step meant: the one named, the one asked for, or the one that comes next.

    Raises:
        BadArgument: none is meant, or the lifecycle does not allow it now.
    """
    legal = [step for event in legal_events(position_of(task)) if (step := rules.gate(event))]
    name = clean(task.filename)
    step = Step(wanted) if wanted else task.pending_step or next(iter(legal), None)
    if step is None:
        raise BadArgument(
            f"Task '{name}' is {status_words(task)}: no step of it needs an approval now.",
            hint=f"kas task approve '{name}' --step STEP",
        )
    gated = (Step.IMPLEMENT_START, Step.ADVANCE_WAVE)
    if step in gated and step not in legal:
        raise BadArgument(
            f"Task '{name}' is {status_words(task)}: {step} is not possible now.",
            hint=f"kas task show '{name}'",
        )
    return step


def _question(store: Store, task: Task, step: Step, plan: str) -> Iterator[str]:
    """Yield what a person reads before the question."""
    wave = rules.wave_of(step, position_of(task))
    yield f"project  {clean(task.project)}"
    yield f"task     {clean(task.filename)}, {status_words(task)}"
    yield f"step     {step}: {rules.step_words(step, wave)}"
    asked = store.approvals.list(task.project, task.filename, is_open=True)
    for one in asked:
        if one.state == "pending" and one.step is step and one.reason:
            yield f"reason   {clean(one.reason)}"
    yield ""
    before = store.approvals.last_plan(task.project, task.filename)
    if before is None:
        yield from clean_block(plan).splitlines() or ["the task has no plan"]
    elif before != plan:
        yield "the plan has changed since it was approved:"
        lines = (clean_block(before).splitlines(), clean_block(plan).splitlines())
        yield from difflib.unified_diff(*lines, "approved", "now", lineterm="")
    else:
        yield "the plan is the one that was approved before"
        subtasks = store.tasks.subtasks(task.project, task.filename)
        yield from _wave_lines(subtasks, wave)
    yield ""


def _wave_lines(subtasks: tuple[Subtask, ...], wave: int) -> Iterator[str]:
    for one in subtasks:
        if one.wave == wave:
            yield f"  {one.number}. {clean(one.title)}"


def _require_person(store: Store) -> None:
    """Make sure that a person can be asked, and that no agent asks.

    Raises:
        NoTerminal: there is no terminal, or an agent that kasmos knows runs the command.
    """
    _refuse_agents(store)
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise NoTerminal(
            "Only a person at a terminal can approve.",
            hint="run it in a terminal of your own, not through a program",
        )


def _refuse_agents(store: Store) -> None:
    """Make sure that this command does not run below an agent.

    Raises:
        NoTerminal: it does.
    """
    known = {
        process
        for agent in store.agents.listed()
        if agent.end is None
        for process in (agent.shim, agent.process)
        if process is not None
    }
    if os.environ.get("KASMOS_AGENT_ID") or known.intersection(_ancestors()):
        raise NoTerminal(
            "An agent runs this command; a person decides.",
            hint="run it in a terminal that no agent has started",
        )


def _ancestors() -> Iterator[ProcessIdentity]:
    """Yield the identities of the processes that this one descends from."""
    import psutil  # Only a decision needs it.

    from kasmos_plugin.daemon.processes import identify

    for parent in psutil.Process().parents():
        if (identity := identify(parent.pid)) is not None:
            yield identity
