"""Every operation of the REST interface, asked by its example."""

from __future__ import annotations

import json
from typing import Any

from starlette.testclient import TestClient

from fivefold.serve.api.operations import JSON, OPERATIONS, Operation
from fivefold.serve.paths import quoted


def path_of(operation: Operation, **instead: str) -> str:
    """The path of an operation's example, with other names where some are given."""
    path = operation.path
    for name, value in {**operation.example.path, **instead}.items():
        path = path.replace(f"{{{name}:name}}", quoted(value))
    return path


def ask(client: TestClient, operation: Operation, path: str | None = None, **instead: Any) -> Any:
    """Send an operation's example, or another body; a feedback is given on a recall made for it."""
    body = instead.get("body", operation.example.body)
    if operation.name == "feedback" and "body" not in instead:
        body = {**body, "recall_id": ask(client, OPERATIONS["recall"]).json()["id"]}
    content = json.dumps(body) if operation.takes == JSON else body
    headers = {"Content-Type": operation.takes} if operation.takes else {}
    params = dict(operation.example.query)
    return client.request(operation.method, path or path_of(operation), params=params, content=content, headers=headers)


def in_order() -> list[str]:
    """What reads before what writes, so that the one finds what the other changes."""
    return sorted(OPERATIONS, key=lambda name: OPERATIONS[name].writes)
