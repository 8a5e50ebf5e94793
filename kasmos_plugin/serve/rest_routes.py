"""The REST routes of the HTTP listener: which path and method carries out which operation.

A route adds nothing to its operation: the store holds every rule, the gate among them. Arguments
come from the path, and from the query (GET) or the JSON body.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any
from urllib.parse import parse_qsl, unquote

from pydantic import Field, StringConstraints

from kasmos_plugin.coordination import shown
from kasmos_plugin.coordination.arguments import MAX_NAME, Arguments, Project
from kasmos_plugin.coordination.desk import Desk, Result
from kasmos_plugin.coordination.operations import OPERATIONS, Effects, Operation
from kasmos_plugin.errors import BadArgument
from kasmos_plugin.rules.text import clean

OPENAPI = "/v1/openapi.json"

_NUMBER = re.compile(r"-?[0-9]{1,18}")
_WORDS = {"true": True, "false": False}


class ApprovalsAsked(Arguments):
    """Whose approvals to list."""

    project: Project
    task: Annotated[
        str,
        StringConstraints(strip_whitespace=True, max_length=MAX_NAME),
        Field(description="Only approvals of this task."),
    ] = ""
    open: Annotated[bool, Field(description="Only those that wait or can still be used.")] = False


def _approval_list(desk: Desk, asked: ApprovalsAsked) -> Result:
    project = desk.project(asked.project)
    found = desk.store.approvals.list(project, asked.task or None, is_open=asked.open)
    rows = [shown.approval(one) for one in found]
    return Result(text="", data={"project": project, "approvals": [*rows]})


_APPROVAL_LIST = Operation(
    name="approval_list",
    title="List approvals",
    description="List what a person was asked to approve, and what became of it, newest first.",
    arguments=ApprovalsAsked,
    run=_approval_list,
    effects=Effects(is_read_only=True, is_idempotent=True),
)


@dataclass(frozen=True, kw_only=True)
class Route:
    """One method of one path."""

    method: str
    path: str
    """With `{name}` for an argument that is one segment of it."""
    operation: Operation
    status: int = 200
    fixed: tuple[tuple[str, object], ...] = ()
    """Arguments that the route sets itself."""
    keys: tuple[str, ...] = ()
    """Only these keys of the result; empty for all."""

    @property
    def is_read_only(self) -> bool:
        """Whether it changes nothing, and so needs no token."""
        return self.operation.effects.is_read_only

    @cached_property
    def segments(self) -> tuple[str, ...]:
        """The parts of the path."""
        return tuple(self.path.split("/"))

    @cached_property
    def in_path(self) -> tuple[str, ...]:
        """The arguments that the path holds."""
        return tuple(part[1:-1] for part in self.segments if part.startswith("{"))

    @cached_property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of all its arguments."""
        return self.operation.arguments.schema_of_input()

    @cached_property
    def others(self) -> dict[str, Any]:
        """The schemas of the arguments that are in the query or in the body, by name."""
        taken = {*self.in_path, *(name for name, _ in self.fixed)}
        return {name: one for name, one in self.schema["properties"].items() if name not in taken}

    def matched(self, segments: tuple[str, ...]) -> dict[str, str] | None:
        """Return the arguments in a path, None when it is another path."""
        if len(segments) != len(self.segments):
            return None
        found: dict[str, str] = {}
        for wanted, given in zip(self.segments, segments, strict=True):
            if wanted.startswith("{") and given:
                found[wanted[1:-1]] = given
            elif wanted != given:
                return None
        return found

    def arguments(
        self, path: Mapping[str, str], query: str, body: Mapping[str, object]
    ) -> dict[str, object]:
        """Return the operation's arguments; what they may be, the operation says.

        Raises:
            BadArgument: a value of the path or the query cannot be one, or is named twice.
        """
        given: dict[str, object] = {
            name: _typed(name, [value], self.schema["properties"][name])
            for name, value in path.items()
        }
        rest = self._queried(query) | dict(body)
        for name in rest:
            if name not in self.others:
                known = ", ".join(self.others) or "none"
                raise BadArgument(f"Unknown argument '{clean(name, 60)}'; known here: {known}.")
        return given | rest | dict(self.fixed)

    def _queried(self, query: str) -> dict[str, object]:
        """Return what the query holds; a route with a body has none there."""
        if not query:
            return {}
        if not self.is_read_only:
            raise BadArgument("Arguments of a change are in the body, not in the address.")
        try:
            pairs = parse_qsl(query, keep_blank_values=True, max_num_fields=64, errors="strict")
        except ValueError:
            raise BadArgument("The address's query cannot be read.") from None
        values: dict[str, list[str]] = {}
        for name, value in pairs:
            values.setdefault(name, []).append(value)
        return {
            name: _typed(name, given, self.others.get(name, {})) for name, given in values.items()
        }


