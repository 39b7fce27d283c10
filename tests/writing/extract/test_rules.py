from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fivefold import sample
from fivefold.errors import InvalidInput
from fivefold.values.entities import Correction, Extraction, Mention, Span, Statement, extraction_data, extraction_of
from fivefold.values.memory import TYPES, Memory, Record, record_of
from fivefold.writing.extract import Rules, extractor

MONDAY = datetime(2025, 1, 6, 9, tzinfo=UTC)
NEW_YORK = timezone(timedelta(hours=-5))


def read(content: str, speaker: str | None = "user") -> Extraction:
    return Rules().extract(Record(content=content, speaker=speaker, event_at=MONDAY))


def test_a_statement_about_oneself() -> None:
    found = read("My badge ID is E-47821")
    assert found == Extraction(
        type="fact",
        predicate="badge id is E-47821",
        importance=0.72,
        memory_score=found.memory_score,
        mentions=(Mention("E-47821", "identifier"), Mention("badge", "topic")),
        statements=(Statement("user", "badge id", "E-47821"),),
        facets={"personal_info": "My badge ID is E-47821"},
    )


def test_a_move_told_by_a_person() -> None:
    found = read("Yesterday I moved from Leeds to Bristol", "Maya")
    assert found.type == "event"
    assert found.predicate == "lives in Bristol"
    assert found.statements == (Statement("maya", "lives in", "Bristol", True),)
    assert [(item.name, item.kind) for item in found.mentions] == [
        ("Maya", "person"),
        ("Leeds", "name"),
        ("Bristol", "name"),
    ]
    assert found.dates == (Span(datetime(2025, 1, 5, tzinfo=UTC), datetime(2025, 1, 6, tzinfo=UTC), "Yesterday"),)
    assert set(found.facets) == {"personal_info", "events"}


def test_a_preference_with_a_name_and_a_figure() -> None:
    found = read("I prefer morning meetings with Priya Raman, nine to 11 if possible")
    assert found.type == "preference"
    assert Mention("Priya Raman", "name") in found.mentions
    assert Statement("user", "prefers morn", "morning meetings with Priya Raman") in found.statements
    assert set(found.facets) == {"preferences"}


def test_a_correction() -> None:
    found = read("Actually it's 45 now")
    assert found.refers_back == Correction("45")
    assert found.statements == ()


def test_an_assistant_only_names_things() -> None:
    found = read("I live in the cloud, but Leeds is your home and JIRA-9921 your ticket", "assistant")
    assert found.statements == ()
    assert found.predicate is None
    assert {"Leeds", "JIRA-9921"} <= {item.name for item in found.mentions}


def test_what_the_caller_says_stands() -> None:
    record = Record(content="I prefer tea", type="fact", predicate="tea drinker", event_at=MONDAY)
    found = Rules().extract(record)
    assert (found.type, found.predicate) == ("fact", "tea drinker")


def test_dates_are_read_against_the_time_of_the_event() -> None:
    assert read("See you tomorrow").dates[0].start == datetime(2025, 1, 7, tzinfo=UTC)
    assert Rules().extract(Record(content="See you tomorrow")).dates[0].start > MONDAY


def test_the_rules_say_so() -> None:
    assert Rules.name == "rules"
    assert read("I live in Leeds").source == "rules"


def test_the_rules_read_the_same_again() -> None:
    records = [record_of(item) for item in sample.memories()]
    assert [Rules().extract(record) for record in records] == [Rules().extract(record) for record in records]


def test_what_was_read_is_kept_as_json_and_restored() -> None:
    for item in sample.memories():
        record = record_of(item)
        found = Rules().extract(record)
        again = extraction_of(_memory(record, found), json.loads(json.dumps(extraction_data(found))))
        assert [(statement.subject, statement.attribute, statement.value) for statement in again.statements] == [
            (statement.subject, statement.attribute, statement.value) for statement in found.statements
        ]
        assert (again.mentions, again.dates, dict(again.facets)) == (found.mentions, found.dates, dict(found.facets))
        assert (again.type, again.predicate, again.source) == (found.type, found.predicate, "rules")


@settings(deadline=None)
@given(st.text(min_size=1), st.sampled_from(["user", "assistant", "Maya", None]))
def test_any_text_can_be_read(text: str, speaker: str | None) -> None:
    found = read(text, speaker)
    assert found.type in TYPES
    assert 0 <= found.importance <= 1
    assert 0 <= found.memory_score <= 1


def test_an_extractor_is_chosen_by_name() -> None:
    assert extractor("rules").name == "rules"
    assert extractor("openai:some-model").name == "openai:some-model"


@pytest.mark.parametrize("choice", ["", "rule", "openai", "openai:", "other:model"])
def test_an_unknown_extractor_is_refused_and_the_known_ones_listed(choice: str) -> None:
    with pytest.raises(InvalidInput, match=r"unknown extractor .*; known are rules, openai:MODEL"):
        extractor(choice)


def _memory(record: Record, found: Extraction) -> Memory:
    return Memory(
        id="m",
        namespace="default",
        content=record.content,
        kind="note",
        type=found.type,
        speaker=record.speaker,
        session_id=None,
        turn_index=None,
        predicate=found.predicate,
        user_text=None,
        assistant_text=None,
        next_user_text=None,
        tags=(),
        task_tag=None,
        event_at=MONDAY,
        created_at=MONDAY,
        valid_from=None,
        valid_to=None,
        superseded_by=None,
        importance=found.importance,
        memory_score=found.memory_score,
        confidence=1.0,
        seen_count=1,
        access_count=0,
        last_accessed_at=None,
        metadata={},
    )


@pytest.mark.parametrize("said_at", ["2025-06-11T23:30:00-05:00", datetime(2025, 6, 11, 23, 30, tzinfo=NEW_YORK)])
def test_dates_are_days_of_the_offset_that_the_record_came_with(said_at: str | datetime) -> None:
    record = record_of({"content": "I saw her today", "event_at": said_at})
    (span,) = Rules().extract(record_of(record)).dates
    assert (span.start, span.end) == (datetime(2025, 6, 11, 5, tzinfo=UTC), datetime(2025, 6, 12, 5, tzinfo=UTC))


def test_without_an_offset_days_are_those_of_utc() -> None:
    (span,) = Rules().extract(record_of({"content": "I saw her today", "event_at": "2025-06-11T23:30:00"})).dates
    assert span.start == datetime(2025, 6, 11, tzinfo=UTC)
