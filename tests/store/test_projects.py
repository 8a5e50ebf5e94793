"""store.projects: which project is meant."""

from pathlib import Path

import pytest

from kasmos_plugin.errors import (
    BadArgument,
    Conflict,
    NoProject,
    NotFound,
    ProjectRequired,
    UnknownProject,
)
from kasmos_plugin.store import Store
from tests.conftest import approve, git


def other_repo(tmp_path: Path, name: str = "other") -> Path:
    directory = tmp_path / name
    directory.mkdir(parents=True)
    git(directory, "init", "-q")
    return directory


def test_adding_twice_changes_nothing(store: Store, repo: Path) -> None:
    first = store.projects.add(repo)
    assert store.projects.add(repo / ".") == first
    assert store.projects.list() == (first,)
    assert len(store.events.latest("repo", 10)) == 1


def test_a_linked_worktree_is_its_main_checkouts_project(
    store: Store, repo: Path, tmp_path: Path
) -> None:
    git(repo, "worktree", "add", "-q", "-b", "side", str(tmp_path / "a tree"))
    store.projects.add(tmp_path / "a tree", "named")
    assert store.projects.list()[0].path == str(repo)
    (tmp_path / "a tree" / "deep").mkdir()
    assert store.projects.around(tmp_path / "a tree" / "deep") == "named"
    assert store.projects.around(repo) == "named"
    assert store.projects.around(tmp_path) is None


def test_no_repository_is_an_error(store: Store, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="in no git repository"):
        store.projects.add(tmp_path)


@pytest.mark.parametrize("name", ["-", "a/b", "a\nb", " ", "\x1b[31m"])
def test_a_name_that_cannot_be_used_is_refused(store: Store, repo: Path, name: str) -> None:
    with pytest.raises(BadArgument):
        store.projects.add(repo, name)
    assert store.projects.names() == ()


def test_names_and_repositories_are_taken_once(store: Store, repo: Path, tmp_path: Path) -> None:
    store.projects.add(repo)
    with pytest.raises(Conflict, match="is project 'repo' already"):
        store.projects.add(repo, "again")
    with pytest.raises(Conflict, match="is the repository"):
        store.projects.add(other_repo(tmp_path), "repo")


def test_a_removed_project_with_tasks_stays_known(store: Store, project: str, repo: Path) -> None:
    store.tasks.create(project, "a")
    store.projects.remove(project)
    assert store.projects.names() == (project,)
    assert store.projects.list() == ()
    approve(store, project, "a", "task_delete")
    store.tasks.delete(project, "a")
    store.projects.add(repo)
    store.projects.remove(project)
    assert store.projects.names() == ()


def test_the_project_meant(store: Store, repo: Path, tmp_path: Path) -> None:
    with pytest.raises(NoProject):
        store.projects.resolve()
    with pytest.raises(UnknownProject, match="known projects: none"):
        store.projects.resolve("x")
    store.projects.add(repo)
    assert store.projects.resolve() == "repo"
    store.projects.add(other_repo(tmp_path))
    assert store.projects.resolve(cwd=repo) == "repo"
    assert store.projects.resolve("other", cwd=repo) == "other"
    with pytest.raises(ProjectRequired, match="'other', 'repo'"):
        store.projects.resolve(cwd=tmp_path)


def test_a_deleted_repository_is_listed_as_missing(store: Store, repo: Path) -> None:
    store.projects.add(repo)
    (repo / ".git").rename(repo.parent / "gone")
    repo.rmdir()
    assert store.projects.list()[0].is_missing
