"""What a directory says of its git repository, read from `.git` without running git.

Knows files only: the working tree's root, the main checkout that a linked worktree belongs to, and
the branch. Source: gitrepository-layout(5), git-worktree(1).
"""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class RepositoryFacts:
    """One working tree of a repository."""

    root: Path
    """The working tree's top directory."""
    main: Path
    """The main checkout's top directory: `root` itself unless this is a linked worktree."""
    branch: str
    """The branch checked out; empty when HEAD is detached or cannot be read."""


def find_repository(path: Path) -> RepositoryFacts | None:
    """Return the repository whose working tree contains `path`, or None when there is none."""
    path = path.expanduser().resolve()
    for root in (path, *path.parents):
        git = root / ".git"
        if git.is_dir():
            return RepositoryFacts(root=root, main=root, branch=_branch(git))
        if git.is_file() and (directory := _pointer(git)) is not None:
            return RepositoryFacts(
                root=root, main=_main_checkout(directory) or root, branch=_branch(directory)
            )
    return None


def _pointer(file: Path) -> Path | None:
    text = _read(file)
    if not text.startswith("gitdir:"):
        return None
    return (file.parent / text.removeprefix("gitdir:").strip()).resolve()


def _main_checkout(git_directory: Path) -> Path | None:
    common = _read(git_directory / "commondir").strip()
    if not common:
        return None
    main_git = (git_directory / common).resolve()
    return main_git.parent if main_git.name == ".git" else None


def _branch(git_directory: Path) -> str:
    head = _read(git_directory / "HEAD").strip()
    prefix = "ref: refs/heads/"
    return head.removeprefix(prefix) if head.startswith(prefix) else ""


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return ""
