"""Projects of the store: a name, and the repository it stands for. Knows no task."""

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from kasmos_plugin.contract.control import Repository
from kasmos_plugin.contract.event import EventKind
from kasmos_plugin.errors import (
    BadArgument,
    Conflict,
    NoProject,
    NotFound,
    ProjectRequired,
    UnknownProject,
)
from kasmos_plugin.repository import find_repository
from kasmos_plugin.rules.text import is_clean_name
from kasmos_plugin.store.database import Database, to_us
from kasmos_plugin.store.events import Events


class Projects:
    """The known projects. One without a path is known through its tasks alone."""

    def __init__(self, database: Database, events: Events, now: Callable[[], datetime]) -> None:
        self._database = database
        self._events = events
        self._now = now

    def names(self) -> tuple[str, ...]:
        """Return every known project, sorted."""
        rows = self._database.rows("SELECT name FROM projects ORDER BY name")
        return tuple(str(row[0]) for row in rows)

    def list(self) -> tuple[Repository, ...]:
        """Return every registered repository, sorted by project."""
        rows = self._database.rows(
            "SELECT name, path FROM projects WHERE path IS NOT NULL ORDER BY name"
        )
        return tuple(
            Repository(project=name, path=path, is_missing=not Path(path).is_dir())
            for name, path in rows
        )

    def add(self, path: Path, project: str = "") -> Repository:
        """Register the repository around `path`; the same again changes nothing.

        A linked worktree registers its main checkout. Without `project`, the directory's name.

        Raises:
            NotFound: `path` is in no git repository.
            BadArgument: the name cannot be a project's.
            Conflict: the name or the repository is taken by another.
        """
        found = find_repository(path)
        if found is None and not path.is_dir():
            raise NotFound(f"There is no directory '{path}'.", hint="kas daemon add PATH")
        if found is None:
            raise NotFound(f"'{path}' is in no git repository.", hint=f"git init '{path}'")
        root = str(found.main)
        with self._database.writing():
            by_path = self._database.row("SELECT name FROM projects WHERE path = ?", (root,))
            name = project or (by_path[0] if by_path else found.main.name)
            if not is_clean_name(name) or name == "-" or "/" in name:
                raise BadArgument(
                    f"'{name}' cannot be a project's name.", hint="--project NAME, one line, no '/'"
                )
            if by_path is not None and by_path[0] != name:
                raise Conflict(
                    f"The repository '{root}' is project '{by_path[0]}' already.",
                    hint=f"kas daemon remove '{by_path[0]}'",
                )
            by_name = self._database.row("SELECT path FROM projects WHERE name = ?", (name,))
            if by_name is not None and by_name[0] not in (None, root):
                raise Conflict(
                    f"Project '{name}' is the repository '{by_name[0]}' already.",
                    hint="--project NAME",
                )
            if by_path is None:
                self._database.write(
                    "INSERT INTO projects VALUES (?, ?, ?)"
                    " ON CONFLICT (name) DO UPDATE SET path = excluded.path",
                    (name, root, to_us(self._now())),
                )
                self._events.note(name, EventKind.PROJECT_ADDED, "project added")
        return Repository(project=name, path=root)

    def remove(self, project: str) -> None:
        """Forget the repository of `project`; its tasks stay, and keep the project known.

        Raises:
            UnknownProject: there is no such project.
        """
        with self._database.writing():
            self.require(project)
            has_tasks = self._database.row(
                "SELECT 1 FROM tasks WHERE project = ? LIMIT 1", (project,)
            )
            if has_tasks:
                self._database.write("UPDATE projects SET path = NULL WHERE name = ?", (project,))
            else:
                self._database.write("DELETE FROM projects WHERE name = ?", (project,))
            self._events.note(project, EventKind.PROJECT_REMOVED, "project removed")

    def require(self, project: str) -> None:
        """Make sure that `project` is known.

        Raises:
            UnknownProject: it is not; the error names those that are.
        """
        if self._database.row("SELECT 1 FROM projects WHERE name = ?", (project,)) is None:
            raise UnknownProject(project, self.names())

    def around(self, path: Path) -> str | None:
        """Return the project whose repository, or a linked worktree of it, contains `path`."""
        found = find_repository(path)
        if found is None:
            return None
        row = self._database.row(
            "SELECT name FROM projects WHERE path IN (?, ?)", (str(found.main), str(found.root))
        )
        return str(row[0]) if row is not None else None

    def resolve(self, wanted: str = "", *, cwd: Path | None = None) -> str:
        """Return the project meant: `wanted`, else the one around `cwd`, else the only one.

        Raises:
            UnknownProject: `wanted` is not known.
            ProjectRequired: several are known and none is meant.
            NoProject: none is known.
        """
        if wanted:
            self.require(wanted)
            return wanted
        if cwd is not None and (around := self.around(cwd)) is not None:
            return around
        known = self.names()
        if len(known) == 1:
            return known[0]
        raise ProjectRequired(known) if known else NoProject()
