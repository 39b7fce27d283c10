"""Results of operations: reports of writes, links between memories, statistics, findings."""

from __future__ import annotations

import base64
import binascii
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from statistics import median
from typing import Any, Generic, Literal, NamedTuple, TypeVar, get_args, overload

from fivefold.errors import InvalidInput
from fivefold.values.filters import Filter
from fivefold.values.serialize import Value
from fivefold.values.times import EPOCH


@dataclass(frozen=True, slots=True)
class Merged(Value):
    """A record that was not stored again because the namespace has it already."""

    id: str
    why: str


LinkKind = Literal["equal", "supersedes", "likely", "repeats"]
LINK_KINDS: tuple[LinkKind, ...] = get_args(LinkKind)
"""`likely` is a newer memory that likely replaces an older one; nothing is marked as superseded by it.

`repeats` is one that says nearly the same.
"""
ReadKind = Literal["likely", "repeats"]
WITH_CHANCE: tuple[ReadKind, ...] = get_args(ReadKind)
"""Links that are read out of two texts and have a chance; the others are sure."""


BY_HAND = "said so by the caller"
"""Why a memory was superseded when nobody read it out of the wording."""


@dataclass(frozen=True, slots=True)
class Link(Value):
    """Two memories that belong together."""

    source: str
    target: str
    relation: LinkKind
    why: str
    chance: float = 1.0
    """The chance that the one replaces the other, or the share of the words of one that repeats the other."""

    @property
    def label(self) -> str:
        """The relation as people read it, with the chance if it has one."""
        words = {"likely": "likely supersedes"}.get(self.relation, self.relation)
        return f"{words} ({self.chance:.2f})" if self.relation in WITH_CHANCE else words


@dataclass(frozen=True, slots=True, kw_only=True)
class Report(Value):
    """The result of a write: everything that was stored, merged, linked and superseded, and why."""

    stored: tuple[str, ...] = ()
    merged: tuple[Merged, ...] = ()
    linked: tuple[Link, ...] = ()
    superseded: tuple[Link, ...] = ()
    entities: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    quarantined: tuple[str, ...] = ()
    """Ids of the records that wait for approval."""

    @property
    def id(self) -> str:
        """The id of the one memory that a single `remember` stored, merged into or holds for approval."""
        ids = self.stored + tuple(merge.id for merge in self.merged) + self.quarantined
        if len(ids) != 1:
            raise ValueError(f"this report covers {len(ids)} memories; read .stored, .merged and .quarantined")
        return ids[0]


@dataclass(frozen=True, slots=True)
class Drift(Value):
    """A check of a namespace's vocabulary, with the share that the check before found too (R5)."""

    checked_at: datetime
    lexemes: int
    jaccard: float | None
    """Lexemes of both looks over lexemes of either; None when there was none before."""
    reindexed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Period(Value):
    """The figures of one day, or of a week that begins on Monday; days are those of UTC."""

    start: datetime
    days: int
    memories: int
    """Memories written."""
    recalls: int
    found: float | None
    """The share of the recalls that found an answer; None if none of them judged that."""
    ms: float | None
    """The median time of a recall in milliseconds; None without one."""


MAX_DAYS, MAX_WEEKS = 31, 26
"""Figures are by day if they span so many days at most, else by week, for the last weeks."""


