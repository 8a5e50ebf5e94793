"""What is known now: the store's rows and the daemon's view, read once. Decides nothing.

Used by the daemon, by serve and by the command line when no daemon answers. `Facts` holds up to
`MAX_CAP` of everything, so that one reading serves every question about a project.
"""

from kasmos_plugin.contract.control import AgentsReply
from kasmos_plugin.contract.facts import DaemonView, Facts, FocusFacts
from kasmos_plugin.contract.live_status import MAX_CAP, Notice, NoticeCode
from kasmos_plugin.errors import ProjectRequired, UnknownProject, UnknownTask
from kasmos_plugin.store import Store

NO_PROJECTS = Notice(code="no_projects", message="no project is registered yet")

WHY_ABSENT: dict[NoticeCode, str] = {
    "daemon_unreachable": "the daemon does not answer: agents are unknown, not absent",
    "daemon_incompatible": "the daemon's answer is unreadable: agents are unknown",
    "daemon_other_store": "the daemon watches another store: agents of this one are unknown",
}
"""The usual words for a daemon that is not believed; they leave in snapshots and name no path."""


def daemon_absent(code: NoticeCode = "daemon_unreachable", message: str = "") -> DaemonView:
    """Return the view of a daemon that could not be asked, or not be believed.

    Without a `message`, the usual words for `code`.
    """
    notice = Notice(code=code, message=message or WHY_ABSENT[code])
    return DaemonView(is_running=False, notices=(notice,))


def daemon_answered(
    reply: AgentsReply, *, store: Store, notices: tuple[Notice, ...] = ()
) -> DaemonView:
    """Return the view of a daemon that answered; one of another store sees nothing of this one."""
    if reply.store_id != store.store_id:
        return daemon_absent("daemon_other_store")
    return DaemonView(
        is_running=True,
        uptime_s=reply.uptime_s,
        repo_count=reply.repo_count,
        projects=reply.projects,
        agents=reply.agents,
        notices=notices,
    )


def resolve_project(store: Store, wanted: str, daemon: DaemonView) -> str:
    """Return the project meant: `wanted`, or the only known one, or "" when none is known.

    Raises:
        UnknownProject: neither the store nor the daemon knows `wanted`.
        ProjectRequired: several are known and none is wanted.
    """
    known = _known_projects(store, daemon)
    if wanted:
        if wanted not in known:
            raise UnknownProject(wanted, known)
        return wanted
    if len(known) > 1:
        raise ProjectRequired(known)
    return known[0] if known else ""


def gather(store: Store, daemon: DaemonView, *, project: str, focus: str = "") -> Facts:
    """Read everything about `project` in one view of the store; `focus` names a task.

    A project of "" has no tasks, and the notice `no_projects` when none is known at all. An unknown
    focus is a notice, not an error.

    Raises:
        StoreError: the store cannot be read.
    """
    notices: list[Notice] = []
    with store.reading():
        projects = _known_projects(store, daemon)
        if not projects:
            notices.append(NO_PROJECTS)
        if store.is_read_only:
            notices.append(
                Notice(code="store_read_only", message="the store can be read but not written")
            )
        focused = _focus(store, project, focus, notices) if focus.strip() and project else None
        return Facts(
            project=project,
            projects=projects,
            counts=store.tasks.counts(project),
            tasks=store.tasks.active(project, MAX_CAP),
            waiting=store.tasks.waiting(project),
            events=store.events.latest(project, MAX_CAP) if project else (),
            event_count=store.events.count(project),
            daemon=daemon,
            focus=focused,
            notices=tuple(notices),
        )


def _known_projects(store: Store, daemon: DaemonView) -> tuple[str, ...]:
    return tuple(sorted({*store.projects.names(), *daemon.projects}))


def _focus(store: Store, project: str, name: str, notices: list[Notice]) -> FocusFacts | None:
    try:
        task = store.tasks.get(project, name)
    except UnknownTask as error:
        notices.append(Notice(code="focus_not_found", message=error.message))
        return None
    waves = store.tasks.waves(project, name)
    if len(waves) != task.total_waves:
        notices.append(
            Notice(code="plan_unreadable", message="the waves of the plan cannot be read")
        )
    return FocusFacts(task=task, waves=waves, subtasks=store.tasks.subtasks(project, name))
