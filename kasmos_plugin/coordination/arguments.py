"""The arguments of every operation: strict models, and the JSON schemas made of them."""

import json
import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
)

from kasmos_plugin.contract.approval import Step
from kasmos_plugin.contract.task import LifecycleEvent, SubtaskStatus, TaskStatus
from kasmos_plugin.errors import BadArgument
from kasmos_plugin.rules.lifecycle import RESETTING
from kasmos_plugin.rules.text import clean

MAX_NAME = 500
MAX_TEXT = 10_000
"""Characters of a reason, a feedback, a prompt or a message to an agent."""
MAX_PLAN = 50_000
"""Characters of a plan: a request has at most 64 kB."""
MAX_LIST = 100
MAX_LINES = 200
DEFAULT_LIST = 20
DEFAULT_LINES = 40

FOR_A_PERSON = frozenset({LifecycleEvent.CANCEL, *RESETTING})
"""Events that drop work: a person records them with `kas task transition`."""

TransitionName = Literal[
    "plan_start",
    "planner_finished",
    "implement_start",
    "wave_finished",
    "advance_wave",
    "implement_finished",
    "review_approved",
    "review_changes_requested",
    "verify_approved",
    "verify_failed",
    "request_review",
    "reimplement",
]
"""Every lifecycle event but those for a person."""

_MOMENT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ]")

_Name = StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_NAME, pattern=r"\S")
_Text = StringConstraints(min_length=1, max_length=MAX_TEXT, pattern=r"\S")

AnyProject = Annotated[
    str,
    StringConstraints(strip_whitespace=True, max_length=MAX_NAME),
    Field(description="The project. May be left out when only one is known."),
]
Project = Annotated[str, _Name, Field(description="The project, always named.")]
TaskName = Annotated[str, _Name, Field(description="The task's name.")]
AgentId = Annotated[str, _Name, Field(description="The agent's id, from agent_list.")]
Limit = Annotated[int, Field(ge=1, le=MAX_LIST, description="How many to list at most.")]
Plan = Annotated[
    str,
    StringConstraints(max_length=MAX_PLAN),
    Field(
        description="Markdown: **Goal:** text, then ## Wave N: title, with ### Task N: title in it."
    ),
]


def _written_out(value: object) -> object:
    """Refuse `0.5`, which would be read as seconds since 1970."""
    if not isinstance(value, str) or not _MOMENT.match(value):
        raise ValueError("a moment is written as 2026-01-31T12:00:00Z")
    return value


