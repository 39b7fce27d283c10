"""What holds for every text, time and zone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fivefold.text.time_grammar import EARLIEST, find_window
from tests.text.test_time_of_questions import BERLIN, GOLDEN, NOTHING, NOW, TALK

pytestmark = pytest.mark.slow

ZONES = [
    UTC,
    BERLIN,
    ZoneInfo("America/New_York"),
    ZoneInfo("Australia/Lord_Howe"),
    ZoneInfo("America/Santiago"),
    ZoneInfo("America/Havana"),
    ZoneInfo("Asia/Beirut"),
    timezone(timedelta(hours=14)),
    timezone(timedelta(hours=-12)),
]
"""Clock changes of one hour and of half an hour, some of them at midnight; and both ends of the world."""

VOCABULARY = sorted(
    {word for row in GOLDEN for word in row[0].split()}
    | {word for text in NOTHING for word in text.split()}
    | set("0 1 31 99 9999 0000 29 may March ’24 '24 . , - – / : ; ? the of in on at by since until from to and".split())
)
FRAGMENTS = [row[0] for row in GOLDEN] + [
    "since",
    "until",
    "before",
    "after",
    "between",
    "from",
    "to",
    "and",
    "early",
    "the end of",
    "two weeks before",
    "around",
    "-",
    "every",
    "next",
]

STILL_TO_COME = {"tonight", "this evening", "this afternoon"}
"""These name today, whatever the hour."""

moments = st.datetimes(timezones=st.just(UTC))
recent = st.datetimes(datetime(1995, 1, 1), datetime(2037, 1, 1), timezones=st.just(UTC))
zones = st.sampled_from(ZONES)
texts = st.one_of(
    st.text(),
    st.lists(st.sampled_from(VOCABULARY), max_size=12).map(" ".join),
    st.lists(st.sampled_from(VOCABULARY), max_size=12).map("".join),
    st.lists(st.sampled_from(FRAGMENTS), max_size=6).map(" ".join),
    st.lists(st.one_of(st.sampled_from(VOCABULARY), st.text(max_size=3)), max_size=12).map(" ".join),
)


@settings(max_examples=600, deadline=None)
@given(texts, moments, zones, st.none() | moments)
@example("two years ago", datetime.min.replace(tzinfo=UTC), ZONES[-1], None)
@example("today and since 9999", datetime.max.replace(tzinfo=UTC), ZONES[-2], None)
@example("fırst week of May, ſince the laſt Frıday", NOW, BERLIN, None)
@example("early " * 3000 + "June", NOW, BERLIN, None)
def test_any_text_at_any_time_is_read_or_passed_over(
    text: str, now: datetime, zone: ZoneInfo, talk: datetime | None
) -> None:
    window = find_window(text, now, zone, last_talk=talk)
    if window:
        assert EARLIEST <= window.start < window.end
        assert (window.start.tzinfo, window.end.tzinfo) == (UTC, UTC)
        places = [text.find(part) for part in window.text.split(" … ")]
        assert min(places) >= 0


@settings(deadline=None)
@given(recent, zones, st.sampled_from([row[0] for row in GOLDEN]))
def test_what_names_no_year_has_begun(now: datetime, zone: ZoneInfo, text: str) -> None:
    window = find_window(text, now, zone, last_talk=TALK)
    if window and not any(digit in text for digit in "0123456789") and text not in STILL_TO_COME:
        assert window.start <= now


@settings(deadline=None)
@given(recent, st.integers(-200, 200), st.sampled_from(["yesterday", "last Tuesday", "3 days ago", "on Friday"]))
def test_whole_weeks_shift_days_by_the_same(now: datetime, weeks: int, text: str) -> None:
    shift = timedelta(weeks=weeks)
    here, there = find_window(text, now), find_window(text, now + shift)
    assert here is not None
    assert there is not None
    assert (there.start - here.start, there.end - here.end) == (shift, shift)


@settings(max_examples=300, deadline=None)
@given(
    recent,
    zones,
    st.sampled_from(["yesterday", "today", "3 days ago", "last Sunday", "on Saturday", "30 March", "26 October 2025"]),
)
@example(datetime(2025, 3, 31, 12, tzinfo=UTC), BERLIN, "yesterday")
@example(datetime(2024, 9, 8, 12, tzinfo=UTC), ZoneInfo("America/Santiago"), "today")
@example(datetime(2024, 11, 3, 12, tzinfo=UTC), ZoneInfo("America/Havana"), "today")
@example(datetime(2025, 3, 30, 12, tzinfo=UTC), ZoneInfo("Asia/Beirut"), "today")
def test_days_begin_and_end_at_local_midnight(now: datetime, zone: ZoneInfo, text: str) -> None:
    """Where midnight is skipped or comes twice, at the first moment of the day."""
    window = find_window(text, now, zone)
    assert window is not None
    first, after = window.start.astimezone(zone), window.end.astimezone(zone)
    assert after.date() - first.date() == timedelta(days=1)
    for edge in (first, after):
        just_before = (edge.astimezone(UTC) - timedelta(microseconds=1)).astimezone(zone)
        assert just_before.date() < edge.date()
        assert (edge.hour, edge.minute) in {(0, 0), (1, 0)}


@pytest.mark.parametrize("machine_zone", ["Pacific/Kiritimati", "America/Los_Angeles", "Asia/Kathmandu"])
def test_neither_the_zone_nor_the_clock_of_the_machine_matters(machine_zone: str) -> None:
    texts = [row[0] for row in GOLDEN]
    code = (
        "import json, sys\n"
        "from datetime import datetime\n"
        "from zoneinfo import ZoneInfo\n"
        "from fivefold.text.time_grammar import find_window\n"
        "now, talk = (datetime.fromisoformat(text) for text in sys.argv[1:])\n"
        "zone, texts = ZoneInfo('Europe/Berlin'), json.load(sys.stdin)\n"
        "windows = [find_window(text, now, zone, last_talk=talk) for text in texts]\n"
        "print(json.dumps([window.to_dict() for window in windows]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, NOW.isoformat(), TALK.isoformat()],
        input=json.dumps(texts),
        env={**os.environ, "TZ": machine_zone},
        capture_output=True,
        text=True,
        check=True,
    )
    here = [find_window(text, NOW, BERLIN, last_talk=TALK) for text in texts]
    assert json.loads(done.stdout) == [window.to_dict() for window in here if window]


@pytest.mark.parametrize(
    "text",
    [
        " ".join(["boiler"] * 10_000),
        " ".join(VOCABULARY * (10_000 // len(VOCABULARY) + 1)),
        "may " * 10_000,
        "today since " * 5_000,
        "the last week of " * 2_500 + "May",
        "from 3 to " * 3_000 + "7 May",
        "last" + " " * 50_000 + "week",
        "1" * 50_000,
        "2024-" * 10_000,
    ],
    ids=lambda text: text[:16],
)
def test_long_texts_are_read_to_the_end(text: str) -> None:
    window = find_window(f"{text}. What happened on 7 May 2023?", NOW, BERLIN)
    assert window is not None