def periods_of(
    written: Mapping[int, int], recalls: Iterable[tuple[int, bool | None, float | None]]
) -> tuple[Period, ...]:
    """The figures over time, from the memories written on each day and from the recalls; days count from 1970 on."""
    asked: dict[int, list[tuple[bool | None, float | None]]] = {}
    for day, answered, took in recalls:
        asked.setdefault(day, []).append((answered, took))
    known = sorted(written.keys() | asked.keys())
    if not known:
        return ()
    length, monday = (1, 0) if known[-1] - known[0] < MAX_DAYS else (7, 3)
    first, last = ((day + monday) // length for day in (known[0], known[-1]))
    periods = []
    for number in range(max(first, last - (MAX_DAYS if length == 1 else MAX_WEEKS) + 1), last + 1):
        days = range(number * length - monday, (number + 1) * length - monday)
        here = [recall for day in days for recall in asked.get(day, ())]
        found = [each for each, _ in here if each is not None]
        times = [ms for _, ms in here if ms is not None]
        periods.append(
            Period(
                start=EPOCH + timedelta(days=days[0]),
                days=length,
                memories=sum(written.get(day, 0) for day in days),
                recalls=len(here),
                found=sum(found) / len(found) if found else None,
                ms=round(median(times), 1) if times else None,
            )
        )
    return tuple(periods)


class Series(NamedTuple):
    """One figure over time, as a page and a terminal show it."""

    title: str
    texts: tuple[str, ...]
    """The value of each period; a dash if it has none."""
    heights: tuple[float, ...]
    """The value of each period as a share of the largest."""
    summary: str
    """The sum of counts; of other figures the mean, weighted by recalls."""


def series_of(periods: Sequence[Period]) -> tuple[Series, ...]:
    def series(title: str, form: str, values: Sequence[float | None], most: float = 0.0) -> Series:
        weights = [1 if form == "{:,}" else period.recalls for period in periods]
        known = [(value, weight) for value, weight in zip(values, weights, strict=True) if value is not None]
        total = sum(value * weight for value, weight in known) if known else None
        whole = total if form == "{:,}" or total is None else total / (sum(weight for _, weight in known) or 1)
        texts = [form.format(value) if value is not None else "–" for value in (*values, whole)]
        most = most or max([1, *(value for value, _ in known)])
        return Series(title, tuple(texts[:-1]), tuple((value or 0) / most for value in values), texts[-1])

    return (
        series("Memories written", "{:,}", [each.memories for each in periods]),
        series("Recalls made", "{:,}", [each.recalls for each in periods]),
        series("Share found", "{:.0%}", [each.found for each in periods], most=1),
        series("Recall time", "{:,.0f} ms", [each.ms for each in periods]),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats(Value):
    """The contents of a namespace."""

    namespace: str
    memories: int
    by_kind: Mapping[str, int]
    by_type: Mapping[str, int]
    superseded: int
    sessions: int
    entities: int
    links: int
    edges: int
    vectors: int
    embedder: str | None
    recalls: int
    feedback: int
    first_event_at: datetime | None
    last_event_at: datetime | None
    bytes_on_disk: int | None
    """Of the whole store; None for a caller who may not see all of it."""
    drift: Drift | None = None
    """The last look at the vocabulary."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """The settings that the namespace has changed; all else is at its default."""
    quarantined: int = 0
    """Records that wait for approval."""
    periods: tuple[Period, ...] = ()
    """The figures over time, oldest first, up to the last day with a memory or a recall."""

    @property
    def graph_expectation(self) -> str:
        """The expected gain from the entity graph in a namespace of this size, by the document of R6."""
        if self.memories < 500:
            return "adds little below 500 memories"
        if self.memories < 2_000:
            return "begins to help; it adds much from 2,000 memories on"
        return "adds much" if self.memories < 10_000 else "adds most"


@dataclass(frozen=True, slots=True)
class Sweep(Value):
    """The expired memories that were forgotten, or that would be after a dry run."""

    at: datetime
    swept: tuple[str, ...]
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class Erasure(Value):
    """Says whether the bytes of forgotten memories are gone from every file of the store, or until when some may
    remain."""

    complete: bool
    detail: str
    since: datetime | None = None
    """Time of the last removal whose bytes may remain."""


@dataclass(frozen=True, slots=True)
class Finding(Value):
    """One thing the doctor looked at."""

    check: str
    ok: bool
    detail: str


@dataclass(frozen=True, slots=True)
class MaintenanceResult(Value):
    """One thing that maintenance looked at, in a namespace or the whole store, and whether it changed something."""

    part: str
    changed: bool
    detail: str
    namespace: str | None = None
    ok: bool = True


# The health of a namespace: what may be out of date, said twice, contradicted or better not stored.

HealthCheck = Literal["expired", "expiring", "stale", "never used", "near-duplicates", "contradictions", "secrets"]

STALE_DAYS = 180
"""After how many days without being written or used a memory is stale."""

UNUSED_DAYS = 30
"""For how many days a memory may wait for its first use."""

SOON_DAYS = 7
"""Number of days ahead for which expiring memories are reported."""


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
    """The result of one check: the number of memories, the meaning, the remedy, and the latest of them."""

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
        """The result of one check."""
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


# A page of a longer list, and the cursor that says where the next one begins.

T = TypeVar("T")

Place = tuple[int | float | str, ...]
"""The position of an item in the order of its list."""

MAX_PLACE = 2**63
"""No key and no number of a place reaches this."""


@dataclass(frozen=True, slots=True)
class Page(Value, Sequence[T], Generic[T]):
    """A page of a list; `cursor` asks for the next page, None on the last."""

    items: tuple[T, ...]
    cursor: str | None = None

    def __iter__(self) -> Iterator[T]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[T, ...]: ...
    def __getitem__(self, index: int | slice) -> T | tuple[T, ...]:
        return self.items[index]


def page_of(rows: Sequence[T], limit: int, order: str, place: Callable[[T], Place]) -> Page[T]:
    """The first `limit` of what was found; one more than that tells that the list goes on."""
    items = tuple(rows[:limit])
    return Page(items, cursor_of(order, place(items[-1])) if len(rows) > limit else None)


def cursor_of(order: str, place: Place) -> str:
    """A place as a cursor: opaque to the caller, safe in an address."""
    text = json.dumps([order, *place], ensure_ascii=False, separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def read_cursor(cursor: str | None, order: str, *kinds: type) -> Place | None:
    """The place a cursor of this order names; anything else is an error."""
    if cursor is None:
        return None
    try:
        padded = cursor.encode("ascii") + b"=" * (-len(cursor) % 4)
        name, *place = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True).decode())
    except (AttributeError, ValueError, TypeError, RecursionError, binascii.Error):
        name, place = None, []
    fits = len(place) == len(kinds) and all(_is(part, kind) for part, kind in zip(place, kinds, strict=True))
    if name != order or not fits:
        raise InvalidInput("the cursor is not one of this list; take it from the page before, or leave it out")
    return tuple(place)


def _is(part: object, kind: type) -> bool:
    if kind is int:
        return type(part) is int and abs(part) < MAX_PLACE
    if kind is float:
        return type(part) is float and math.isfinite(part)
    return isinstance(part, str) and "\x00" not in part and part == part.encode(errors="ignore").decode()
