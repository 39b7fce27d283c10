"""The health of a namespace: what may be out of date, said twice, contradicted or better not stored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from fivefold.values.filters import Filter
from fivefold.values.serialize import Value

HealthCheck = Literal["expired", "expiring", "stale", "never used", "near-duplicates", "contradictions", "secrets"]

STALE_DAYS = 180
"""After how many days without being written or used a memory is stale."""

UNUSED_DAYS = 30
"""For how many days a memory may wait for its first use."""

SOON_DAYS = 7
"""How many days ahead it is said what expires."""


@dataclass(frozen=True, slots=True)
class HealthExample(Value):
    """A memory that a check found, and the older one of a pair."""

    id: str
    text: str
    """Its beginning, with secrets masked."""
    why: str
    other: str | None = None
    other_text: str | None = None


@dataclass(frozen=True, slots=True)
class HealthFinding(Value):
    """What one check found: how many, what that means, what to do about it, and the latest of them."""

    check: HealthCheck
    count: int
    meaning: str
    advice: str
    examples: tuple[HealthExample, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthReport(Value):
    """All findings of a namespace, also those that found nothing. Nothing was changed."""

    namespace: str
    at: datetime
    memories: int
    """Turns and notes that were looked at."""
    findings: tuple[HealthFinding, ...]

    def finding(self, check: HealthCheck) -> HealthFinding:
        """What one check found."""
        return next(item for item in self.findings if item.check == check)


def health_filters(
    now: datetime, stale_days: int = STALE_DAYS, unused_days: int = UNUSED_DAYS, soon_days: int = SOON_DAYS
) -> Mapping[HealthCheck, Filter]:
    """The checks that a filter can say; what is pinned stays on purpose, and what was replaced is history."""
    return {
        "expired": Filter(expires_before=now + timedelta(microseconds=1)),
        "expiring": Filter(superseded=False, alive_at=now, expires_before=now + timedelta(days=soon_days)),
        "stale": Filter(superseded=False, pinned=False, alive_at=now, idle_since=now - timedelta(days=stale_days)),
        "never used": Filter(
            superseded=False, pinned=False, alive_at=now, used=False, written_until=now - timedelta(days=unused_days)
        ),
    }
