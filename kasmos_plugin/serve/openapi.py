"""The OpenAPI description of the REST routes, made from the routes and the operations' arguments.

Source of its form: OpenAPI 3.1.0.
"""

from functools import cache
from typing import Any

from kasmos_plugin import __version__
from kasmos_plugin.serve.rest_routes import OPENAPI, ROUTES, Route

_ERROR = {
    "type": "object",
    "properties": {
        "error": {
            "type": "object",
            "properties": {
                "code": {"type": "string"},
                "message": {"type": "string"},
                "next": {"type": "string"},
                "projects": {"type": "array", "items": {"type": "string"}},
            },
            "required": ["code", "message"],
            "additionalProperties": False,
        }
    },
    "required": ["error"],
    "additionalProperties": False,
}

FAILURES = {
    "400": "an argument cannot be used, or the project has to be named",
    "401": "the token is missing or another one",
    "403": "a page asked",
    "404": "there is no such thing",
    "409": "the present state forbids it; code `approval_required`: a person has to approve first",
    "413": "the body is too large",
    "414": "the address is too long",
    "415": "the body is not said to be JSON",
    "421": "the Host is no loopback name",
    "431": "the headers are too large",
    "500": "a fault of kasmos; its log says which",
    "503": "the store or the daemon cannot be used",
}
"""What every route may answer besides, by status."""
_OF_CHANGES = ("401", "415")


@cache
def document() -> dict[str, Any]:
    """Return the description as JSON values."""
    paths: dict[str, dict[str, Any]] = {}
    for route in ROUTES:
        paths.setdefault(route.path, {})[route.method.lower()] = _described(route)
    paths[OPENAPI] = {"get": _own()}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "kasmos",
            "version": __version__,
            "summary": "Projects, tasks, agents, events and approvals, for scripts.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": paths,
        "components": {
            "schemas": {"Error": _ERROR},
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "The file api-token in kasmos's state directory.",
                }
            },
        },
    }


def _described(route: Route) -> dict[str, Any]:
    operation = route.operation
    required = route.schema.get("required", [])
    parameters = [
        {"name": name, "in": "path", "required": True, "schema": _in_path(route, name)}
        for name in route.in_path
    ]
    told: dict[str, Any] = {
        "operationId": f"{route.method.lower()}_{'_'.join(_names(route))}",
        "summary": operation.title,
        "description": operation.description,
        "parameters": parameters,
        "responses": _responses(route),
    }
    if route.is_read_only:
        parameters += [
            {"name": name, "in": "query", "required": name in required, "schema": schema}
            for name, schema in route.others.items()
        ]
        return told
    body = {
        "type": "object",
        "properties": route.others,
        "required": [name for name in required if name in route.others],
        "additionalProperties": False,
    }
    told["requestBody"] = {
        "required": bool(body["required"]),
        "content": {"application/json": {"schema": body}},
    }
    return told | {"security": [{"token": []}]}


def _in_path(route: Route, name: str) -> dict[str, Any]:
    schema: dict[str, Any] = dict(route.schema["properties"][name])
    schema.pop("default", None)
    if schema.get("type") == "string":
        # An empty segment is another path.
        schema |= {"minLength": 1}
    return schema


def _names(route: Route) -> list[str]:
    return [part.strip("{}") for part in route.segments[2:]]


def _responses(route: Route) -> dict[str, Any]:
    good = {"application/json": {"schema": {"type": "object"}}}
    failures = {
        status: {
            "description": words,
            "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
        }
        for status, words in FAILURES.items()
        if not (route.is_read_only and status in _OF_CHANGES)
    }
    done = {"description": route.operation.title, "content": good}
    return {str(route.status): done, **failures}


def _own() -> dict[str, Any]:
    return {
        "operationId": "get_openapi",
        "summary": "This description",
        "responses": {
            "200": {
                "description": "OpenAPI 3.1",
                "content": {"application/json": {"schema": {"type": "object"}}},
            }
        },
    }
