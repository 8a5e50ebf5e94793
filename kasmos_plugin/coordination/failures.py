"""What to do after a refusal: every failure of an operation names the next step."""

from kasmos_plugin.errors import (
    BadArgument,
    Conflict,
    KasmosError,
    NoProject,
    NotFound,
    PlanProblems,
    ProjectRequired,
    StoreError,
    UnknownProject,
    UnknownTask,
)
from kasmos_plugin.rules.text import clean

NEXT_LIMIT = 700
"""Graphemes: a command that names a project and a task, both as long as they may be."""

_NEXT: tuple[tuple[type[KasmosError], str], ...] = (
    (PlanProblems, "mend the plan at the named lines and call again"),
    (BadArgument, "call again with arguments as the tool's schema says"),
    (ProjectRequired, "call again with one of these projects"),
    (NoProject, "a person runs: kas daemon add PATH"),
    (UnknownProject, "call project_list for the names"),
    (UnknownTask, "call task_list for the names"),
)
_OTHERWISE: tuple[tuple[type[KasmosError], str], ...] = (
    (NotFound, "call task_show or agent_list for what there is"),
    (Conflict, "call task_show and look where the task is"),
    (StoreError, "a person runs: kas doctor"),
)


def next_step(error: KasmosError) -> str:
    """Return what the caller, or a person, does next; never empty.

    Hints are written for a command line: those that name its options are replaced.
    """
    for kind, step in _NEXT:
        if isinstance(error, kind):
            return step
    if error.hint:
        return clean(error.hint, NEXT_LIMIT)
    for kind, step in _OTHERWISE:
        if isinstance(error, kind):
            return step
    return "a person runs: kas doctor"
