"""How long memories live: pin them, forget what has expired, and see what somebody should look at."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

from fivefold.values.health import SOON_DAYS, STALE_DAYS, UNUSED_DAYS, HealthReport
from fivefold.values.memory import Memory
from fivefold.values.reports import Sweep
from fivefold.web.rest.operations import IN, Current, Example, operation

HERE = {"namespace": "default"}
ONE = {"namespace": "default", "id": "s01.03"}
TAG = "life"

StaleDays = Annotated[int, Query(description="After how many days without being written or used it is stale")]
UnusedDays = Annotated[int, Query(description="For how many days it may wait for its first use")]
SoonDays = Annotated[int, Query(description="How many days ahead it is said what expires")]
Examples = Annotated[int, Query(description="How many of each are named")]
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


@operation(
    "GET",
    f"{IN}/health",
    role="reader",
    action="health",
    tag=TAG,
    answers=HealthReport,
    example=Example(HERE, {"examples": "1"}),
)
def namespace_health(
    action: Current,
    stale_days: StaleDays = STALE_DAYS,
    unused_days: UnusedDays = UNUSED_DAYS,
    soon_days: SoonDays = SOON_DAYS,
    examples: Examples = 5,
) -> HealthReport:
    """What somebody should look at: expired, expiring, stale, never used, near-duplicates, contradictions, secrets."""
    return action.engine.health(stale_days=stale_days, unused_days=unused_days, soon_days=soon_days, examples=examples)
