from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fivefold
from fivefold.errors import InvalidInput
from fivefold.stores import open_store
from fivefold.transfer.backup import back_up, restore
from fivefold.transfer.migrate import migrate
from fivefold.values.fields import Count, check
from fivefold.values.memory import KINDS, TYPES, Record, record_of
from fivefold.values.validate import (
    MAX_CONTENT,
    MAX_K,
    MAX_NAME,
    MAX_TAGS,
    MAX_TEXT,
    NAME_PATTERN,
    TEXT_PATTERN,
    checked_history,
    checked_location,
    checked_name,
    checked_text,
    is_name,
    visible,
)

TEXTS = ("content", "predicate", "user_text", "assistant_text", "next_user_text")
NAMES = ("id", "speaker", "session_id", "task_tag")
SHARES = ("importance", "memory_score", "confidence")
TIMES = ("event_at", "valid_from", "valid_to")


def refusal(value: object) -> str:
    with pytest.raises(InvalidInput) as caught:
        record_of(value)
    return str(caught.value)


def attempt(value: object) -> Record | str:
    """The record, or what is said against it; any other error comes through."""
    try:
        return record_of(value)
    except InvalidInput as error:
        return str(error)


def given_with(**fields: object) -> dict[str, object]:
    return {"content": "I live in Leeds", **fields}


def nested(depth: int) -> list[object]:
    inner: list[object] = []
    for _ in range(depth):
        inner = [inner]
    return inner


# what is refused


@pytest.mark.parametrize("text", ["", " ", " \t\r\n ", "\u200b", "\u200b\u200d\ufeff", "\u00a0\u2003", "\u202e \u2060"])
def test_content_without_anything_to_see_is_refused(text: str) -> None:
    assert re.search(r"^content is empty; say something", refusal(text))
    assert re.search(r"^content is empty; say something", refusal({"content": text}))


@pytest.mark.parametrize("value", [{}, {"content": None}, {"speaker": "Maya"}, {"user_text": " "}, Record()])
def test_a_record_without_any_text_is_refused(value: object) -> None:
    assert refusal(value).startswith("content is empty; say something")


@pytest.mark.parametrize("field", ["user_text", "assistant_text"])
def test_a_part_without_anything_to_see_makes_no_content(field: str) -> None:
    assert refusal({field: "\u200b"}).startswith("content is empty")


@pytest.mark.parametrize("field", TEXTS)
def test_too_long_a_text_is_refused_by_field_with_both_lengths(field: str) -> None:
    most, advice = (MAX_TEXT, "make it shorter") if field == "predicate" else (MAX_CONTENT, "remember it in parts")
    message = refusal(given_with(**{field: "x" * (most + 1)}))
    assert message == f"{field} has {most + 1:,} characters, the maximum is {most:,}; {advice}"


def test_content_made_of_its_parts_is_no_longer_than_any_other() -> None:
    message = refusal({"user_text": "x" * (MAX_CONTENT - 5), "assistant_text": "y" * 5})
    assert re.search(r"^content has 100,000,001 characters", message)


@pytest.mark.parametrize("field", [*TEXTS, *NAMES])
def test_nul_is_refused_by_field(field: str) -> None:
    assert refusal(given_with(**{field: "a\x00b"})).startswith(f"{field} holds a NUL character; remove it")


@pytest.mark.parametrize("field", [*TEXTS, *NAMES])
def test_half_a_surrogate_pair_is_refused_by_field_and_place(field: str) -> None:
    assert refusal(given_with(**{field: "ab\ud83d"})).startswith(f"{field} holds half a surrogate pair at position 2")


@pytest.mark.parametrize("field", [*TEXTS, *NAMES])
@pytest.mark.parametrize("value", [5, 1.5, True, b"bytes", ["text"], {"text": 1}, datetime(2025, 1, 1, tzinfo=UTC)])
def test_a_text_field_of_another_type_is_refused(field: str, value: object) -> None:
    assert refusal(given_with(**{field: value})) == f"{field} must be text, not {type(value).__name__}"


@pytest.mark.parametrize("value", [5, None, b"I live in Leeds", ["I live in Leeds"], Record, object(), 0.5])
def test_a_record_of_another_type_is_refused(value: object) -> None:
    message = refusal(value)
    assert message == f"a record must be text, a mapping or a dataclass, not {type(value).__name__}"


@pytest.mark.parametrize("name", ["contents", "Content", "notes", "namespace", "", "created_at"])
def test_an_unknown_field_is_refused_and_the_known_ones_listed(name: str) -> None:
    message = refusal(given_with(**{name: "x"}))
    assert message.startswith(f"unknown field {name!r}; a record has ")
    assert all(known in message for known in (*TEXTS, *NAMES, *SHARES, *TIMES, "kind", "type", "tags", "metadata"))


