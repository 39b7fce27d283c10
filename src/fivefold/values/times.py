"""Times at the border: everything inside is aware UTC, stored as microseconds since 1970."""

from __future__ import annotations

import hashlib
import os
import re
import threading
import time
import unicodedata
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from functools import partial

from fivefold.errors import InvalidInput

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
DAY_MICROS = 86_400_000_000
MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def utc_now() -> datetime:
    return datetime.now(UTC)


def as_utc(value: datetime | str, field: str = "event_at") -> tuple[datetime, bool]:
    """`value` in UTC, and whether it came without a zone and was taken as UTC."""
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value.strip())
        except ValueError:
            reason = f"{value!r} is not an ISO 8601 time; write it like 2025-03-15T09:30:00Z"
            raise InvalidInput(reason, field=field) from None
    if not isinstance(value, datetime):
        reason = f"must be a datetime or an ISO 8601 string, not {type(value).__name__}"
        raise InvalidInput(reason, field=field)
    naive = value.tzinfo is None
    try:
        return (value.replace(tzinfo=UTC) if naive else value.astimezone(UTC)), naive
    except OverflowError:
        reason = f"{value!r} lies outside the years 1 to 9999 in UTC"
        raise InvalidInput(reason, field=field) from None


def offset_of(value: datetime | str) -> timedelta | None:
    """The offset of a time from UTC, if the time names one; of a checked time only."""
    moment = datetime.fromisoformat(value.strip()) if isinstance(value, str) else value
    return moment.utcoffset()


def in_zone(value: datetime, zone: tzinfo) -> datetime:
    """Converts to the clocks of `zone`; to UTC at the ends of the calendar, if the zone has no such day."""
    try:
        return value.astimezone(zone)
    except OverflowError:
        return value


def iso(value: datetime) -> str:
    return value.astimezone(UTC).isoformat().replace("+00:00", "Z")


def to_micros(value: datetime) -> int:
    return (value - EPOCH) // MICROSECOND


def from_micros(value: int) -> datetime:
    return EPOCH + value * MICROSECOND


def spoken_date(value: datetime) -> str:
    """The day as people write it, for the text that is embedded and indexed: '7 May 2023'."""
    return f"{value.day} {MONTHS[value.month - 1]} {value.year}"


# Ids that sort by time, and hashes that tell whether two texts say the same.

_SIGNS = ("<super>", "<sub>", "<fraction>")
"""Kinds of characters that NFKC turns into plain digits and letters."""

_lock = threading.Lock()
_last = 0


def new_id() -> str:
    """A UUID version 7: 48 bits of milliseconds, then a counter within them, then randomness.

    The clock never runs backwards within a process, so ids sort in the order they were made.
    """
    global _last  # noqa: PLW0603 - one monotonic clock per process is the point
    with _lock:
        _last = max(_last + 1, time.time_ns() // 1_000_000 << 12)
        stamp = _last
    millis, counter = stamp >> 12, stamp & 0xFFF
    tail = int.from_bytes(os.urandom(8), "big") & (1 << 62) - 1 | 1 << 63
    number = millis << 80 | 0x7 << 76 | counter << 64 | tail
    text = f"{number:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def content_hash(*parts: str | None) -> bytes:
    """16 bytes that are equal when the parts are, letter case and white space aside."""
    return _hash(_meaning, parts)


def _hash(normalize: Callable[[str], str], parts: Sequence[str | None]) -> bytes:
    folded = "\x1f".join(" ".join(normalize(part).casefold().split()) for part in (part or "" for part in parts))
    return hashlib.blake2b(folded.encode(), digest_size=16).digest()


def is_hash_of(stored: bytes, *parts: str | None) -> bool:
    """True if a stored hash fits these parts, by today's formula or an earlier version's."""
    return stored in (content_hash(*parts), _hash(partial(unicodedata.normalize, "NFKC"), parts))


def replay_id(canonical: str, occurrence: int) -> str:
    """The id of the n-th equal line of an import, so that importing the file again adds nothing."""
    return hashlib.blake2b(f"{occurrence}\x1f{canonical}".encode(), digest_size=16).hexdigest()


def _meaning(text: str) -> str:
    """The text in one spelling. Raised and lowered signs and fractions stay: 2⁵ is not 25."""
    if text.isascii():
        return text
    signs = "".join(sorted(c for c in set(text) if unicodedata.decomposition(c).startswith(_SIGNS)))
    pieces = re.split(f"([{signs}])", text) if signs else [text]
    return "".join(piece if piece in signs else unicodedata.normalize("NFKC", piece) for piece in pieces if piece)
