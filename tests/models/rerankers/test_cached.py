"""Scores kept by model, question and passage: what is asked anew, what goes first, and threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from fivefold.errors import RerankerError
from fivefold.models.rerankers import DIGEST, Scores
from fivefold.values.vectors import Passage
from tests.support.judges import AWAY, Judge

TEA, RYE, KEY = Passage("tea @0.7"), Passage("rye @0.2"), Passage("key @0.9")


def test_what_was_judged_is_not_judged_again() -> None:
    kept, judge = Scores(), Judge()
    assert kept.of(judge, "which?", [TEA, RYE], 1.0) == ([0.7, 0.2], 2)
    assert kept.of(judge, "which?", [RYE, KEY, TEA], 1.0) == ([0.2, 0.9, 0.7], 1)
    assert kept.of(judge, "which?", [KEY, TEA], 1.0) == ([0.9, 0.7], 0)
    assert [passages for _, passages, _ in judge.asked] == [[TEA, RYE], [KEY]]


def test_another_model_question_or_text_is_judged_anew() -> None:
    kept, judge, other = Scores(), Judge(), Judge("judge@2")
    kept.of(judge, "which?", [TEA], 1.0)
    assert kept.of(other, "which?", [TEA], 1.0)[1] == 1
    assert kept.of(judge, "who?", [TEA], 1.0)[1] == 1
    assert kept.of(judge, "which?", [Passage("tea @0.8")], 1.0) == ([0.8], 1)
    assert kept.of(judge, "which?", [Passage("tea @0.7", "coffee?")], 1.0)[1] == 1
    assert kept.of(judge, "which?", [TEA], 1.0)[1] == 0


def test_a_passage_given_twice_is_judged_once() -> None:
    kept, judge = Scores(), Judge()
    assert kept.of(judge, "which?", [TEA, RYE, TEA], 1.0) == ([0.7, 0.2, 0.7], 2)
    assert judge.asked == [("which?", [TEA, RYE], 1.0)]


def test_nothing_is_asked_for_nothing() -> None:
    judge = Judge()
    assert Scores().of(judge, "which?", [], 1.0) == ([], 0)
    assert judge.asked == []


def test_the_least_recently_asked_go_first() -> None:
    kept, judge = Scores(size=2), Judge()
    kept.of(judge, "which?", [TEA, RYE], 1.0)
    kept.of(judge, "which?", [TEA], 1.0)
    kept.of(judge, "which?", [KEY], 1.0)
    assert kept.of(judge, "which?", [TEA, KEY], 1.0)[1] == 0
    assert kept.of(judge, "which?", [RYE], 1.0)[1] == 1


def test_more_than_is_kept_is_still_answered_whole() -> None:
    kept, judge = Scores(size=3), Judge()
    many = [Passage(f"memory @0.{i:02}") for i in range(10)]
    assert kept.of(judge, "which?", many, 1.0) == ([i / 100 for i in range(10)], 10)
    assert kept.of(judge, "which?", many[-3:], 1.0)[1] == 0


def test_a_failure_is_told_and_keeps_nothing() -> None:
    kept, judge = Scores(), Judge(error=AWAY)
    with pytest.raises(RerankerError, match="it is away"):
        kept.of(judge, "which?", [TEA], 1.0)
    judge.error = None
    assert kept.of(judge, "which?", [TEA], 1.0) == ([0.7], 1)


def test_threads_share_it() -> None:
    kept, judge = Scores(size=40), Judge()
    many = [Passage(f"memory @0.{i:02}") for i in range(60)]

    def asked(start: int) -> list[float]:
        return kept.of(judge, "which?", many[start : start + 20], 1.0)[0]

    starts = [i % 41 for i in range(400)]
    with ThreadPoolExecutor(8) as pool:
        for start, found in zip(starts, pool.map(asked, starts), strict=True):
            assert found == [i / 100 for i in range(start, start + 20)]


def test_it_keeps_digests_and_no_text() -> None:
    kept, judge = Scores(), Judge()
    text = f"{'a long memory ' * 10_000}@0.5"
    assert kept.of(judge, "which?", [Passage(text)], 1.0) == ([0.5], 1)
    (key,) = kept._scores
    assert isinstance(key, bytes)
    assert len(key) == DIGEST


def test_parts_do_not_run_into_each_other() -> None:
    kept, judge = Scores(), Judge()
    pairs = [("ab", "c"), ("a", "bc"), ("abc", "")]
    assert kept.of(judge, "which?", [Passage(f"{text} @0.5", before) for text, before in pairs], 1.0)[1] == 3


def test_two_caches_have_different_keys() -> None:
    one, other = Scores(), Scores()
    for kept in (one, other):
        kept.of(Judge(), "which?", [TEA], 1.0)
    assert set(one._scores).isdisjoint(other._scores)
