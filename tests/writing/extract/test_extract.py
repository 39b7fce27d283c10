""""""

from __future__ import annotations

import json
import logging
import socket
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fivefold import sample
from fivefold.errors import InvalidInput
from fivefold.text.names import mentions
from fivefold.text.time_grammar import dates_in
from fivefold.values.entities import Correction, Extraction, Mention, Span, Statement, extraction_data, extraction_of
from fivefold.values.memory import TYPES, Memory, Record, Type, record_of
from fivefold.values.validate import MAX_READ
from fivefold.writing.extract import ModelExtractor, Rules, extractor, importance, memory_score
from fivefold.writing.extract.entity_relations import relations
from fivefold.writing.extract.facts import facts
from fivefold.writing.extract.statements import statements
from tests.support.toy_engine import toy

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
        ("Leeds", "place"),
        ("Bristol", "place"),
    ]
    assert found.dates == (Span(datetime(2025, 1, 5, tzinfo=UTC), datetime(2025, 1, 6, tzinfo=UTC), "Yesterday"),)
    assert set(found.facets) == {"personal_info", "events"}


def test_a_preference_with_a_name_and_a_figure() -> None:
    found = read("I prefer morning meetings with Priya Raman, nine to 11 if possible")
    assert found.type == "preference"
    assert Mention("Priya Raman", "person") in found.mentions
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


RECORD = Record(
    content="I moved from Leeds to Bristol yesterday", speaker="Maya", event_at=datetime(2025, 1, 6, 9, tzinfo=UTC)
)
GOOD: dict[str, Any] = {
    "type": "event",
    "predicate": "moved house to Bristol",
    "entities": ["Bristol", "leeds", "Maya", "River Avon"],
    "importance": 0.9,
    "facets": {"personal_info": "lives in Bristol", "preferences": None, "events": "moved house"},
}