class Arguments(BaseModel):
    """Arguments that hold nothing unknown and nothing of another type."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    @classmethod
    def read(cls, given: Mapping[str, object]) -> Self:
        """Return the arguments that `given` holds.

        Raises:
            BadArgument: one is unknown, missing, of another type, or too long.
        """
        for name, value in given.items():
            if value is None:
                raise BadArgument(f"'{clean(name, 60)}' is null; leave it out instead.")
        try:
            # As JSON: a strict model takes the words of an enumeration only from there.
            return cls.model_validate_json(json.dumps(given))
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            name = clean(".".join(str(part) for part in first["loc"]), 60)
            raise BadArgument(_problem(name, first["type"], first["msg"], cls)) from None

    @classmethod
    def schema_of_input(cls) -> dict[str, Any]:
        """Return the JSON Schema: flat, without references, which not every client resolves."""
        schema = cls.model_json_schema()
        kinds = schema.pop("$defs", {})
        flat = _flat(schema, kinds)
        flat.pop("description", None)
        return {"type": "object", "properties": {}, **flat}


class AboutNothing(Arguments):
    """Nothing can be chosen."""


class TasksAsked(Arguments):
    """Which tasks to list."""

    project: AnyProject = ""
    statuses: Annotated[
        tuple[TaskStatus, ...] | None, Field(description="Only these. Left out: all.", max_length=7)
    ] = None
    limit: Limit = DEFAULT_LIST
    offset: Annotated[int, Field(ge=0, le=1_000_000, description="How many to leave out.")] = 0


class TaskAsked(Arguments):
    """Which task to show."""

    project: AnyProject = ""
    task: TaskName
    plan: Annotated[bool, Field(description="With the plan as it was given.")] = False


class AgentsAsked(Arguments):
    """Whose agents to list."""

    project: AnyProject = ""
    task: Annotated[
        str,
        StringConstraints(strip_whitespace=True, max_length=MAX_NAME),
        Field(description="Only agents of this task."),
    ] = ""


class OutputAsked(Arguments):
    """Whose output to read, and how much of it."""

    project: AnyProject = ""
    agent: AgentId
    lines: Annotated[int, Field(ge=1, le=MAX_LINES, description="How many of the last lines.")] = (
        DEFAULT_LINES
    )


class EventsAsked(Arguments):
    """Which events to list."""

    project: AnyProject = ""
    task: Annotated[
        str,
        StringConstraints(strip_whitespace=True, max_length=MAX_NAME),
        Field(description="Only events of this task."),
    ] = ""
    kind: Annotated[str, Field(max_length=60, description="Only events of this kind.")] = ""
    since: Annotated[
        Annotated[AwareDatetime, Field(strict=False), BeforeValidator(_written_out)] | None,
        Field(description="Only later ones: RFC 3339 with a time zone."),
    ] = None
    limit: Limit = DEFAULT_LIST


class OneTask(Arguments):
    """The task meant."""

    project: Project
    task: TaskName


class ApprovalAsked(OneTask):
    """The step that a person is asked to approve, and why."""

    step: Annotated[Step, Field(description="The step to ask for.")]
    reason: Annotated[str, _Text, Field(description="What the person should know, in short.")]


class NewTask(OneTask):
    """A task to store."""

    plan: Plan
    topic: Annotated[str, Field(max_length=MAX_NAME, description="A word to group by.")] = ""
    branch: Annotated[str, Field(max_length=MAX_NAME, description="The branch of its work.")] = ""


class NewPlan(OneTask):
    """A plan in place of the stored one."""

    plan: Plan


class Transition(OneTask):
    """A lifecycle event to record."""

    event: Annotated[TransitionName, Field(description="The lifecycle event.")]
    feedback: Annotated[
        str,
        Field(max_length=MAX_TEXT, description="What to change; with review_changes_requested."),
    ] = ""


class SubtaskChange(OneTask):
    """How far a subtask is now."""

    number: Annotated[int, Field(ge=1, le=10_000, description="Its number in the whole plan.")]
    status: Annotated[SubtaskStatus, Field(description="Its status now.")]


class Review(OneTask):
    """What a review came to."""

    verdict: Annotated[
        Literal["approve", "request_changes"], Field(description="What the review came to.")
    ]
    feedback: Annotated[
        str, Field(max_length=MAX_TEXT, description="What to change; with request_changes.")
    ] = ""


class Block(OneTask):
    """What a task waits for."""

    reason: Annotated[str, _Text, Field(description="The question that a person has to answer.")]


class OneAgent(Arguments):
    """The agent meant."""

    project: Project
    agent: AgentId


def _problem(name: str, kind: str, message: str, model: type[Arguments]) -> str:
    known = ", ".join(model.model_fields) or "none"
    if kind == "extra_forbidden":
        return f"Unknown argument '{name}'; known arguments: {known}."
    if kind == "missing":
        return f"The argument '{name}' is missing; known arguments: {known}."
    if not name:
        return "The arguments are not valid Unicode."
    return f"{name}: {clean(message)}."


def _flat(schema: Any, kinds: Mapping[str, Any]) -> Any:
    """Return a schema with its references replaced, without titles and the None of defaults."""
    if isinstance(schema, list):
        return [_flat(one, kinds) for one in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        found = dict(kinds[schema["$ref"].rpartition("/")[2]])
        found.pop("description", None)
        schema = found | {key: value for key, value in schema.items() if key != "$ref"}
    choices = [one for one in schema.get("anyOf", ()) if one != {"type": "null"}]
    if len(choices) == 1:
        rest = {key: value for key, value in schema.items() if key not in ("anyOf", "default")}
        schema = choices[0] | rest
    return {
        key: {name: _flat(one, kinds) for name, one in value.items()}
        if key == "properties"
        else _flat(value, kinds)
        for key, value in schema.items()
        if key != "title"
    }
