"""A filter is checked as a whole, written and read again, and compares labels as a person expects."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fivefold.errors import InvalidInput
from fivefold.values.filters import EVERYTHING, FIELDS, Filter, MetadataTest, filter_of, narrowed, write_filter
from fivefold.values.memory import MAX_LABELS, label_value, labels_of, number_label
from tests.conformance.filters import filters
from tests.support.fuzzing import value_or_none

# A filter is checked as a whole: what is wrong is named, and what is allowed is said.


def refusal(given_filter: Any) -> str:
    with pytest.raises(InvalidInput) as error:
        filter_of(given_filter)
    return str(error.value)


@given(keep=filters)
def test_what_is_written_is_read_as_the_same_filter(keep: Filter) -> None:
    assert filter_of(write_filter(keep)) == keep
    assert filter_of(keep) == keep
    assert filter_of({name: value for name, value in keep.to_dict().items() if value is not None}) == keep


def test_a_mapping_takes_the_names_of_the_text() -> None:
    given = {"speaker": "ana", "tag": ["work", "home"], "text": "tea cup", "session": "s1", "origin": "user"}
    assert filter_of(given) == filter_of('speaker:ana tag:work,home text:"tea cup" session:s1 origin:user')


texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=40)


@given(key=texts.filter(lambda text: text.strip().isprintable() and text.strip()), values=st.lists(texts, min_size=1))
def test_any_text_is_a_value_and_any_visible_key_a_key(key: str, values: list[str]) -> None:
    keep = filter_of({"metadata": {key: values}})
    assert keep.metadata == (MetadataTest(key=key.strip(), any_of=tuple(dict.fromkeys(values))),)
    assert filter_of(write_filter(keep)) == keep


@given(text=st.text(st.sampled_from(' \t,:=<>"\\meta.tgspkr1-'), max_size=40))
def test_any_line_is_a_filter_or_an_error_that_says_what_is_wrong(text: str) -> None:
    keep, fault = EVERYTHING, "meta."
    try:
        keep = filter_of(text)
    except InvalidInput as error:
        fault = str(error)
    assert "filter" in fault or "meta." in fault
    assert filter_of(write_filter(keep)) == keep


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("work", "filter, character 1: 'work' is not a condition; write a field, a colon and a value, as in tag:work"),
        ("tag:x work", "filter, character 7: 'work' is not a condition"),
        ("colour:red", "'colour' is not a field of a filter; the fields are type, kind, speaker, origin, session"),
        ("speaker:", "the end is not a value after 'speaker:'"),
        ('speaker:"ana', "a quote that is opened must be closed"),
        ('speaker:"a"b', "follows a value without a space"),
        ('speaker:"a\\n"', r"within quotes write \" and \\"),
        ("speaker:a speaker:b", "speaker is given twice; write speaker:a,b for either of two values"),
        ("tag:a,b tag:c,d", "tag is given twice"),
        ("meta.price:>10", "write one sign only, as in meta.price>=10"),
        ("speaker>3", "speaker takes a colon, not '>'; only meta.KEY can be compared"),
        ("since:yesterday", "filter.since 'yesterday' is not an ISO 8601 time"),
        ("since:2024-01-01,2025-01-01", "since takes one value, not 2"),
        ("kind:thought", "filter.kinds[0] 'thought' is unknown; it is one of turn, session, note"),
        ("superseded:maybe", "superseded 'maybe' is unknown; it is yes or no"),
        ("text:a,b", 'text takes words that must all occur; write text:"tea cup"'),
        ("meta.a>1 meta.a>2", "meta.a> is given twice"),
        ("meta.a>1,2", "meta.a takes one value after '>', not 2"),
        ("meta.a>1 meta.a<x", "meta.a has a number and a text as its bounds"),
        ("meta.:x", "filter.metadata[0].key is empty"),
        ("x" * 10_001, "has 10,001 characters, the maximum is 10,000"),
        ("tag:a\x00b", "holds a NUL character"),
    ],
)
def test_a_wrong_line_says_what_is_allowed(line: str, message: str) -> None:
    assert message in refusal(line)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (3, "filter must be a Filter, a mapping or a text, not 3"),
        (
            {"author": "ana"},
            "filter: unknown field 'author'; known are alive_at, all_tags, expires_before, idle_since, kinds",
        ),
        ({"speaker": "ana", "speakers": ["bo"]}, "filter has both speaker and speakers; give one of them"),
        ({"speaker": 3}, "filter.speakers must be a list of short texts"),
        ({"speakers": 3}, "filter.speakers must be a list of short texts"),
        ({"speakers": [""]}, "filter.speakers[0] is empty"),
        ({"speakers": ["x"] * 101}, "101 filter.speakers are too many, the maximum is 100"),
        ({"metadata": 3}, "filter.metadata must be a mapping or a list of conditions, not 3"),
        ({"metadata": {"a": {}}}, "needs either any_of or bounds: above, at_least, below, at_most"),
        ({"metadata": {"a": {"any_of": [1], "above": 1}}}, "needs either any_of or bounds"),
        ({"metadata": {"a": {"above": 1, "at_least": 2}}}, "has two lower or two upper bounds"),
        ({"metadata": {"a": {"like": "x"}}}, "unknown field 'like'; known are above, any_of, at_least"),
        ({"metadata": {"a": [None]}}, "must be a text of at most 200 characters, a number, true or false, not None"),
        ({"metadata": {"a": float("nan")}}, "a number, true or false, not nan"),
        ({"metadata": {"a": 10**400}}, "is too large a number"),
        ({"metadata": [{"key": "a", "above": 1}, {"key": "a", "below": 9}]}, "meta.a has two ranges"),
        ({"words": ["two words"]}, "filter.words must each be one word without spaces"),
        ({"words": ["x" * 150, "y" * 150]}, "are too long to search for"),
        ({"superseded": "no"}, "filter.superseded must be true or false, not 'no'"),
    ],
)
def test_a_wrong_value_says_what_is_allowed(value: Any, message: str) -> None:
    assert message in refusal(value)


def test_a_number_after_a_colon_is_also_its_text_and_after_an_equals_sign_only_the_number() -> None:
    either, number, text = (filter_of(line).metadata[0] for line in ("meta.n:42", "meta.n=42", 'meta.n:"42"'))
    assert (either.any_of, number.any_of, text.any_of) == ((42, "42"), (42,), ("42",))
    assert filter_of("meta.done:true") == filter_of({"metadata": {"done": True}})
    assert filter_of("meta.n=1e3,-2.5,2024-05-01").metadata[0].any_of == (1000.0, -2.5, "2024-05-01")


def test_tags_again_are_all_wanted_and_tags_in_a_list_any_of_them() -> None:
    keep = filter_of("tag:a tag:b,c tag:d")
    assert (keep.tags, keep.all_tags) == (("b", "c"), ("a", "d"))
    assert filter_of({"tags": "a"}) == filter_of({"all_tags": ["a"]}) == filter_of("tag:a")


def test_more_conditions_narrow_a_filter_and_contradict_nothing() -> None:
    early, late = datetime(2024, 1, 1, tzinfo=UTC), datetime(2025, 1, 1, tzinfo=UTC)
    keep = filter_of("tag:a since:2024-01-01 until:2025-01-01")
    more = narrowed(keep, all_tags=("b",), since=late, until=early, speakers=("ana",), kinds=())
    assert more == replace(keep, all_tags=("a", "b"), since=late, until=early, speakers=("ana",))
    with pytest.raises(InvalidInput, match="filter has speakers as well; give them once"):
        narrowed(more, speakers=("bo",))


def test_an_empty_filter_says_nothing() -> None:
    nothing: tuple[Any, ...] = (None, "", "  ", {}, Filter(), {"speakers": None}, {"metadata": {}})
    for empty in nothing:
        assert filter_of(empty) == EVERYTHING
        assert not filter_of(empty)
    assert filter_of("tag:a")
    assert write_filter(EVERYTHING) == ""


def test_every_field_of_the_language_is_in_the_documentation() -> None:
    from tests.support.field_tables import DOCS

    page = (DOCS / "filters.md").read_text("utf-8")
    missing = [name for name in FIELDS if f"`{name}:" not in page and name != "meta.KEY" and f" {name}:" not in page]
    assert missing == []


# Generated filters: each is a value that can be written and read again, or an error in plain words.


PIECES = (
    'speaker: tag: -tag: meta. meta.a.b price >= <= > < = : , " \\ ( ) since: until: type:fact kind:turn pinned: yes '
    "no used: alive-at: 2024-01-01 2024-13-99 10 -1e308 nan inf origin:user session: text: ana é \u202e \n \x00"
).split(" ")
TEXTS = st.text(max_size=60) | st.lists(st.sampled_from(PIECES), max_size=12).map("".join)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
FUZZED_FIELDS = st.sampled_from(
    ["speakers", "tags", "all_tags", "metadata", "words", "since", "until", "kinds", "pinned", "x"]
)


@given(TEXTS)
def test_a_text_is_a_filter_or_a_plain_error(text: str) -> None:
    keep = value_or_none(filter_of, text, refusal=InvalidInput)
    assert keep is None or filter_of(write_filter(keep)) == keep


@given(st.dictionaries(FUZZED_FIELDS, VALUES, max_size=3))
def test_a_mapping_is_a_filter_or_a_plain_error(fields: dict[str, object]) -> None:
    keep = value_or_none(filter_of, fields, refusal=InvalidInput)
    assert keep is None or filter_of(write_filter(keep)) == keep


# Labels: their values sort as what they stand for, and metadata of any shape has those that a person expects.


numbers = st.one_of(st.integers(), st.floats(allow_nan=False))


@given(one=numbers, other=numbers)
def test_numbers_sort_as_their_labels(one: float, other: float) -> None:
    a, b = (float(number) if abs(number) < 1e300 else number for number in (one, other))
    assert (number_label(a) < number_label(b)) is (_real(a) < _real(b))
    assert (number_label(a) == number_label(b)) is (_real(a) == _real(b))


def _real(number: float) -> float:
    try:
        return float(number)
    except OverflowError:
        return float("inf") if number > 0 else float("-inf")


@given(one=st.text(), other=st.text())
def test_texts_sort_as_their_labels_and_never_among_numbers(one: str, other: str) -> None:
    assert (label_value(one) < label_value(other)) is (one < other)
    assert label_value(one.encode("utf-8", "replace").decode()) > number_label(float("inf"))


def test_keys_are_joined_and_entries_of_lists_are_values_of_their_key() -> None:
    metadata = {"a": {"b": [1, ["x", {"c": True}]], "d": None}, "e.f": "y", "big": 10**400}
    assert labels_of(["t", "t"], metadata) == [
        ("tag", "tt"),
        ("meta.a.b", number_label(1)),
        ("meta.a.b", "tx"),
        ("meta.a.b.c", "ttrue"),
        ("meta.e.f", "ty"),
        ("meta.big", number_label(float("inf"))),
    ]


def test_what_no_store_could_index_has_no_label() -> None:
    assert labels_of([], {"long": "x" * 201, "nul": "a\x00b", "k" * 201: 1, "ok": "x" * 200}) == [
        ("meta.ok", f"t{'x' * 200}")
    ]
    many = {str(number): number for number in range(1_000)}
    assert len(labels_of(["tag"], many)) == 1 + MAX_LABELS
