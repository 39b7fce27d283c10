"""How long memories live: pin them, and forget what has expired."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

from fivefold.values.memory import Memory
from fivefold.values.reports import Sweep
from fivefold.web.rest.operations import IN, Current, Example, operation

HERE = {"namespace": "default"}
ONE = {"namespace": "default", "id": "s01.03"}
TAG = "life"

DryRun = Annotated[bool, Query(description="Only say what would be forgotten")]


@operation(
    "POST", f"{IN}/memories/{{id:name}}/pin", role="writer", action="pin", tag=TAG, answers=Memory, example=Example(ONE)
)
def pin_memory(action: Current, id: str) -> Memory:
    """Let a memory stay: it does not expire, and later texts do not replace it by themselves."""
    return action.engine.pin(id)


@operation(
    "DELETE",
    f"{IN}/memories/{{id:name}}/pin",
    role="writer",
    action="unpin",
    tag=TAG,
    answers=Memory,
    example=Example(ONE),
)
def unpin_memory(action: Current, id: str) -> Memory:
    """Let a pinned memory expire and be replaced again."""
    return action.engine.unpin(id)


@operation(
    "POST",
    f"{IN}/sweep",
    role="admin",
    action="sweep",
    tag=TAG,
    answers=Sweep,
    example=Example(HERE, {"dry_run": "true"}),
)
def sweep(action: Current, dry_run: DryRun = False) -> Sweep:
    """Forget the memories that have expired; pinned ones stay."""
    return action.engine.sweep(dry_run=dry_run)
