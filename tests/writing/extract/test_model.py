from __future__ import annotations

import json
import logging
import socket
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from fivefold.values.entities import Extraction, Mention, Statement
from fivefold.values.memory import Record
from fivefold.writing.extract import ModelExtractor, Rules

pytestmark = pytest.mark.slow

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
    monkeypatch.setattr("fivefold.models.remote.ATTEMPTS", 2)
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


def test_a_good_answer_is_merged_with_what_the_rules_read(endpoint: Endpoint) -> None:
    endpoint.says(GOOD)
    found, ruled = extract(), Rules().extract(RECORD)
    assert found.source == "openai:reader"
    assert (found.type, found.predicate, found.importance) == ("event", "moved house to Bristol", 0.9)
    assert found.mentions == (
        Mention("Bristol", "name"),
        Mention("Leeds", "name"),
        Mention("Maya", "person"),
        Mention("River Avon", "name"),
    )
    assert found.facets == {"personal_info": "lives in Bristol", "events": "moved house"}
    assert found.statements == ruled.statements == (Statement("maya", "lives in", "Bristol", True),)
    assert found.dates == ruled.dates != ()
    assert found.memory_score == ruled.memory_score


def test_the_model_is_asked_once_with_key_speaker_and_text(endpoint: Endpoint) -> None:
    endpoint.says(GOOD)
    extract()
    ((path, key, body),) = endpoint.asked
    assert (path, key) == ("/v1/chat/completions", "Bearer local-key")
    assert (body["model"], body["temperature"]) == ("reader", 0)
    assert body["messages"][-1] == {"role": "user", "content": "Maya: I moved from Leeds to Bristol yesterday"}
    assert body["messages"][0]["role"] == "system"


def test_without_a_key_none_is_sent(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    endpoint.says(GOOD)
    assert extract().source == "openai:reader"
    assert endpoint.asked[0][1] is None


def test_what_the_caller_says_stands(endpoint: Endpoint) -> None:
    endpoint.says(GOOD)
    found = extract(Record(content="I moved to Bristol", type="fact", predicate="new home"))
    assert (found.type, found.predicate) == ("fact", "new home")


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


@pytest.mark.parametrize(("said", "kept"), [(7, 1.0), (-3, 0.0), ("0.4", 0.4), (0, 0.0)])
def test_importance_is_brought_into_0_to_1(endpoint: Endpoint, said: object, kept: float) -> None:
    endpoint.says({**GOOD, "importance": said})
    assert extract().importance == kept


def test_a_name_is_mentioned_once_whatever_its_letter_case(endpoint: Endpoint) -> None:
    endpoint.says({**GOOD, "entities": ["Leeds", "LEEDS", " leeds ", "Avon", "avon"]})
    assert [item.name for item in extract().mentions] == ["Leeds", "Avon"]


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


@pytest.mark.parametrize("predicate", [5, ["moved"], {"to": "Bristol"}, True])
def test_a_predicate_is_text_or_nothing(endpoint: Endpoint, predicate: object) -> None:
    endpoint.says({**GOOD, "predicate": predicate})
    found = extract().predicate
    assert found is None or isinstance(found, str)


def test_one_entity_given_as_text_is_not_taken_letter_by_letter(endpoint: Endpoint) -> None:
    endpoint.says({**GOOD, "entities": "Bristol"})
    assert Mention("B", "name") not in extract().mentions


@pytest.mark.parametrize("bad", ["half \ud800", "nul \x00"])
def test_what_cannot_be_stored_as_text_is_not_taken_over(endpoint: Endpoint, bad: str) -> None:
    endpoint.says({**GOOD, "predicate": bad, "entities": [bad], "facets": {"events": bad}})
    found = json.dumps(extract().to_dict(), ensure_ascii=False)
    assert "\ud800" not in found
    assert "\\u0000" not in found


def test_a_server_error_is_retried_and_then_falls_back(endpoint: Endpoint, caplog: pytest.LogCaptureFixture) -> None:
    endpoint.answers.append((500, "out of order"))
    with caplog.at_level(logging.WARNING, "fivefold"):
        assert_fell_back(extract())
    assert len(endpoint.asked) == 2
    assert "openai:reader could not read a record" in caplog.text
    assert "HTTP 500: out of order" in caplog.text


def test_a_server_that_recovers_is_heard(endpoint: Endpoint) -> None:
    endpoint.answers.append((503, "busy"))
    endpoint.says(GOOD)
    assert extract().source == "openai:reader"


def test_a_refusal_is_not_retried(endpoint: Endpoint) -> None:
    endpoint.answers.append((401, "who are you?"))
    assert_fell_back(extract())
    assert len(endpoint.asked) == 1


def test_a_server_that_is_away_falls_back(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{free.getsockname()[1]}/v1")
        assert_fell_back(extract())
    assert endpoint.asked == []


@pytest.mark.parametrize("url", ["http://127.0.0.1:notaport/v1", "127.0.0.1/v1", "", "ftp://127.0.0.1"])
def test_an_address_that_is_none_falls_back(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", url)
    assert_fell_back(extract())
    assert endpoint.asked == []
