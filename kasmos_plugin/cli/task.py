"""`kas task`: tasks of the store, made, shown and moved. The store decides; this only speaks."""

import sys
from contextlib import closing
from pathlib import Path
from typing import get_args

import click

from kasmos_plugin.cli.approvals import approvals, approve, decline
from kasmos_plugin.cli.input import read_plan, read_words
from kasmos_plugin.cli.marks import task_mark
from kasmos_plugin.cli.options import (
    InOrder,
    choose_project,
    completed,
    db_option,
    json_option,
    open_cli_store,
    open_for_reading,
    project_option,
    task_argument,
)
from kasmos_plugin.cli.output import console, echo_json, echo_models, note, table
from kasmos_plugin.cli.task_view import (
    cleaned,
    feedback_head,
    is_waiting,
    legal_now,
    progress_words,
    shape,
    task_lines,
)
from kasmos_plugin.contract.task import (
    ACTIVE_STATUSES,
    LifecycleEvent,
    PrCheckStatus,
    PrReviewDecision,
    Subtask,
    SubtaskStatus,
    Task,
    TaskStatus,
)
from kasmos_plugin.errors import BadArgument
from kasmos_plugin.rules.text import clean, clean_block
from kasmos_plugin.store import Store, utc_now
from kasmos_plugin.summary import age, plural, status_words


