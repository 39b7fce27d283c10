"""The OpenAPI document: paths and bodies from the endpoints, answers from the library's own values."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from functools import cache
from http import HTTPStatus
from importlib import resources
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from fivefold.retrieval.recipe_file import known_recipes
from fivefold.service.problems import KINDS, Problem
from fivefold.service.responses import Health, Readiness
from fivefold.service.write_queue import QueuedWrite
from fivefold.values.fields import definitions, name_of
from fivefold.values.serialize import Json
from fivefold.values.validate import MAX_NAME, NAME_PATTERN
from fivefold.web.connections import BYTES, LINES
from fivefold.web.problems import MEDIA_TYPE
from fivefold.web.rest.operations import JSON, OPERATIONS, QUEUED_STATUS, Operation

REF = "#/components/schemas/"
NAME = {"type": "string", "minLength": 1, "maxLength": MAX_NAME, "pattern": NAME_PATTERN}
COMMON_STATUSES = (401, 403, 404, 421, 422, 429, 500, 503)
WITH_BODY = (400, 413, 415)
WHEN_WRITING = (409, 410, 501, 507)

DESCRIPTION = """
Every answer is a value of the library, as its `to_dict()` writes it. Every error is a problem (RFC 9457,
`application/problem+json`) whose `type` names its kind. Names in paths may hold any character, percent-encoded.
Lists come page by page: send the `cursor` of one page to get the next; it is null on the last.
Writes take an `Idempotency-Key`: sent twice under one key, they are done once and answered the same for 24 hours.
""".strip()

TAGS = {
    "memories": "Remember, read, change, supersede, forget.",
    "recall": "Questions, how they are answered, and feedback.",
    "known": "Profiles, agendas, histories, changes and recaps, and corrections of their lines.",
    "life": "Pin memories, and forget expired ones.",
    "quarantine": "Records that wait for approval.",
    "queue": "Writes that are accepted now and stored soon.",
    "sessions": "Conversations.",
    "graph": "Entities and their relations.",
    "namespaces": "Namespaces, their settings, export and import.",
    "server": "Keys, the audit log, and the state of the server.",
}


def describe(app: FastAPI) -> Json:
    """The document of an application; built on the first request for it."""
    if app.openapi_schema is None:
        document = get_openapi(
            title=app.title,
            version=app.version,
            summary=app.summary,
            description=DESCRIPTION,
            routes=app.routes,
            tags=[{"name": name, "description": description} for name, description in TAGS.items()],
        )
        for operation in OPERATIONS.values():
            path = re.sub(r"{(\w+):\w+}", r"{\1}", operation.path)
            _complete(document["paths"][path][operation.method.lower()], operation)
        for path, kind in (("/health", Health), ("/ready", Readiness)):
            document["paths"][path]["get"]["responses"] = {
                "200": _json_response(kind, "It is well"),
                **_problems((500, 503)),
            }
        _components(document)
        app.openapi_schema = document
    return app.openapi_schema


def _complete(entry: Json, operation: Operation) -> None:
    """Add what the endpoint's signature does not say: answers, errors, examples, names in the path."""
    parameters = {(item["in"], item["name"]): item for item in entry.get("parameters", [])}
    for name in re.findall(r"{(\w+):", operation.path):
        item = parameters.setdefault(("path", name), {"name": name, "in": "path", "required": True})
        item.setdefault("schema", NAME)
        if item["schema"].get("type") == "string":
            item["schema"] = NAME
    if operation.writes:
        parameters["header", "Idempotency-Key"] = {
            "name": "Idempotency-Key",
            "in": "header",
            "required": False,
            "schema": NAME,
            "description": "A request sent again under the same key is not done again",
        }
    for name, value in {**operation.example.path, **operation.example.query}.items():
        where = "path" if name in operation.example.path else "query"
        parameters[where, name]["example"] = int(value) if value.isdigit() else value
    entry["parameters"] = list(parameters.values())
    if operation.takes == LINES:
        shapes = {LINES: {"type": "string"}, BYTES: {"type": "string", "format": "binary"}}
        content = {media_type: {"schema": schema} for media_type, schema in shapes.items()}
        entry["requestBody"] = {"required": True, "content": content}
    if operation.takes is not None:
        body = operation.example.body
        if operation.name == "feedback":
            body = {**body, "recall_id": _examples()["recall"]["id"]}
        entry["requestBody"]["content"][operation.takes]["example"] = body
    if operation.name == "change_settings":
        entry["requestBody"]["content"][JSON]["schema"] = {"$ref": f"{REF}SettingsChanges"}
    statuses = {*COMMON_STATUSES, *(WITH_BODY if operation.takes else ()), *(WHEN_WRITING if operation.writes else ())}
    entry["responses"] = {str(operation.status): _response(operation), **_problems(sorted(statuses))}
    if operation.queues:
        entry["responses"][str(QUEUED_STATUS)] = _json_response(QueuedWrite, "Accepted; it is stored soon")
    entry["security"] = [{"key": []}, {}]


def _response(operation: Operation) -> Json:
    if operation.answers is None:
        lines = {"schema": {"type": "string"}, "example": _examples()[operation.name]}
        return {"description": "One JSON object a line", "content": {LINES: lines}}
    about = str(definitions(operation.answers)[name_of(operation.answers)]["description"])
    response = _json_response(operation.answers, about.partition(". ")[0])
    response["content"][JSON]["example"] = _examples()[operation.name]
    if operation.other is not None:
        both = (operation.answers, operation.other)
        response["content"][JSON]["schema"] = {"anyOf": [{"$ref": REF + name_of(kind)} for kind in both]}
    for media_type in operation.gives[1:]:
        response["content"][media_type] = {"schema": {"type": "string"}}
    return response


def _json_response(kind: Any, description: str) -> Json:
    return {"description": description, "content": {JSON: {"schema": {"$ref": REF + name_of(kind)}}}}


def _problems(statuses: Iterable[int]) -> dict[str, Json]:
    """Each status with the kinds of problem it may be."""
    responses = {}
    for status in statuses:
        kinds = ", ".join(f"`{kind}`" for kind, (own, _) in KINDS.items() if own == status)
        responses[str(status)] = {
            "description": f"{HTTPStatus(status).phrase}: {kinds}",
            "content": {MEDIA_TYPE: {"schema": {"$ref": f"{REF}Problem"}}},
        }
    return responses


def _components(document: Json) -> None:
    answers = {name_of(item.answers): item.answers for item in OPERATIONS.values() if item.answers is not None}
    schemas = document.setdefault("components", {}).setdefault("schemas", {})
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    others = [item.other for item in OPERATIONS.values() if item.other is not None]
    schemas |= definitions(*answers.values(), *others, Problem, Health, Readiness, ref=REF)
    for schema in schemas.values():
        if "overrides" in schema.get("properties", ()):
            schema["properties"]["recipe"]["enum"] = list(known_recipes())
    settings = schemas["Settings"]["properties"]
    schemas["SettingsChanges"] = {
        "type": "object",
        "additionalProperties": False,
        "properties": {name: {"anyOf": [shape, {"type": "null"}]} for name, shape in settings.items()},
    }
    document["components"]["schemas"] = dict(sorted(schemas.items()))
    document["components"]["securitySchemes"] = {
        "key": {"type": "http", "scheme": "bearer", "description": "An API key, as `fivefold keys create` makes it"}
    }


@cache
def _examples() -> dict[str, Any]:
    """The answer of each operation to its example on the sample store."""
    text = resources.files("fivefold.web.rest").joinpath("examples.json").read_text("utf-8")
    examples: dict[str, Any] = json.loads(text)
    return examples
