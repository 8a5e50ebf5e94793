"""The one family of expected failures. Knows nothing of who shows them.

Every expected failure is raised where it is known and caught at an edge (CLI, MCP tool, HTTP
route). It carries what happened (`message`), the command that mends it (`hint`), a stable `code`
for the wire, the exit code of the CLI and the HTTP status.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


class Exit:
    """Exit codes of `kas`; plain numbers, because `enum` costs a hook's command a tenth."""

    OK = 0
    FAILED = 1
    USAGE = 2
    UNREACHABLE = 3


class KasmosError(Exception):
    """An expected failure: `message` says what happened, `hint` names the command that mends it."""

    code: str = "failed"
    exit_code: int = Exit.FAILED
    http_status: int = 400

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class BadArgument(KasmosError):
    """A value that a person or a program gave cannot be used."""

    code = "bad_argument"
    exit_code = Exit.USAGE


class NotFound(KasmosError):
    """A named thing does not exist."""

    code = "not_found"
    http_status = 404


class Conflict(KasmosError):
    """The request is understood, but the present state forbids it."""

    code = "conflict"
    http_status = 409


class UnknownProject(NotFound):
    """The named project is in neither the store nor the daemon's registry."""

    code = "unknown_project"

    def __init__(self, project: str, known: "Sequence[str]") -> None:
        names = ", ".join(f"'{name}'" for name in known) or "none"
        super().__init__(
            f"Unknown project '{project}'; known projects: {names}.",
            hint=f"kas daemon add PATH --project {project}",
        )
        self.known = tuple(known)


class ProjectRequired(KasmosError):
    """Several projects are known and none was chosen."""

    code = "project_required"
    exit_code = Exit.USAGE

    def __init__(self, known: "Sequence[str]") -> None:
        names = ", ".join(f"'{name}'" for name in known)
        super().__init__(
            f"Several projects are known, choose one: {names}.",
            hint=f"--project {known[0]}, or set KASMOS_PROJECT",
        )
        self.known = tuple(known)


class NoProject(KasmosError):
    """No project is known at all, and the command needs one."""

    code = "no_project"

    def __init__(self) -> None:
        super().__init__("No project is known yet.", hint="kas daemon add PATH")


class UnknownTask(NotFound):
    """The named task is not in the project."""

    code = "unknown_task"

    def __init__(self, project: str, task: str) -> None:
        super().__init__(
            f"Project '{project}' has no task '{task}'.",
            hint=f"kas task list --project {project}",
        )


class IllegalEvent(Conflict):
    """A lifecycle event that the task's present status and phase do not allow."""

    code = "illegal_event"


class ApprovalRequired(Conflict):
    """A step that a person has to approve first; it has been asked for."""

    code = "approval_required"

    def __init__(self, project: str, task: str, step: str, words: str) -> None:
        super().__init__(
            f"Task '{task}': to {words} needs a person's approval, which is asked for now.",
            hint=f"a person runs: kas task approve '{task}' --step {step} --project '{project}'",
        )
        self.step = step


class NoTerminal(KasmosError):
    """Only a person at a terminal can do this."""

    code = "no_terminal"


class PlanProblems(KasmosError):
    """A plan that cannot be stored; every problem is named with its line."""

    code = "broken_plan"

    def __init__(self, problems: "Sequence[str]") -> None:
        super().__init__(
            "The plan was refused:\n" + "\n".join(f"  {p}" for p in problems),
            hint="kas task create --help",
        )
        self.problems = tuple(problems)


class StoreError(KasmosError):
    """The task store cannot be used."""

    code = "store_unavailable"
    http_status = 503


class StoreTooNew(StoreError):
    """The store was made by a newer kasmos; nothing in it was touched."""

    code = "store_too_new"

    def __init__(self, path: str, *, found: int, known: int) -> None:
        super().__init__(
            f"The store '{path}' has schema version {found}, this kasmos knows up to {known}.",
            hint="pip install --upgrade kasmos",
        )
        self.found = found
        self.known = known


class StoreCorrupt(StoreError):
    """SQLite says that the store is damaged; nothing read from it can be trusted."""

    code = "store_corrupt"


class StoreReadOnly(StoreError):
    """The store can be read but not written."""

    code = "store_read_only"


class Unreachable(KasmosError):
    """A server or daemon did not answer."""

    code = "unreachable"
    exit_code = Exit.UNREACHABLE
    http_status = 503


class DaemonUnreachable(Unreachable):
    """Nothing listens on the daemon's socket, or it does not answer in time."""

    code = "daemon_unreachable"

    def __init__(self, socket_path: str, why: str) -> None:
        super().__init__(
            f"The daemon at '{socket_path}' is not reachable: {why}.", hint="kas daemon start"
        )


class DaemonIncompatible(Unreachable):
    """Something answers on the daemon's socket, but not in a form that this version reads."""

    code = "daemon_incompatible"

    def __init__(self, socket_path: str, why: str) -> None:
        super().__init__(
            f"The daemon at '{socket_path}' speaks another language: {why}.",
            hint="kas daemon stop && kas daemon start",
        )