class Endpoint:
    """A chat endpoint on a free local port: gives its answers in turn, the last one ever after, and keeps requests."""

    def __init__(self) -> None:
        self.answers: list[tuple[int, str]] = []
        self.asked: list[tuple[str, str | None, Any]] = []
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                endpoint.asked.append((self.path, self.headers["Authorization"], body))
                status, text = endpoint.answers[min(len(endpoint.asked), len(endpoint.answers)) - 1]
                self.send_response(status)
                self.end_headers()
                self.wfile.write(text.encode())

            def log_message(self, *_: object) -> None:
                """Keep the test output quiet."""

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"

    def says(self, content: object) -> None:
        """Answer with `content`, as JSON where it is no text already, in the shape of a chat completion."""
        said = content if isinstance(content, str) else json.dumps(content)
        self.answers.append((200, json.dumps({"choices": [{"message": {"role": "assistant", "content": said}}]})))


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    made = Endpoint()
    monkeypatch.setenv("OPENAI_BASE_URL", made.url)
    monkeypatch.setenv("OPENAI_API_KEY", "local-key")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr("fivefold.models.remote.MAX_ATTEMPTS", 2)
    monkeypatch.setattr("fivefold.models.remote.time.sleep", lambda _: None)
    thread = threading.Thread(target=made.server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield made
    made.server.shutdown()
    thread.join()
    made.server.server_close()


def extract(record: Record = RECORD) -> Extraction:
    return ModelExtractor("reader").extract(record)


def assert_fell_back(found: Extraction, record: Record = RECORD) -> None:
    """The rules' own reading, under a source that says why."""
    ruled = Rules().extract(record)
    assert found.source == "rules, because openai:reader failed"
    assert {**found.to_dict(), "source": "rules"} == ruled.to_dict()


@pytest.mark.slow
def test_a_good_answer_is_merged_with_what_the_rules_read(endpoint: Endpoint) -> None:
    endpoint.says(GOOD)
    found, ruled = extract(), Rules().extract(RECORD)
    assert found.source == "openai:reader"
    assert (found.type, found.predicate, found.importance) == ("event", "moved house to Bristol", 0.9)
    assert found.mentions == (
        Mention("Bristol", "place"),
        Mention("Leeds", "place"),
        Mention("Maya", "person"),
        Mention("River Avon", "name"),
    )
    assert found.facets == {"personal_info": "lives in Bristol", "events": "moved house"}
    assert found.statements == ruled.statements == (Statement("maya", "lives in", "Bristol", True),)
    assert found.dates == ruled.dates != ()
    assert found.memory_score == ruled.memory_score


@pytest.mark.slow
def test_the_model_is_asked_once_with_key_speaker_and_text(endpoint: Endpoint) -> None:
    endpoint.says(GOOD)
    extract()
    ((path, key, body),) = endpoint.asked
    assert (path, key) == ("/v1/chat/completions", "Bearer local-key")
    assert (body["model"], body["temperature"]) == ("reader", 0)
    assert body["messages"][-1] == {"role": "user", "content": "Maya: I moved from Leeds to Bristol yesterday"}
    assert body["messages"][0]["role"] == "system"


@pytest.mark.slow
def test_without_a_key_none_is_sent(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    endpoint.says(GOOD)
    assert extract().source == "openai:reader"
    assert endpoint.asked[0][1] is None


@pytest.mark.slow
def test_what_the_caller_says_stands_before_a_model(endpoint: Endpoint) -> None:
    endpoint.says(GOOD)
    found = extract(Record(content="I moved to Bristol", type="fact", predicate="new home"))
    assert (found.type, found.predicate) == ("fact", "new home")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("part", "value"),
    [("type", "rumour"), ("predicate", None), ("predicate", ""), ("entities", None), ("entities", [])],
)
def test_a_part_the_model_leaves_open_is_read_by_the_rules(endpoint: Endpoint, part: str, value: object) -> None:
    endpoint.says({**GOOD, part: value})
    found, ruled = extract(), Rules().extract(RECORD)
    shown = "mentions" if part == "entities" else part
    assert found.source == "openai:reader"
    assert getattr(found, shown) == getattr(ruled, shown)


@pytest.mark.slow
@pytest.mark.parametrize(("said", "kept"), [(7, 1.0), (-3, 0.0), ("0.4", 0.4), (0, 0.0)])
def test_importance_is_brought_into_0_to_1(endpoint: Endpoint, said: object, kept: float) -> None:
    endpoint.says({**GOOD, "importance": said})
    assert extract().importance == kept


@pytest.mark.slow
def test_a_name_is_mentioned_once_whatever_its_letter_case(endpoint: Endpoint) -> None:
    endpoint.says({**GOOD, "entities": ["Leeds", "LEEDS", " leeds ", "Avon", "avon"]})
    assert [item.name for item in extract().mentions] == ["Leeds", "Avon"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "said",
    [
        "I would rather chat.",
        "",
        '{"type": "event", ',
        "[]",
        "null",
        '"event"',
        "{}",
        json.dumps({**GOOD, "importance": "high"}),
        json.dumps({**GOOD, "facets": ["events"]}),
        json.dumps({**GOOD, "entities": 5}),
        "[" * 100_000,
    ],
)
def test_an_answer_that_is_not_what_was_asked_for_falls_back_to_the_rules(endpoint: Endpoint, said: str) -> None:
    endpoint.says(said)
    assert_fell_back(extract())


@pytest.mark.slow
@pytest.mark.parametrize(
    "body",
    [
        "not json",
        "",
        "[]",
        "null",
        "{}",
        '{"choices": []}',
        '{"choices": null}',
        '{"choices": [{}]}',
        '{"choices": [{"message": {"content": null}}]}',
        '{"error": "overloaded"}',
    ],
)
def test_an_answer_of_another_shape_falls_back_to_the_rules(endpoint: Endpoint, body: str) -> None:
    endpoint.answers.append((200, body))
    assert_fell_back(extract())


@pytest.mark.slow
@pytest.mark.parametrize("predicate", [5, ["moved"], {"to": "Bristol"}, True])
def test_a_predicate_is_text_or_nothing(endpoint: Endpoint, predicate: object) -> None:
    endpoint.says({**GOOD, "predicate": predicate})
    found = extract().predicate
    assert found is None or isinstance(found, str)


@pytest.mark.slow
def test_one_entity_given_as_text_is_not_taken_letter_by_letter(endpoint: Endpoint) -> None:
    endpoint.says({**GOOD, "entities": "Bristol"})
    assert Mention("B", "name") not in extract().mentions


@pytest.mark.slow
@pytest.mark.parametrize("bad", ["half \ud800", "nul \x00"])
def test_what_cannot_be_stored_as_text_is_not_taken_over(endpoint: Endpoint, bad: str) -> None:
    endpoint.says({**GOOD, "predicate": bad, "entities": [bad], "facets": {"events": bad}})
    found = json.dumps(extract().to_dict(), ensure_ascii=False)
    assert "\ud800" not in found
    assert "\\u0000" not in found


@pytest.mark.slow
def test_a_server_error_is_retried_and_then_falls_back(endpoint: Endpoint, caplog: pytest.LogCaptureFixture) -> None:
    endpoint.answers.append((500, "out of order"))
    with caplog.at_level(logging.WARNING, "fivefold"):
        assert_fell_back(extract())
    assert len(endpoint.asked) == 2
    assert "openai:reader could not read a record" in caplog.text
    assert "HTTP 500: out of order" in caplog.text


@pytest.mark.slow
def test_a_server_that_recovers_is_heard(endpoint: Endpoint) -> None:
    endpoint.answers.append((503, "busy"))
    endpoint.says(GOOD)
    assert extract().source == "openai:reader"


@pytest.mark.slow
def test_a_refusal_is_not_retried(endpoint: Endpoint) -> None:
    endpoint.answers.append((401, "who are you?"))
    assert_fell_back(extract())
    assert len(endpoint.asked) == 1


@pytest.mark.slow
def test_a_server_that_is_away_falls_back(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{free.getsockname()[1]}/v1")
        assert_fell_back(extract())
    assert endpoint.asked == []


@pytest.mark.slow
@pytest.mark.parametrize("url", ["http://127.0.0.1:notaport/v1", "127.0.0.1/v1", "", "ftp://127.0.0.1"])
def test_an_address_that_is_none_falls_back(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", url)
    assert_fell_back(extract())
    assert endpoint.asked == []


named = st.lists(
    st.builds(Mention, st.text(min_size=1), st.sampled_from(["person", "name", "identifier", "topic"])), max_size=40
).map(tuple)

SMALL_TALK = [
    "ok",
    "Thanks!",
    "haha nice one",
    "Good morning to you",
    "Sounds good, see you",
    "Sure, no problem",
    "yes",
]
STATEMENTS = [
    "My badge ID is E-47821 and the card is in the other coat",
    "I prefer morning meetings, nine to eleven if possible",
    "I moved from Leeds to Bristol to work with Priya Raman",
    "I'm allergic to penicillin, says Dr Okafor",
]


def weighed(text: str) -> Extraction:
    return Rules().extract(Record(content=text, speaker="user"))


@settings(deadline=None)
@given(st.text(), st.sampled_from(TYPES), named, st.booleans())
def test_worth_lies_between_0_and_1(text: str, kind: Type, found: tuple[Mention, ...], states: bool) -> None:
    assert 0 <= importance(text, kind, found, states) <= 1
    assert 0 <= memory_score(text, found) <= 1


@pytest.mark.parametrize("talk", SMALL_TALK)
@pytest.mark.parametrize("statement", STATEMENTS)
def test_small_talk_is_worth_less_than_a_statement(talk: str, statement: str) -> None:
    assert weighed(talk).importance < weighed(statement).importance
    assert weighed(talk).memory_score < weighed(statement).memory_score


def test_a_question_is_worth_less_than_its_answer() -> None:
    asked, told = "Does Daniel live in Bristol near the harbour?", "Daniel does live in Bristol near the harbour."
    found = mentions(told)
    assert importance(asked, "fact", found, False) < importance(told, "fact", found, False)
    assert memory_score(asked, found) < memory_score(told, found)


def test_what_is_named_stated_or_counted_matters_more() -> None:
    text = "the kettle stands beside the window there"
    bare = importance(text, "fact", (), False)
    assert bare < importance(text, "fact", (Mention("Leeds", "name"),), False)
    assert bare < importance(text, "fact", (), True)
    assert bare < importance(f"{text} 42", "fact", (), False)
    assert bare == importance(text, "fact", (Mention("kettle", "topic"),), False)


def test_preferences_matter_more_than_plain_facts() -> None:
    by_type = {kind: importance("one two three four five six", kind, (), False) for kind in TYPES}
    assert max(by_type, key=lambda kind: by_type[kind]) == "preference"
    assert min(by_type, key=lambda kind: by_type[kind]) == "fact"


def test_importance_by_hand() -> None:
    # 0.3 + 0.05 fact + 0.07 one name + 0.1 figure + 0.15 statement + 0.05 first person
    found = (Mention("E-47821", "identifier"), Mention("badge", "topic"))
    assert importance("My badge ID is E-47821", "fact", found, True) == 0.72


def test_memory_score_by_hand() -> None:
    # 0.4 · 6/12 long + 0.4 · (2 · 0.25 + 0.25) specific + 0.2 statement
    found = (Mention("Leeds", "name"), Mention("house", "topic"))
    assert memory_score("the house in Leeds has 3", found) == 0.7


def test_a_very_long_text_is_about_too_much() -> None:
    assert memory_score("word " * 300, ()) < memory_score("word " * 40, ())


# Of a long text that states thousands of things, the first ones are read and stored, so that no text costs seconds.

NOW = datetime(2025, 6, 1, tzinfo=UTC)


def towns(count: int) -> list[str]:
    letters = "abcdefghijklmnopqrstuvwxyz"
    return [f"Town{letters[number // 26 % 26]}{letters[number % 26]}" for number in range(count)]


def test_the_first_dates_are_read() -> None:
    text = "We met on 5 May 2024. " * (MAX_READ + 50)
    assert dates_in(text, NOW) == dates_in(text[: len(text) * MAX_READ // (MAX_READ + 50)], NOW)
    assert len(dates_in(text, NOW)) == MAX_READ


def test_the_first_relations_are_read() -> None:
    named = towns(MAX_READ + 50)
    found = relations(" ".join(f"I live in {town}." for town in named), "user")
    assert [relation.target for relation in found] == named[:MAX_READ]


def test_the_last_value_of_each_of_the_first_statements_counts() -> None:
    text = " ".join(f"My {town} code is {number}." for number, town in enumerate(towns(MAX_READ + 50)))
    found = statements(f"{text} My Townaa code is 999.", "user")
    assert len(found) == MAX_READ
    assert found[0].value == "999"


def test_such_a_text_is_stored_whole(tmp_path: Path) -> None:
    text = " ".join(f"I live in {town}." for town in towns(MAX_READ + 50))
    with toy(str(tmp_path / "m.db")) as mem:
        mem.remember(text, id="long")
        assert mem.get("long").content == text
        assert mem.stats().memories == 1


@pytest.mark.parametrize("piece", [" ", " \n", "a", "1 ", "- ", "( ", ",  ", "1-", "._", "and ", '" '])
def test_the_facts_of_a_text_that_repeats_itself_are_read_in_one_pass(piece: str) -> None:
    found = facts(f"I live in Leeds. {piece * (100_000 // len(piece))}", "user")
    assert found[0].section == "home"
