"""facts: the store and the daemon's view, read once."""

import pytest

from kasmos_plugin.contract.control import AgentsReply
from kasmos_plugin.contract.facts import DaemonView
from kasmos_plugin.contract.task import LifecycleEvent
from kasmos_plugin.errors import ProjectRequired, UnknownProject
from kasmos_plugin.facts import daemon_absent, daemon_answered, gather, resolve_project
from kasmos_plugin.store import Store

PLAN = "## Wave 1\n### Task 1: a\n"


def reply(store_id: str) -> AgentsReply:
    return AgentsReply(
        instance="i", uptime_s=5, repo_count=1, store_id=store_id, projects=("repo",), agents=()
    )


def test_a_daemon_of_another_store_sees_nothing_of_this_one(store: Store) -> None:
    assert daemon_answered(reply(store.store_id), store=store).is_running
    other = daemon_answered(reply("other"), store=store)
    assert (other.is_running, other.projects, [n.code for n in other.notices]) == (
        False,
        (),
        ["daemon_other_store"],
    )


def test_projects_are_those_of_store_and_daemon(store: Store, project: str) -> None:
    absent = daemon_absent()
    assert resolve_project(store, "", absent) == project
    assert resolve_project(store, project, absent) == project
    with pytest.raises(UnknownProject):
        resolve_project(store, "other", absent)
    seen = DaemonView(is_running=True, projects=("other",))
    assert resolve_project(store, "other", seen) == "other"
    with pytest.raises(ProjectRequired) as caught:
        resolve_project(store, "", seen)
    assert caught.value.known == ("other", "repo")


def test_nothing_known_is_a_notice_not_an_error(store: Store) -> None:
    view = DaemonView(is_running=True)
    facts = gather(store, view, project=resolve_project(store, "", view))
    assert [notice.code for notice in facts.notices] == ["no_projects"]


def test_a_focus_is_found_by_its_trimmed_name_in_any_status(store: Store, project: str) -> None:
    store.tasks.create(project, "done", plan_text=PLAN)
    store.tasks.transition(project, "done", LifecycleEvent.CANCEL)
    facts = gather(store, daemon_absent(), project=project, focus=" done.md ")
    assert facts.focus is not None
    assert facts.focus.task.status == "cancelled"
    assert facts.tasks == ()


def test_an_unknown_focus_is_a_notice(store: Store, project: str) -> None:
    facts = gather(store, daemon_absent(), project=project, focus="nope")
    assert facts.focus is None
    assert [notice.code for notice in facts.notices] == ["focus_not_found"]


def test_a_plan_whose_waves_are_gone_is_unreadable_not_empty(store: Store, project: str) -> None:
    store.tasks.create(project, "a", plan_text=PLAN)
    with store.writing():
        store._database.write("DELETE FROM waves")
    facts = gather(store, daemon_absent(), project=project, focus="a")
    assert "plan_unreadable" in [notice.code for notice in facts.notices]


def test_events_and_tasks_come_from_the_same_store(store: Store, project: str) -> None:
    store.tasks.create(project, "a")
    facts = gather(store, daemon_absent(), project=project)
    assert [task.filename for task in facts.tasks] == ["a"]
    assert facts.event_count == len(facts.events) == 2