@pytest.mark.parametrize("keys", [(1,), (1, "b"), (None, "b"), (("a", 1), 2)])
def test_a_field_that_is_no_name_is_refused(keys: tuple[object, ...]) -> None:
    assert refusal({"content": "x", **dict.fromkeys(map(_any, keys), 1)}).startswith("unknown field ")


@pytest.mark.parametrize("field", NAMES)
@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("", "is empty"),
        ("\u200b", "is empty"),
        ("x" * (MAX_NAME + 1), "has 201 characters, the maximum is 200"),
        ("two\nlines", "holds a line break or control character"),
        ("bell\x07", "holds a line break or control character"),
        ("two\u2028lines", "holds a line break or control character"),
    ],
)
def test_a_name_is_short_visible_and_on_one_line(field: str, value: str, problem: str) -> None:
    message = refusal(given_with(**{field: value}))
    assert message.startswith(field)
    assert problem in message


@pytest.mark.parametrize(("field", "allowed"), [("kind", KINDS), ("type", TYPES)])
@pytest.mark.parametrize("value", ["memo", "", "Fact", 3, ["fact"]])
def test_an_unknown_kind_or_type_is_refused_and_the_known_ones_listed(
    field: str, allowed: tuple[str, ...], value: object
) -> None:
    assert refusal(given_with(**{field: value})) == f"{field} {value!r} is unknown; it is one of {', '.join(allowed)}"


def test_a_turn_without_a_session_is_refused() -> None:
    assert refusal(given_with(kind="turn")) == "a turn belongs to a session; give its session_id"


def test_a_session_cannot_be_remembered_by_hand() -> None:
    assert "remember the turns with a session_id" in refusal(given_with(kind="session", session_id="monday"))


@pytest.mark.parametrize("field", SHARES)
@pytest.mark.parametrize("value", [-0.01, 1.01, 2, -1, float("nan"), float("inf"), 10**400, "0.5", True, [0.5]])
def test_a_share_outside_0_to_1_is_refused(field: str, value: object) -> None:
    assert refusal(given_with(**{field: value})).startswith(f"{field} must be a number from 0 to 1, not ")


@pytest.mark.parametrize("value", [-1, 1.0, True, "1", 2**63, 2**70])
def test_a_turn_index_that_cannot_be_one_is_refused(value: object) -> None:
    assert refusal(given_with(session_id="monday", turn_index=value)).startswith("turn_index must be ")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {"deep": [float("nan")]}, object(), {1, 2}, b"x", 1j])
def test_metadata_that_is_no_json_is_refused(value: object) -> None:
    assert refusal(given_with(metadata={"key": value})).startswith("metadata must be plain JSON: ")


def test_a_history_as_long_as_a_book_is_refused() -> None:
    assert checked_history(["a" * 99_999, "b"]) == ("a" * 99_999, "b")
    with pytest.raises(InvalidInput, match="history has 100,001 characters"):
        checked_history(["a" * 99_999, "bc"])


def test_metadata_that_holds_itself_is_refused() -> None:
    metadata: dict[str, object] = {}
    metadata["self"] = metadata
    assert refusal(given_with(metadata=metadata)).startswith("metadata must be plain JSON, nested at most 100 levels")


def test_metadata_nested_beyond_reason_is_refused() -> None:
    told = "metadata must be plain JSON, nested at most 100 levels deep"
    assert refusal(given_with(metadata={"deep": nested(5_000)})) == told
    assert refusal(given_with(metadata={"deep": nested(99)})) == told
    assert record_of(given_with(metadata={"deep": nested(98)})).metadata == {"deep": nested(98)}


@pytest.mark.parametrize("value", ["text", 5, ["a"], [("a", 1)]])
def test_metadata_that_is_no_mapping_is_refused(value: object) -> None:
    assert refusal(given_with(metadata=value)) == "metadata must be a mapping"


def test_metadata_is_bounded_and_valid_unicode() -> None:
    assert refusal(given_with(metadata={"key": "x" * MAX_TEXT})).startswith("metadata has 100,0")
    assert refusal(given_with(metadata={"key": "\ud800"})).startswith("metadata holds half a surrogate pair")


@pytest.mark.parametrize("value", ["work", "", 5, {"work": 1}, b"work"])
def test_tags_that_are_no_list_are_refused(value: object) -> None:
    assert refusal(given_with(tags=value)) == "tags must be a list of short texts"


