"""Every operation of the REST interface, asked by its example."""

from __future__ import annotations

import json
from typing import Any

from fastapi import FastAPI
from starlette.testclient import TestClient
from starlette.types import Message, Receive

from fivefold.web.rest.operations import JSON, OPERATIONS, Operation
from fivefold.web.security import quoted


def path_of(operation: Operation, **instead: str) -> str:
    """The path of an operation's example, with other names where some are given."""
    path = operation.path
    for name, value in {**operation.example.path, **instead}.items():
        path = path.replace(f"{{{name}:name}}", quoted(value))
    return path


def ask(client: TestClient, operation: Operation, path: str | None = None, **instead: Any) -> Any:
    """Send an operation's example, or another body.

    A feedback is given on a recall made for it, a namespace is deleted that was made for it, and what became of a write
    is asked of one that waits.
    """
    body = instead.get("body", operation.example.body)
    if operation.name == "feedback" and "body" not in instead:
        body = {**body, "recall_id": ask(client, OPERATIONS["recall"]).json()["id"]}
    if operation.name == "delete_namespace" and path is None and "body" not in instead:
        remember = OPERATIONS["remember"]
        assert ask(client, remember, path_of(remember, **operation.example.path)).status_code == 201
    if operation.tag == "queue" and "id" in operation.example.path and path is None and "body" not in instead:
        remember = OPERATIONS["remember"]
        path = client.post(path_of(remember), params={"wait": "false"}, json=remember.example.body).headers["Location"]
    content = json.dumps(body) if operation.takes == JSON else body
    headers = {"Content-Type": operation.takes} if operation.takes else {}
    params = dict(operation.example.query)
    return client.request(operation.method, path or path_of(operation), params=params, content=content, headers=headers)


async def sent(app: FastAPI, path: str, receive: Receive, *headers: tuple[bytes, bytes]) -> tuple[int, bytes]:
    """POST to the application itself, with a body that comes as `receive` has it."""
    answered: list[Message] = []

    async def send(message: Message) -> None:
        answered.append(message)

    scope = {
        "type": "http",
        "method": "POST",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": [(b"host", b"localhost"), *headers, (b"content-type", b"application/json")],
        "client": ("127.0.0.1", 50_000),
    }
    async with app.router.lifespan_context(app):
        await app(scope, receive, send)
    return answered[0]["status"], b"".join(message.get("body", b"") for message in answered[1:])


def in_order() -> list[str]:
    """What reads before what writes, so that the one finds what the other changes."""
    return sorted(OPERATIONS, key=lambda name: OPERATIONS[name].writes)