def find(path: str) -> tuple[list[Route], dict[str, str]]:
    """Return the routes of a raw path, one for each method, and the arguments in it.

    Raises:
        BadArgument: the path is not valid Unicode.
    """
    try:
        segments = tuple(unquote(part, errors="strict") for part in path.split("/"))
    except UnicodeDecodeError:
        raise BadArgument("The path is not valid Unicode.") from None
    for route in ROUTES:
        if (found := route.matched(segments)) is not None:
            return [one for one in ROUTES if one.path == route.path], found
    return [], {}


def _typed(name: str, values: list[str], schema: Mapping[str, Any]) -> object:
    """Return what stands in an address as the type that its schema names."""
    if schema.get("type") == "array":
        return values
    if len(values) > 1:
        raise BadArgument(f"'{clean(name, 60)}' is given more than once.")
    (value,) = values
    if schema.get("type") == "integer" and _NUMBER.fullmatch(value):
        return int(value)
    if schema.get("type") == "boolean":
        return _WORDS.get(value, value)
    return value


_PROJECT = "/v1/projects/{project}"
_TASK = f"{_PROJECT}/tasks/{{task}}"
_AGENT = f"{_PROJECT}/agents/{{agent}}"


def _route(method: str, path: str, operation: str, **more: Any) -> Route:
    return Route(method=method, path=path, operation=OPERATIONS[operation], **more)


ROUTES: tuple[Route, ...] = (
    _route("GET", "/v1/daemon", "daemon_status"),
    _route("GET", "/v1/projects", "project_list"),
    _route("GET", f"{_PROJECT}/tasks", "task_list"),
    _route("POST", f"{_PROJECT}/tasks", "task_create", status=201),
    _route("GET", _TASK, "task_show", fixed=(("plan", False),)),
    _route("DELETE", _TASK, "task_delete"),
    _route(
        "GET",
        f"{_TASK}/plan",
        "task_show",
        fixed=(("plan", True),),
        keys=("project", "task", "plan_hash", "plan"),
    ),
    _route("PUT", f"{_TASK}/plan", "task_update_plan"),
    _route(
        "GET",
        f"{_TASK}/subtasks",
        "task_show",
        fixed=(("plan", False),),
        keys=("project", "task", "subtasks_done", "subtasks_total", "waves"),
    ),
    _route("PATCH", f"{_TASK}/subtasks/{{number}}", "subtask_update"),
    _route("POST", f"{_TASK}/transitions", "task_transition"),
    _route("POST", f"{_TASK}/reviews", "review_submit"),
    _route("PUT", f"{_TASK}/block", "task_block"),
    _route("DELETE", f"{_TASK}/block", "task_unblock"),
    Route(method="GET", path=f"{_PROJECT}/approvals", operation=_APPROVAL_LIST),
    _route("POST", f"{_TASK}/approvals", "approval_request", status=201),
    _route("GET", f"{_PROJECT}/events", "event_list"),
    _route("GET", f"{_PROJECT}/agents", "agent_list"),
    _route("GET", f"{_AGENT}/output", "agent_output"),
    _route("POST", f"{_AGENT}/pause", "agent_pause"),
    _route("POST", f"{_AGENT}/resume", "agent_resume"),
    _route("POST", f"{_AGENT}/stop", "agent_stop"),
)