def complete_legal_events(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[str]:
    """Return the events that are legal for the task already named and begin like `incomplete`."""

    def legal(store: Store, project: str) -> tuple[str, ...]:
        named = str(context.params.get("task") or "")
        return legal_now(store.tasks.get(choose_project(store, project), named))

    return completed(context, incomplete, legal)


@click.group(cls=InOrder)
def task() -> None:
    """Create, show and move tasks.

    \b
    Examples:
      kas task create plan.md
      kas task list
      kas task transition auth implement_start

    TASK is a task's name; `.md` at its end is ignored.
    """


@task.command()
@click.argument("plan", required=False, default="", metavar="[PLAN.md | -]")
@click.option("--name", default="", help="The task's name.  [default: the file's, without .md]")
@click.option("--topic", default="", help="What it belongs to, shown beside the name.")
@click.option("--branch", default="", help="The branch that it is worked on.")
@project_option
@db_option
@json_option
def create(
    plan: str, name: str, topic: str, branch: str, project: str, db: Path | None, as_json: bool
) -> None:
    """Store a task, with a plan in markdown or without one.

    \b
    Examples:
      kas task create plan.md --branch feat/auth
      generate-plan | kas task create - --name auth
      kas task create --name spike

    A plan has headings `## Wave 1: title`, below each `### Task 1: title`, and a line
    `**Goal:** …`. One without waves is stored and shown as "no waves".
    """
    text = read_plan(plan) if plan else ""
    if not name and plan in ("", "-"):
        raise BadArgument("A task needs a name.", hint="--name NAME")
    with closing(open_cli_store(db)) as store:
        made = store.tasks.create(
            choose_project(store, project),
            name or Path(plan).name,
            plan_text=text,
            topic=topic,
            branch=branch,
        )
    _tell(made, as_json=as_json)


@task.command(name="list")
@click.option(
    "--status",
    "statuses",
    multiple=True,
    type=click.Choice([status.value for status in TaskStatus]),
    help="Only tasks in this status; may be repeated.",
)
@click.option("--all", "with_ended", is_flag=True, help="Also tasks that are done or cancelled.")
@project_option
@db_option
@json_option
def list_(
    statuses: tuple[str, ...], with_ended: bool, project: str, db: Path | None, as_json: bool
) -> None:
    """List the tasks of a project that are not done or cancelled.

    \b
    Examples:
      kas task list
      kas task list --status reviewing --status verifying
      kas task list --all --json
    """
    wanted = {TaskStatus(status) for status in statuses} or set(
        TaskStatus if with_ended else ACTIVE_STATUSES
    )
    with closing(open_for_reading(db)) as store:
        chosen = choose_project(store, project)
        every = store.tasks.list(chosen)
    found = [task for task in every if task.status in wanted]
    if as_json:
        echo_models(cleaned(task) for task in found)
        return
    now = utc_now()
    table(
        ("", "task", "status", "progress", "since", "branch", "topic"),
        [
            (
                shape(task_mark(task, is_waiting=is_waiting(task))),
                task.filename,
                status_words(task),
                progress_words(task),
                age(task.phase_at, now),
                task.branch,
                task.topic,
            )
            for task in found
        ],
        empty=f"no such task in project '{clean(chosen)}'"
        if every
        else f"no task in project '{clean(chosen)}' yet: kas task create PLAN.md",
    )
    if hidden := len(every) - len(found):
        note(f"{plural(hidden, 'other task')}: kas task list --all")


@task.command()
@task_argument
@click.option("--plan", "with_plan", is_flag=True, help="Print the plan as it was given.")
@project_option
@db_option
@json_option
def show(task: str, with_plan: bool, project: str, db: Path | None, as_json: bool) -> None:
    """Show one task with its waves, and the events that are legal now.

    \b
    Examples:
      kas task show auth
      kas task show auth --plan > plan.md
    """
    with closing(open_for_reading(db)) as store, store.reading():
        chosen = choose_project(store, project)
        found = store.tasks.get(chosen, task)
        waves = store.tasks.waves(chosen, task)
        subtasks = store.tasks.subtasks(chosen, task)
        plan = store.tasks.plan_text(chosen, task) if with_plan else ""
    if as_json:
        echo_json(
            {
                **cleaned(found).model_dump(mode="json"),
                "waves": [
                    wave.model_dump(mode="json")
                    | {"subtasks": [_plain(s) for s in subtasks if s.wave == wave.wave]}
                    for wave in waves
                ],
                "legal_events": [event.value for event in legal_now(found)],
                **({"plan": plan} if with_plan else {}),
            }
        )
    elif with_plan:
        sys.stdout.write(clean_block(plan) if sys.stdout.isatty() else plan)
    else:
        for line in task_lines(found, waves, subtasks, utc_now()):
            console().print(line, soft_wrap=True)


@task.command()
@task_argument
@click.option("--plan", metavar="FILE", help="A new plan, while it is planning or ready.")
@click.option("--topic", help="What it belongs to; an empty text clears it.")
@click.option("--branch", help="The branch that it is worked on; an empty text clears it.")
@click.option("--pr-url", metavar="URL", help="The pull request; an empty text clears it.")
@click.option("--pr-checks", type=click.Choice(get_args(PrCheckStatus)), help="Its checks.")
@click.option("--pr-review", type=click.Choice(get_args(PrReviewDecision)), help="Its review.")
@project_option
@db_option
@json_option
def update(
    task: str,
    plan: str | None,
    topic: str | None,
    branch: str | None,
    pr_url: str | None,
    pr_checks: PrCheckStatus | None,
    pr_review: PrReviewDecision | None,
    project: str,
    db: Path | None,
    as_json: bool,
) -> None:
    """Change what is given, and leave the rest.

    \b
    Examples:
      kas task update auth --pr-url https://github.com/me/it/pull/7 --pr-checks pending
      kas task update auth --plan plan.md
    """
    given = (plan, topic, branch, pr_url, pr_checks, pr_review)
    if all(value is None for value in given):
        raise BadArgument("Nothing to change was given.", hint="kas task update --help")
    text = read_plan(plan) if plan is not None else None
    with closing(open_cli_store(db)) as store:
        changed = store.tasks.update(
            choose_project(store, project),
            task,
            plan_text=text,
            topic=topic,
            branch=branch,
            pr_url=pr_url,
            pr_check_status=pr_checks,
            pr_review_decision=pr_review,
        )
    _tell(changed, as_json=as_json)


@task.command()
@task_argument
@click.argument(
    "event",
    metavar="EVENT",
    type=click.Choice([event.value for event in LifecycleEvent]),
    shell_complete=complete_legal_events,
)
@click.option(
    "--feedback",
    default="",
    metavar="TEXT | -",
    help="What review_changes_requested asks for; - reads standard input.",
)
@project_option
@db_option
@json_option
def transition(
    task: str, event: str, feedback: str, project: str, db: Path | None, as_json: bool
) -> None:
    """Apply a lifecycle event; an illegal one is refused with the legal ones.

    implement_start and advance_wave need a person's approval: kas task approve.

    \b
    Examples:
      kas task transition auth implement_start
      kas task transition auth advance_wave
      kas task transition auth review_changes_requested --feedback "name the unit"

    \b
    Events: plan_start, planner_finished, implement_start, wave_finished, advance_wave,
      implement_finished, review_approved, review_changes_requested, verify_approved,
      verify_failed, request_review, reimplement, start_over, cancel, reopen
    """
    text = read_words(feedback)
    with closing(open_cli_store(db)) as store:
        moved = store.tasks.transition(
            choose_project(store, project), task, LifecycleEvent(event), feedback=text
        )
    _tell(moved, as_json=as_json)


@task.command()
@task_argument
@click.argument("number", metavar="N", type=click.IntRange(min=1))
@click.argument("status", type=click.Choice([status.value for status in SubtaskStatus]))
@project_option
@db_option
@json_option
def subtask(
    task: str, number: int, status: str, project: str, db: Path | None, as_json: bool
) -> None:
    """Set the status of subtask N; the end of a wave is recorded by itself.

    \b
    Examples:
      kas task subtask auth 2 running
      kas task subtask auth 2 done

    A failed or blocked subtask blocks its task until a person has looked.
    """
    with closing(open_cli_store(db)) as store:
        moved = store.tasks.set_subtask(
            choose_project(store, project), task, number, SubtaskStatus(status)
        )
    _tell(moved, as_json=as_json)


@task.command()
@task_argument
@project_option
@db_option
@json_option
def feedback(task: str, project: str, db: Path | None, as_json: bool) -> None:
    """Show the feedback of reviews: the current one first, then the historical ones.

    \b
    Examples:
      kas task feedback auth
      kas task feedback auth --json
    """
    with closing(open_for_reading(db)) as store:
        found = store.tasks.feedback(choose_project(store, project), task)
    if as_json:
        echo_models(said.model_copy(update={"text": clean_block(said.text)}) for said in found)
        return
    if not found:
        print("no review has asked for changes")
    now = utc_now()
    for index, said in enumerate(found):
        if index:
            print()
        print(feedback_head(said, now))
        print(clean_block(said.text))


@task.command()
@task_argument
@click.argument("reason", metavar="REASON")
@project_option
@db_option
@json_option
def block(task: str, reason: str, project: str, db: Path | None, as_json: bool) -> None:
    """Say that a task waits for a person, and why.

    \b
    Examples:
      kas task block auth "which of the two token formats?"
    """
    with closing(open_cli_store(db)) as store:
        blocked = store.tasks.block(choose_project(store, project), task, read_words(reason))
    _tell(blocked, as_json=as_json)


@task.command()
@task_argument
@project_option
@db_option
@json_option
def unblock(task: str, project: str, db: Path | None, as_json: bool) -> None:
    """Say that what a task waited for is decided.

    \b
    Examples:
      kas task unblock auth
    """
    with closing(open_cli_store(db)) as store:
        free = store.tasks.unblock(choose_project(store, project), task)
    _tell(free, as_json=as_json)


@task.command()
@task_argument
@project_option
@db_option
def delete(task: str, project: str, db: Path | None) -> None:
    """Delete a task with its plan and feedback, once a person has approved it; its events stay.

    \b
    Examples:
      kas task approve auth --step task_delete
      kas task delete auth
    """
    with closing(open_cli_store(db)) as store:
        chosen = choose_project(store, project)
        found = store.tasks.get(chosen, task)
        store.tasks.delete(chosen, task)
    print(f"deleted {clean(found.filename)}")


def _tell(task: Task, *, as_json: bool) -> None:
    if as_json:
        echo_json(cleaned(task))
        return
    words = [status_words(task), progress_words(task)]
    if task.block_reason:
        words.append(f"blocked: {clean(task.block_reason)}")
    print(f"{clean(task.filename)}: {', '.join(words)}")


def _plain(subtask: Subtask) -> dict[str, object]:
    return subtask.model_dump(mode="json", exclude={"wave"})


for _command in (approve, decline, approvals):
    task.add_command(_command)