@pytest.mark.parametrize("tag", ["", " ", 5, None, "x" * 201, "a\x00b", "two\nlines"])
def test_a_bad_tag_is_refused(tag: object) -> None:
    assert refusal(given_with(tags=["work", tag])).startswith("tags[1] ")


def test_too_many_tags_are_refused() -> None:
    assert refusal(given_with(tags=[f"t{i}" for i in range(MAX_TAGS + 1)])) == "65 tags are too many, the maximum is 64"


@pytest.mark.parametrize("field", TIMES)
@pytest.mark.parametrize("value", ["soon", "", "2025-02-30", 5, date(2025, 1, 1), "0001-01-01T00:00:00+05:00"])
def test_a_bad_time_is_refused_by_field(field: str, value: object) -> None:
    assert refusal(given_with(**{field: value})).startswith(f"{field} ")


def test_a_memory_cannot_end_before_it_holds() -> None:
    assert refusal(given_with(valid_from="2025-02-01", valid_to="2025-01-01")) == "valid_to lies before valid_from"


@pytest.mark.parametrize("k", [0, -1, 1001, 10_000])
def test_k_out_of_range_is_refused(k: int) -> None:
    with pytest.raises(InvalidInput, match=rf"^k must be a whole number from 1 to 1000, not {k}$"):
        check(k, Count, "k")


@pytest.mark.parametrize("k", [True, 1.5, "3", None, [1]])
def test_k_that_is_no_whole_number_is_refused(k: object) -> None:
    with pytest.raises(InvalidInput, match=rf"^k must be a whole number from 1 to 1000, not {re.escape(repr(k))}$"):
        check(k, Count, "k")


# what is taken


@pytest.mark.parametrize("k", [1, 10, MAX_K])
def test_k_within_range_is_taken(k: int) -> None:
    assert check(k, Count, "k") == k


@pytest.mark.parametrize(
    "text",
    [
        "🎉",
        "👩‍👩‍👧 came over",
        "\U0001fae8",
        "שלום עולם",
        "أعيش في ليدز",
        "我住在利兹",
        "?",
        "0",
        "line one\nline two",
        "x" * 10 * MAX_TEXT,
    ],
)
def test_any_visible_text_is_taken_as_it_is(text: str) -> None:
    assert record_of(text) == Record(content=text)


def test_white_space_around_a_text_is_left_out() -> None:
    assert record_of(" \n I live in Leeds\t").content == "I live in Leeds"
    assert checked_name(" Maya ", "speaker") == "Maya"
    assert checked_text("  ", "predicate", empty=True) == ""


def test_a_mapping_is_taken() -> None:
    record = record_of(MappingProxyType({"content": "I live in Leeds", "speaker": "Maya", "predicate": None}))
    assert record == Record(content="I live in Leeds", speaker="Maya")


def test_a_dataclass_is_taken() -> None:
    @dataclass
    class Turn:
        content: str
        speaker: str
        session_id: str
        kind: str = "turn"

    assert record_of(Turn("I live in Leeds", "Maya", "monday")) == Record(
        content="I live in Leeds", speaker="Maya", session_id="monday", kind="turn"
    )


def test_a_dataclass_with_an_unknown_field_is_refused() -> None:
    @dataclass
    class Turn:
        content: str
        mood: str

    assert refusal(Turn("I live in Leeds", "good")).startswith("unknown field 'mood'")


def test_a_record_is_taken_and_checked_like_the_rest() -> None:
    record = Record(content="I live in Leeds", speaker="Maya", tags=("home",), importance=0.5, metadata={"a": 1})
    assert record_of(record) == record
    assert refusal(Record(content="I live in Leeds", importance=2)).startswith("importance")


def test_a_question_and_its_answer_make_the_content() -> None:
    assert record_of({"user_text": "Where?", "assistant_text": "In Leeds."}).content == "Where?\nIn Leeds."
    assert record_of({"user_text": "Where?"}).content == "Where?"
    assert record_of({"assistant_text": "In Leeds.", "content": None}).content == "In Leeds."


def test_a_record_of_a_question_and_its_answer_needs_no_content() -> None:
    assert record_of(Record(user_text="Where?", assistant_text="In Leeds.")).content == "Where?\nIn Leeds."


def test_content_stands_beside_a_question_and_its_answer() -> None:
    record = record_of({"content": "Maya lives in Leeds", "user_text": "Where?", "assistant_text": "In Leeds."})
    assert (record.content, record.user_text, record.assistant_text) == ("Maya lives in Leeds", "Where?", "In Leeds.")


