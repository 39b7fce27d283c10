from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fivefold.errors import InvalidInput
from fivefold.values.times import EPOCH, as_utc, from_micros, iso, spoken_date, to_micros, utc_now

moments = st.datetimes(timezones=st.just(UTC))


@pytest.mark.parametrize("value", [datetime(2025, 3, 15, 9, 30), "2025-03-15T09:30:00", "2025-03-15 09:30"])
def test_a_time_without_a_zone_is_taken_as_utc_and_said_so(value: datetime | str) -> None:
    assert as_utc(value) == (datetime(2025, 3, 15, 9, 30, tzinfo=UTC), True)


def test_a_bare_day_is_its_midnight() -> None:
    assert as_utc("2025-03-15") == (datetime(2025, 3, 15, tzinfo=UTC), True)


@pytest.mark.parametrize(
    "value",
    [
        "2025-03-15T09:30:00Z",
        " 2025-03-15T09:30:00+00:00\n",
        "2025-03-15T15:00:00+05:30",
        "2025-03-14T23:30:00-10:00",
        datetime(2025, 3, 15, 10, 30, tzinfo=timezone(timedelta(hours=1))),
    ],
)
def test_offsets_are_converted(value: datetime | str) -> None:
    moment, naive = as_utc(value)
    assert (moment, moment.tzinfo, naive) == (datetime(2025, 3, 15, 9, 30, tzinfo=UTC), UTC, False)


@pytest.mark.parametrize(
    "value",
    [
        "",
        "soon",
        "15/03/2025",
        "2025-02-30",
        "2025-13-01",
        "2025-03-15T25:00:00",
        "10000-01-01",
        "2025",
        "\ud800",
        "2025-03-15T09:30:00Zulu",
    ],
)
def test_a_bad_string_is_refused_by_field_and_shown_how_to_write(value: str) -> None:
    with pytest.raises(
        InvalidInput, match=r"^valid_from .* is not an ISO 8601 time; write it like 2025-03-15T09:30:00Z"
    ):
        as_utc(value, "valid_from")


@pytest.mark.parametrize("value", [1_742_031_000, 1.5, None, True, b"2025-03-15", date(2025, 3, 15), ["2025-03-15"]])
def test_a_value_that_is_no_time_is_refused_by_field_and_type(value: Any) -> None:
    with pytest.raises(
        InvalidInput, match=f"^event_at must be a datetime or an ISO 8601 string, not {type(value).__name__}"
    ):
        as_utc(value)


@pytest.mark.parametrize("value", ["0001-01-01T00:00:00+01:00", "9999-12-31T23:30:00-01:00"])
def test_a_time_beyond_the_calendar_in_utc_is_refused(value: str) -> None:
    with pytest.raises(InvalidInput, match=r"^valid_to .* outside the years 1 to 9999"):
        as_utc(value, "valid_to")


@pytest.mark.parametrize(
    ("text", "micros"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1969-12-31T23:59:59.999999Z", -1),
        ("1969-07-20T20:17:40Z", -14_182_940_000_000),
        ("2000-01-01T00:00:00.000001Z", 946_684_800_000_001),
        ("2150-06-01T12:00:00Z", 5_693_371_200_000_000),
        ("0001-01-01T00:00:00Z", -62_135_596_800_000_000),
        ("9999-12-31T23:59:59.999999Z", 253_402_300_799_999_999),
    ],
)
def test_times_of_every_century_are_kept_to_the_microsecond(text: str, micros: int) -> None:
    moment, _ = as_utc(text)
    assert to_micros(moment) == micros
    assert from_micros(micros) == moment
    assert iso(moment) == text


@given(moments)
def test_micros_round_trip(moment: datetime) -> None:
    assert from_micros(to_micros(moment)) == moment
    assert as_utc(iso(moment)) == (moment, False)


@given(moments, moments)
def test_micros_order_as_times_do(one: datetime, other: datetime) -> None:
    assert (one < other) == (to_micros(one) < to_micros(other))


@settings(deadline=None)
@given(st.text())
def test_any_text_is_a_time_or_refused(text: str) -> None:
    try:
        moment, _ = as_utc(text)
    except InvalidInput:
        return
    assert moment.tzinfo is UTC


def test_iso_is_in_utc_with_z() -> None:
    assert iso(datetime(2025, 3, 15, 9, 30, tzinfo=UTC)) == "2025-03-15T09:30:00Z"
    assert iso(datetime(2025, 3, 15, 9, 30, 0, 5, tzinfo=timezone(timedelta(hours=2)))) == "2025-03-15T07:30:00.000005Z"


def test_now_is_aware_and_after_the_epoch() -> None:
    now = utc_now()
    assert now.tzinfo is UTC
    assert now > EPOCH


@pytest.mark.parametrize(
    ("moment", "spoken"),
    [(datetime(2023, 5, 7, 23, 59, tzinfo=UTC), "7 May 2023"), (datetime(987, 12, 31, tzinfo=UTC), "31 December 987")],
)
def test_a_day_is_spoken_as_people_write_it(moment: datetime, spoken: str) -> None:
    assert spoken_date(moment) == spoken
