"""repository: what a directory says of its git repository."""

from pathlib import Path

from kasmos_plugin.repository import find_repository
from tests.conftest import git


def test_the_main_checkout(repo: Path) -> None:
    (repo / "deep" / "er").mkdir(parents=True)
    found = find_repository(repo / "deep" / "er")
    assert found is not None
    assert (found.root, found.main, found.branch) == (repo, repo, "main")


def test_a_linked_worktree_with_spaces_and_other_letters(repo: Path, tmp_path: Path) -> None:
    """F2: paths are read as they are."""
    tree = tmp_path / "bäum mit leer"
    git(repo, "worktree", "add", "-q", "-b", "feature/ä", str(tree))
    found = find_repository(tree)
    assert found is not None
    assert (found.root, found.main, found.branch) == (tree, repo, "feature/ä")


def test_a_detached_head_has_no_branch(repo: Path) -> None:
    """F2: the branch may be missing."""
    git(repo, "checkout", "-q", "--detach")
    found = find_repository(repo)
    assert found is not None
    assert found.branch == ""


def test_no_repository(tmp_path: Path) -> None:
    assert find_repository(tmp_path) is None


def test_a_broken_git_file_is_no_repository(tmp_path: Path) -> None:
    (tmp_path / ".git").write_bytes(b"\xff\xfe nothing")
    assert find_repository(tmp_path) is None
