"""The OpenAPI document is true: whatever it allows is answered, and every answer is as it says."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from starlette.testclient import TestClient

import fivefold
from fivefold.service.service import open_service
from fivefold.values.fields import definitions
from fivefold.values.filters import filter_of
from fivefold.web.app import create_app
from fivefold.web.connections import LINES
from fivefold.web.rest.operations import JSON, OPERATIONS
from fivefold.web.security import Sites
from tests.web.conftest import UNLIMITED

pytestmark = pytest.mark.slow

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
EXAMPLES = 15
KNOWN = {"entities": 1, "edges": 1, "sessions": "monday", "memories": "work", "queue": "none"}
"""What is there, in a third of the requests."""


@schemathesis.serializer(LINES)
def _lines(_: object, value: object) -> bytes:
    """Lines as they are, and whatever else as one."""
    return (value if isinstance(value, str) else json.dumps(value)).encode("utf-8", "replace")


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The document of a small store, asked with an admin's key."""
    path = str(tmp_path_factory.mktemp("schema") / "small.db")
    with fivefold.open(path, embedder="wordllama") as engine:
        engine.remember("My badge ID is E-47821", id="badge", speaker="user", session_id="monday")
        engine.remember("Anna works with Daniel at Halden", id="work")
    service = open_service(path, embedder="wordllama", limits=UNLIMITED)
    _, secret = service.keyring.create("all", "admin", ["*"])
    app = create_app(service, pages=False, mcp=False, sites=Sites(("testserver",)))
    loaded = schemathesis.openapi.from_asgi("/openapi.json", app)
    loaded.config.update(headers={"Authorization": f"Bearer {secret}"})
    yield loaded
    service.close()


@pytest.mark.parametrize("name", OPERATIONS)
def test_whatever_is_asked_is_answered_as_the_document_says(document: Any, name: str) -> None:
    path = OPERATIONS[name].path.replace(":name}", "}")
    asked = document[path][OPERATIONS[name].method]
    kind = path.split("/")[4] if "{id}" in path else ""
    there = {"namespace": "default"} if "{namespace}" in path else {}
    known = {**there, "id": KNOWN[kind]} if kind else there
    cases = st.one_of(
        asked.as_strategy(GenerationMode.POSITIVE, path_parameters=known),
        asked.as_strategy(GenerationMode.POSITIVE),
        asked.as_strategy(GenerationMode.NEGATIVE, path_parameters=there),
    )

    @given(case=cases)
    @settings(max_examples=EXAMPLES, deadline=None, phases=(Phase.generate,), suppress_health_check=list(HealthCheck))
    def answered(case: schemathesis.Case[Any]) -> None:
        case.call_and_validate(checks=CHECKS)

    answered()


@pytest.fixture(scope="module")
def shown(client: TestClient) -> Any:
    return client.get("/openapi.json").json()


def test_the_document_names_every_operation_and_nothing_else(shown: Any) -> None:
    told = {
        (path, method): operation["operationId"]
        for path, item in shown["paths"].items()
        for method, operation in item.items()
    }
    known = {(item.path.replace(":name}", "}"), item.method.lower()): name for name, item in OPERATIONS.items()}
    assert told == {**known, ("/health", "get"): "health", ("/ready", "get"): "ready"}


@pytest.mark.parametrize("name", OPERATIONS)
def test_examples_are_as_the_document_says(shown: Any, name: str) -> None:
    """Requests and answers that the document shows fit the shapes it gives."""
    operation = OPERATIONS[name]
    told = shown["paths"][operation.path.replace(":name}", "}")][operation.method.lower()]
    shapes = {"components": shown["components"]}
    if operation.takes == JSON:
        body = told["requestBody"]["content"][JSON]
        jsonschema.validate(body["example"], {**body["schema"], **shapes})
    answer = told["responses"][str(operation.status)]["content"][operation.gives[0]]
    jsonschema.validate(answer["example"], {**answer["schema"], **shapes})
    assert all(told[name] for name in ("summary", "description", "tags"))
    required = {item["name"] for item in told["parameters"] if item["required"]}
    assert set(operation.example.path) <= required <= {*operation.example.path, *operation.example.query}


def test_answers_are_described_as_the_library_describes_them(shown: Any) -> None:
    for operation in OPERATIONS.values():
        for kind in filter(None, (operation.answers, operation.other)):
            own = definitions(kind, ref="#/components/schemas/")
            assert {name: shown["components"]["schemas"][name] for name in own} == own


def test_a_record_of_the_document_has_the_fields_of_a_record(shown: Any) -> None:
    fields = {field.name for field in dataclasses.fields(fivefold.Record)} - {"notes", "utc_offset"}
    assert set(shown["components"]["schemas"]["RecordBody"]["properties"]) == fields
    fixed = {"id", "kind", "origin", "session_id", "turn_index"}
    assert set(shown["components"]["schemas"]["MemoryChanges"]["properties"]) == fields - fixed


@pytest.mark.parametrize(
    "text",
    [
        "since:2026-12-31T10:00:00+02:00 tag:übung",
        'type:fact,event pinned:true text:"a \\" b"',
        'meta."a b"=x meta.n>=1.5',
        "",
    ],
)
def test_the_pattern_of_filters_takes_what_is_accepted(shown: Any, text: str) -> None:
    filter_of(text)
    (pattern,) = [
        choice["pattern"]
        for choice in shown["components"]["schemas"]["Decision"]["properties"]["filter"]["anyOf"]
        if "pattern" in choice
    ]
    assert re.search(pattern, text)
    assert not re.search(pattern, f"{text} colour:blue")