@pytest.mark.parametrize("field", TIMES)
def test_a_time_without_a_zone_is_noted(field: str) -> None:
    record = record_of(given_with(**{field: "2025-01-06T09:00:00"}))
    assert getattr(record, field) == datetime(2025, 1, 6, 9, tzinfo=UTC)
    assert record.notes == (f"{field} 2025-01-06 09:00 had no time zone and was taken as UTC",)


def test_a_time_with_a_zone_is_converted_and_not_noted() -> None:
    record = record_of(given_with(event_at="2025-01-06T09:00:00+02:00"))
    assert (record.event_at, record.notes) == (datetime(2025, 1, 6, 7, tzinfo=UTC), ())


def test_a_memory_may_end_the_moment_it_begins() -> None:
    record = record_of(given_with(valid_from="2025-01-01T00:00:00Z", valid_to="2025-01-01T00:00:00Z"))
    assert record.valid_from == record.valid_to


@pytest.mark.parametrize("field", SHARES)
@pytest.mark.parametrize("value", [0, 1, 0.0, 0.25, 1.0])
def test_a_share_is_taken_as_a_float(field: str, value: float) -> None:
    taken = getattr(record_of(given_with(**{field: value})), field)
    assert (taken, type(taken)) == (value, float)


@pytest.mark.parametrize("tags", [["home", "work", "home"], ("home", "work"), [" home ", "work"]])
def test_tags_are_kept_once_and_in_order(tags: object) -> None:
    assert record_of(given_with(tags=tags)).tags == ("home", "work")


def test_metadata_is_kept_as_plain_json_of_its_own() -> None:
    inner = [1, 2]
    record = record_of(given_with(metadata=MappingProxyType({"a": inner, "é": None, "pair": (1, "x")})))
    inner.append(3)
    assert record.metadata == {"a": [1, 2], "é": None, "pair": [1, "x"]}


def test_a_turn_with_its_session_is_taken() -> None:
    record = record_of(given_with(kind="turn", session_id="monday", turn_index=0))
    assert (record.kind, record.session_id, record.turn_index) == ("turn", "monday", 0)


@settings(deadline=None)
@given(st.text(st.characters(exclude_categories=())))
def test_any_text_is_taken_or_refused_by_name(text: str) -> None:
    taken = attempt(text)
    assert taken.startswith("content ") if isinstance(taken, str) else record_of(taken) == taken


@settings(deadline=None)
@given(
    st.dictionaries(
        st.sampled_from([*TEXTS, *NAMES, *SHARES, *TIMES, "kind", "type", "tags", "metadata", "turn_index"]),
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9) | st.lists(st.text(), max_size=2),
    )
)
def test_no_mapping_gives_any_other_error(value: Mapping[str, object]) -> None:
    taken = attempt(value)
    assert taken if isinstance(taken, str) else taken.content


def _any(key: object) -> Any:
    return key


@pytest.mark.parametrize(
    "location",
    [
        "host=127.0.0.1 password=s3cret dbname=x",
        " Host = 127.0.0.1 port=5432",
        "user=ana password=s3cret",
        "dbname=x;pwd=s3cret",
        "service=mine",
        "postgresql:/ana:s3cret@host/x",
        "postgres:ana:s3cret@host/x",
    ],
)
def test_settings_of_a_connection_never_become_the_name_of_a_file(
    location: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    source = tmp_path / "source.db"
    with fivefold.open(source) as engine:
        engine.remember("tea")
    acts: tuple[Callable[[], object], ...] = (
        lambda: fivefold.open(location),
        lambda: fivefold.store(location),
        lambda: open_store(location),
        lambda: back_up(location, "copy.db"),
        lambda: migrate(str(source), location),
        lambda: restore(source, location),
    )
    for act in acts:
        with pytest.raises(InvalidInput, match="named by an address: postgresql://user@host/database") as told:
            act()
        assert "s3cret" not in str(told.value)
    assert {path.name for path in tmp_path.iterdir()} <= {"source.db", "source.db-wal", "source.db-shm"}


@pytest.mark.parametrize("location", ["./host=1.db", "user=ana.db", "a password.db", "notes/host=1/m.db"])
def test_other_names_with_a_sign_of_equality_are_paths(location: str) -> None:
    assert checked_location(location) == location


def test_patterns_of_schemas_say_what_a_name_and_a_text_are() -> None:
    """On every character that JavaScript reads as one."""
    for code in (code for code in range(0x10000) if not 0xD800 <= code <= 0xDFFF):
        alone, within = chr(code), f"a{chr(code)}b"
        assert is_name(alone) == bool(re.search(NAME_PATTERN, alone)), hex(code)
        assert is_name(within) == bool(re.search(NAME_PATTERN, within)), hex(code)
        assert visible(alone) == bool(re.search(TEXT_PATTERN, alone)), hex(code)
