"""Labels: their values sort as what they stand for, and metadata of any shape has those that a person expects."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fivefold.values.memory import MOST_LABELS, label_value, labels_of, number_label

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
    assert len(labels_of(["tag"], many)) == 1 + MOST_LABELS
