from __future__ import annotations

import threading
import time
import uuid

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fivefold.values.times import content_hash, is_hash_of, new_id, replay_id


def test_ids_are_version_7_uuids() -> None:
    made = uuid.UUID(new_id())
    assert made.version == 7
    assert made.variant == uuid.RFC_4122


def test_an_id_carries_its_time() -> None:
    before = time.time_ns() // 1_000_000
    assert uuid.UUID(new_id()).int >> 80 >= before


def test_ids_are_unique_and_sort_in_order_of_making() -> None:
    ids = [new_id() for _ in range(10_000)]
    assert ids == sorted(set(ids))


def test_ids_sort_in_order_of_making_across_threads() -> None:
    ids: list[str] = []
    lock = threading.Lock()

    def make() -> None:
        for _ in range(500):
            with lock:
                ids.append(new_id())

    _run(*[make] * 8)
    assert len(ids) == 4000
    assert ids == sorted(set(ids))


def test_ids_of_racing_threads_are_unique_and_sorted_within_each() -> None:
    made: list[list[str]] = []
    _run(*[lambda: made.append([new_id() for _ in range(2000)])] * 8)
    assert len({name for ids in made for name in ids}) == 16_000
    assert all(ids == sorted(ids) for ids in made)


def test_ids_sort_though_the_clock_is_set_back(monkeypatch: pytest.MonkeyPatch) -> None:
    first = new_id()
    monkeypatch.setattr("fivefold.values.times.time.time_ns", lambda: 1_000_000_000_000_000_000)
    assert first < new_id() < new_id()


@pytest.mark.parametrize(
    "other", ["i live in leeds", "  I live\tin\n\nLeeds ", "I LIVE IN LEEDS", "I live in\u00a0Leeds"]
)
def test_case_and_white_space_do_not_change_the_content_hash(other: str) -> None:
    assert content_hash("I live in Leeds") == content_hash(other)


@pytest.mark.parametrize("other", ["I live in Leed", "Ilive in Leeds", "I live in Leeds.", "", "Leeds in live I"])
def test_other_words_change_the_content_hash(other: str) -> None:
    assert content_hash("I live in Leeds") != content_hash(other)


def test_the_content_hash_keeps_parts_apart() -> None:
    hashes = {
        content_hash(*parts)
        for parts in (("ab",), ("a", "b"), ("a b",), ("b", "a"), ("ab", ""), ("", "ab"), ("a\x1fb",))
    }
    assert len(hashes) == 6
    assert content_hash("a\x1fb") == content_hash("a b")


def test_an_absent_part_is_an_empty_one() -> None:
    assert content_hash(None, "a") == content_hash("", "a") != content_hash("a")


@settings(deadline=None)
@given(st.lists(st.text(), max_size=4))
def test_the_content_hash_is_16_bytes_of_any_text(parts: list[str]) -> None:
    assert len(content_hash(*parts)) == 16
    assert content_hash(*parts) == content_hash(*[f" {part} " for part in parts])


def test_the_replay_id_differs_by_occurrence_and_line() -> None:
    ids = [replay_id(line, n) for line in ("a", "b", "1\x1fa") for n in (0, 1, 11)]
    assert len(set(ids)) == 9
    assert replay_id("a", 1) == replay_id("a", 1)
    assert all(len(name) == 32 for name in ids)


def _run(*work: object) -> None:
    threads = [threading.Thread(target=item) for item in work if callable(item)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@pytest.mark.parametrize(("one", "other"), [("2⁵", "25"), ("H₂O", "H2O"), ("2½", "21⁄2"), ("10²", "10³"), ("x²", "x2")])
def test_raised_and_lowered_signs_are_not_plain_digits(one: str, other: str) -> None:
    assert content_hash(one) != content_hash(other)


@pytest.mark.parametrize(("one", "other"), [("Ｌｅｅｄｓ", "Leeds"), ("ﬁne", "fine"), ("Zu\u0308rich²", "Zürich²")])
def test_other_spellings_of_the_same_letters_are_the_same(one: str, other: str) -> None:
    assert content_hash(one) == content_hash(other)


def test_a_hash_of_an_earlier_version_still_counts() -> None:
    assert is_hash_of(content_hash("Ana", "x25"), "Ana", "x2⁵")
    assert not is_hash_of(content_hash("Ana", "x26"), "Ana", "x2⁵")
