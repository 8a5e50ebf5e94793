"""`kas monitor`: what agents do, in the terminal, as JSON, as a page. Changes nothing."""

import sys
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, get_args
from urllib.parse import urlencode

import click

from kasmos_plugin.cli.follow import follow
from kasmos_plugin.cli.input import read_since
from kasmos_plugin.cli.look import MENDING, Asked, look, look_json
from kasmos_plugin.cli.marks import level_mark
from kasmos_plugin.cli.options import (
    InOrder,
    choose_project,
    complete_tasks,
    db_option,
    json_option,
    open_for_reading,
    project_option,
)
from kasmos_plugin.cli.output import console, echo_json, note
from kasmos_plugin.cli.page import browse, require_page, write_page
from kasmos_plugin.contract.event import EventKind, EventRecord
from kasmos_plugin.contract.live_status import Section
from kasmos_plugin.contract.monitor import DEFAULT_SERVE_URL, DisplayMode, Theme
from kasmos_plugin.contract.task import LifecycleEvent
from kasmos_plugin.rules.text import NAME_LIMIT, clean
from kasmos_plugin.store import utc_now
from kasmos_plugin.store.task_reads import task_name
from kasmos_plugin.summary import describe

if TYPE_CHECKING:
    from rich.text import Text

EVENT_LIMIT = 20
EVENT_LIMIT_SINCE = 1_000
_KIND_WIDTH = 18
_KINDS = [kind.value for kind in (*EventKind, *LifecycleEvent)]


@click.group(cls=InOrder, invoke_without_command=True)
@click.option("--focus", default="", metavar="TASK", help="The task to show in full.")
@project_option
@db_option
@click.pass_context
def monitor(context: click.Context, focus: str, project: str, db: Path | None) -> None:
    """Watch what the agents are doing, live, until q or Ctrl-C.

    \b
    Examples:
      kas monitor
      kas monitor --project demo --focus auth
      kas monitor | tee log.txt             plain lines, one block for each change

    Nothing here changes a task or an agent.
    """
    if context.invoked_subcommand is not None:
        return
    from kasmos_plugin.cli.live import watch  # rich and threads, for the live view alone.

    watch(project=project, focus=focus, db=db)


@monitor.command()
@click.option("--cap", metavar="N", help="At most N of each list.  [default: 20; at most 100]")
@click.option(
    "--include",
    default="",
    metavar="LIST",
    help=f"More sections, with commas between: {', '.join(get_args(Section))}.",
)
@click.option(
    "--focus",
    default="",
    metavar="TASK",
    shell_complete=complete_tasks,
    help="The task to show in full.",
)
@project_option
@db_option
@json_option
def status(
    cap: str | None, include: str, focus: str, project: str, db: Path | None, as_json: bool
) -> None:
    """Print one snapshot: who waits for a person, which agents run, how far the tasks are.

    \b
    Examples:
      kas monitor status
      kas monitor status --json --include tasks,events --focus auth

    Without a daemon it is read from the store, and says that agents are unknown.
    """
    sections = tuple(include.split(",")) if include else ()
    asked = Asked(project=project, cap=cap, include=sections, focus=focus, db=db)
    if as_json:
        sys.stdout.buffer.write(look_json(asked) + b"\n")
    else:
        seen = look(asked)
        print(describe(seen))
        for notice in seen.notices:
            if hint := MENDING.get(notice.code):
                note(f"hint: {hint}")


@monitor.command()
@click.option("--follow", "-f", "is_followed", is_flag=True, help="Go on until Ctrl-C.")
@click.option(
    "--task",
    default="",
    metavar="TASK",
    shell_complete=complete_tasks,
    help="Only events of this task.",
)
@click.option(
    "--kind",
    metavar="KIND",
    type=click.Choice(_KINDS),
    help="Only events of this kind, such as wave_finished.",
)
@click.option("--since", metavar="WHEN", help="Only events after 10m, 2h, 3d ago, or a time.")
@click.option(
    "--limit",
    type=click.IntRange(0, EVENT_LIMIT_SINCE),
    metavar="N",
    help="At most the newest N.  [default: 20; 1000 with --since]",
)
@project_option
@db_option
@json_option
def events(
    is_followed: bool,
    task: str,
    kind: str | None,
    since: str | None,
    limit: int | None,
    project: str,
    db: Path | None,
    as_json: bool,
) -> None:
    """Print what happened, oldest first; as JSON, one event a line.

    \b
    Examples:
      kas monitor events --since 10m
      kas monitor events --follow --task auth
      kas monitor events --kind wave_finished --json
    """
    after = read_since(since, utc_now()) if since is not None else None
    if limit is None:
        limit = EVENT_LIMIT if after is None else EVENT_LIMIT_SINCE
    kind = kind or ""
    task = task_name(task)
    with closing(open_for_reading(db)) as store:
        chosen = choose_project(store, project)
        with store.reading():
            last_id = store.events.last_id()
            newest = store.events.latest(chosen, limit, task=task, kind=kind, since=after)
        _print_events(reversed(newest), as_json=as_json)
        if is_followed:
            try:
                stream = follow(store, last_id, project=chosen, task=task, kind=kind)
                _print_events(stream, as_json=as_json)
            except KeyboardInterrupt:
                return


