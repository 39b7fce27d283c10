"""The decay chosen for a question: a few dozen by hand, and the laws of every choice (D12)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fivefold.learning.adaptation import NO_DECAY, OVER_CANDIDATES, QueryDecay, choose_decay, decay_for
from fivefold.retrieval.understand.words import find_cues, main_intent
from fivefold.text.time_grammar import find_window
from fivefold.values.decay import Decay
from fivefold.values.query import Query, Window

NOW = datetime(2025, 3, 15, 12, tzinfo=UTC)
"""A Saturday, noon."""


def asked(text: str, now: datetime = NOW) -> Query:
    cues = find_cues(text)
    return Query(text, now, (), window=find_window(text, now), cues=cues, intent=main_intent(cues))


@pytest.mark.parametrize(
    ("question", "hours"),
    [
        ("what did I just say?", 6),
        ("you just told me a name, which was it?", 6),
        ("what was I saying a moment ago?", 6),
        ("where were we?", 6),
        ("let's carry on", 6),
        ("let's pick up where we left off", 6),
        ("what was that link just now", 6),
        ("what did Anna say two hours ago?", 2.5),
        ("what came in during the past hour?", 1),
        ("what happened this morning?", 12),
        ("what did we talk about today?", 12),
        ("what was for dinner last night?", 18),
        ("what did we talk about yesterday?", 36),
    ],
)
def test_d12_hours_and_days_fall_exponentially(question: str, hours: float) -> None:
    decay = choose_decay(asked(question), 365)
    assert decay.curve == "exponential"
    assert decay.half_life_days == pytest.approx(hours / 24)


@pytest.mark.parametrize(
    ("question", "days"),
    [
        ("what did we decide last week?", 7),
        ("what has changed since last week?", 7),
        ("what did I do this week?", 5.5),
        ("what did I do this month?", 14.5),
        ("a few days ago you named a book", 5),
        ("what did we do three weeks ago?", 24.5),
        ("what did I spend in the last 30 days?", 30),
        ("what have I been reading lately?", 30),
        ("how did the last three months go?", 90),
        ("since January, how much did I run?", 73.5),
        ("list the races I ran this year", 73.5),
    ],
)
def test_d12_weeks_and_months_fall_as_a_bell(question: str, days: float) -> None:
    decay = choose_decay(asked(question), 365)
    assert decay.curve == "gaussian"
    assert decay.half_life_days == pytest.approx(days)


def test_d12_many_years_until_now_fall_along_a_line() -> None:
    assert choose_decay(asked("how did my running go since 2010?"), 6_000) == Decay("linear", 5552.5)


@pytest.mark.parametrize(
    "question",
    [
        "what happened in 2019?",
        "what did I do on 3 May 2021?",
        "where did I go last summer?",
        "what happened last year?",
        "between May and July 2024, what did I read?",
        "before 2020, where did I live?",
        "what did I think until last month?",
        "what will happen in 2030?",
        "what did I like as a child?",
        "where did I live years ago?",
        "over the years, what have I said about running?",
        "have I ever been to Rome?",
        "what do I keep coming back to?",
        "what do I usually have for breakfast?",
        "when did Elin marry Marco?",
        "how long ago did I move house?",
    ],
)
def test_d12_a_time_long_gone_a_habit_or_a_date_does_not_decay(question: str) -> None:
    assert choose_decay(asked(question), 365) == NO_DECAY


@pytest.mark.parametrize(
    "question",
    [
        "what is my sister's name?",
        "how do I like my coffee?",
        "what's my style when I mentor junior colleagues?",
        "what was my finishing time in the half marathon?",
        "what's the latest on Kestrel?",
        "where do I live now?",
        "what is my current phone number?",
        "when did I last bake something with Bertil?",
        "who is my dentist these days?",
        "which carry on bag did I buy?",
        "where was I born?",
    ],
)
def test_d12_without_a_time_the_candidates_give_the_measure(question: str) -> None:
    assert choose_decay(asked(question), 365) == OVER_CANDIDATES


@pytest.mark.parametrize(
    ("span", "days"), [(0.0, 14), (float("nan"), 14), (float("inf"), 14), (-3.0, 14), (7, 1), (240, 10), (5_000, 45)]
)
def test_d12_what_is_new_is_a_share_of_how_far_memory_reaches(span: float, days: float) -> None:
    assert choose_decay(asked("what's new with Kestrel?"), span) == Decay("exponential", days)


def test_after_a_long_silence_the_newest_still_keeps_half() -> None:
    quiet = decay_for(asked("where were we?"), 365, newest_days=20.0)
    assert quiet == QueryDecay(
        Decay("exponential", 20.0), "'where were we' asks for the last hours, and nothing is newer than 20.0 d"
    )
    assert choose_decay(asked("where were we?"), 365, newest_days=0.1) == Decay("exponential", 0.25)
    assert choose_decay(asked("what happened in 2019?"), 365, newest_days=20.0) == NO_DECAY


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        ("what did we decide last week?", "'last week' begins 7.0 d ago; half is left there"),
        ("what happened this morning?", "'this morning' begins 12.0 h ago; half is left there"),
        ("what happened in 2019?", "'2019' is long over: what is newer is no nearer to it"),
        ("what will happen in 2030?", "'2030' is yet to come"),
        ("what did I think until last month?", "'until last month' has no beginning: what is newer is no nearer to it"),
        ("any news?", "'any news' is taken as half gone after 15.2 d"),
        ("when did Elin marry Marco?", "it asks for the time itself, which may be any"),
        ("how do I like my coffee?", "it names no time: newness over the candidates' own span"),
    ],
)
def test_every_choice_says_why(question: str, reason: str) -> None:
    assert decay_for(asked(question), 365).reason == reason


times = st.datetimes(datetime(1, 1, 2), datetime(9998, 1, 1), timezones=st.just(UTC))
windows = st.none() | st.builds(lambda one, other: Window(min(one, other), max(one, other), "then"), times, times)
words = st.sampled_from(
    ["just now", "lately", "latest", "ever", "usually", "when did", "2019", "now", "we", "Ünïcode", "?"]
)
texts = st.text(max_size=60) | st.lists(words, max_size=6).map(" ".join)


@given(texts, times, windows, st.floats(), st.floats())
@settings(deadline=None, max_examples=200)
def test_d12_no_question_fails_and_every_curve_falls_from_one(
    text: str, now: datetime, window: Window | None, span: float, newest: float
) -> None:
    cues = find_cues(text)
    query = Query(text, now, (), window=window, cues=cues, intent=main_intent(cues))
    found = decay_for(query, span, newest)
    assert found.decay == choose_decay(query, span, newest)
    assert found.reason
    assert found.decay.half_life_days is None or 0 < found.decay.half_life_days <= 1e6
    left = [found.decay.left(days) for days in (0, 0.01, 1, 7, 30, 365, 5_000)]
    assert left[0] == 1
    assert left == sorted(left, reverse=True)
    assert all(0 <= share <= 1 for share in left)


@given(times, st.floats(0, 61))
@settings(deadline=None, max_examples=60)
def test_d12_a_near_time_keeps_at_least_half_over_the_whole_of_it(now: datetime, days: float) -> None:
    start = max(now - timedelta(days=days), datetime(1, 1, 2, tzinfo=UTC))
    decay = choose_decay(Query("then", now, (), window=Window(start, now, "then")), 365)
    assert decay.left((now - start) / timedelta(days=1)) >= 0.5 - 1e-9
    assert decay.curve in ("exponential", "gaussian")
