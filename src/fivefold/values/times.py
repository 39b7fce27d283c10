"""Times at the border: everything inside is aware UTC, stored as microseconds since 1970."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo

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
    """How far the clock of a time is ahead of UTC, where the time says so; of a checked time only."""
    moment = datetime.fromisoformat(value.strip()) if isinstance(value, str) else value
    return moment.utcoffset()


def in_zone(value: datetime, zone: tzinfo) -> datetime:
    """The same moment by the clocks of `zone`; in UTC at the ends of the calendar, where the zone has no such day."""
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