@monitor.command()
@click.option(
    "--out",
    required=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The page to write.",
)
@click.option(
    "--task",
    default="",
    metavar="TASK",
    shell_complete=complete_tasks,
    help="The task that it shows first.",
)
@click.option(
    "--serve-url",
    default=DEFAULT_SERVE_URL,
    show_default=True,
    metavar="URL",
    help="The kas serve that it asks.",
)
@click.option(
    "--mode",
    default="fullscreen",
    show_default=True,
    type=click.Choice(get_args(DisplayMode)),
    help="How it is drawn first.",
)
@click.option("--theme", type=click.Choice(get_args(Theme)), help="[default: the browser's]")
@click.option("--open", "is_opened", is_flag=True, help="Open it in the browser.")
@click.option("--force", is_flag=True, help="Overwrite a file that is no such page.")
@project_option
def widget(
    out: Path,
    task: str,
    serve_url: str,
    mode: DisplayMode,
    theme: Theme | None,
    is_opened: bool,
    force: bool,
    project: str,
) -> None:
    """Write the monitor as one page that works from a file, beside a running `kas serve`.

    \b
    Examples:
      kas monitor widget --out monitor.html --open
      kas monitor widget --out pip.html --project demo --mode pip --theme dark

    The page holds a secret of this user (the file is made with mode 0600): do not publish it.
    """
    from kasmos_plugin.serve.secret import preview_secret
    from kasmos_plugin.widget import preview_html

    html = preview_html(
        serve_url=serve_url,
        secret=preview_secret(),
        project=project,
        task=task,
        mode=mode,
        theme=theme,
    )
    write_page(out, html.encode(), force=force)
    print(out)
    if is_opened:
        browse(out.absolute().as_uri())


@monitor.command()
@click.option(
    "--out",
    required=True,
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="The directory to write, made where there is none.",
)
@json_option
def bundle(out: Path, as_json: bool) -> None:
    """Write the monitor as files for a host of your own, with a manifest that lists them.

    \b
    Examples:
      kas monitor bundle --out vendor/kasmos-monitor
      kas monitor bundle --out vendor/kasmos-monitor --json     print the manifest

    Prints each file that changed. A directory with anything else in it is left alone.
    """
    from kasmos_plugin.cli.bundle import write_bundle
    from kasmos_plugin.widget.bundle import MANIFEST_NAME, bundle_files, bundle_manifest

    written = write_bundle(out, bundle_files(), manifest=MANIFEST_NAME)
    if as_json:
        echo_json(bundle_manifest())
        return
    for path in written:
        print(path)
    if not written:
        note(f"{out} is up to date")


@monitor.command(name="open")
@click.option(
    "--serve-url",
    default=DEFAULT_SERVE_URL,
    show_default=True,
    metavar="URL",
    help="The kas serve that shows it.",
)
@project_option
@click.option("--task", default="", metavar="NAME", help="The task in focus.")
def open_(serve_url: str, project: str, task: str) -> None:
    """Open the monitor page of a running `kas serve` in the browser.

    \b
    Examples:
      kas monitor open
      kas monitor open --project shop --task plan
      kas monitor open --serve-url http://127.0.0.1:8080
    """
    url = serve_url.rstrip("/") + "/"
    require_page(url)
    scope = {name: value for name, value in (("project", project), ("task", task)) if value}
    page = f"{url}?{urlencode(scope)}" if scope else url
    print(page)
    browse(page)


def _print_events(records: Iterable[EventRecord], *, as_json: bool) -> None:
    out = console()
    for record in records:
        event = record.model_copy(
            update={
                "project": clean(record.project, NAME_LIMIT),
                "kind": clean(record.kind, NAME_LIMIT),
                "message": clean(record.message),
                "task": clean(record.task, NAME_LIMIT),
                "agent": clean(record.agent, NAME_LIMIT),
            }
        )
        if as_json:
            print(event.model_dump_json(), flush=True)
        else:
            out.print(_event_line(event), soft_wrap=True)
            sys.stdout.flush()


def _event_line(event: EventRecord) -> "Text":
    from rich.text import Text

    mark = level_mark(event.level)
    at = event.at.astimezone()
    subject = event.task or event.agent
    return Text.assemble(
        (f"{at:%Y-%m-%d %H:%M:%S}", "dim"),
        (f" {mark.shape} ", mark.style),
        f"{event.kind:<{_KIND_WIDTH}}  ",
        (f"{subject}: " if subject else "", "bold"),
        event.message,
    )
