"""The figures of everyday lives, checked by hand."""

from __future__ import annotations

import pytest

from fivefold_bench.data import Question
from fivefold_bench.everyday import difference
from fivefold_bench.lives import NOWHERE, Outcome, calibrate, figures_by_kind, outcome, overall_figures
from fivefold_bench.run import Answer


def question(kind: str, relevant: str = "", stale: str = "", id: str = "q") -> Question:
    return Question(id, "nuno", "?", tuple(relevant), kind, stale=tuple(stale))


def answered(asked: Question, ranking: str, found: bool | None = None, chances: tuple[float, ...] = ()) -> Outcome:
    return outcome(asked, Answer(asked.id, tuple(ranking), 1.0, found=found, chances=chances))


def test_place_share_and_freshness_of_an_answer() -> None:
    found = answered(question("current", "ab", "s"), "xbsya")
    assert (found.rank, found.cover, found.fresh) == (2, 1.0, True)
    assert found.right == (False, True, False, False, True)
    assert answered(question("current", "a", "s"), "xsa").fresh is False
    assert answered(question("current", "a", "s"), "xyz").fresh is False
    assert answered(question("current", "a", "s"), "a").fresh is True
    assert answered(question("list", "abcd"), "axb").cover == 0.5
    assert answered(question("list", "abcd"), "axb").fresh is None
    assert answered(question("list", "z"), "abcdefghijz").rank == NOWHERE


def test_figures_over_all_and_by_kind() -> None:
    outcomes = [
        answered(question("current", "a", "s"), "as", True),
        answered(question("window", "ab"), "xxxa", True),
        answered(question("list", "abcd"), "xab", False),
        answered(question("never"), "xyz", False),
        answered(question("never"), "xyz", True),
    ]
    figures = overall_figures(outcomes)
    assert figures["hit@1"] == pytest.approx(1 / 3)
    assert figures["hit@3"] == pytest.approx(2 / 3)
    assert figures["hit@5"] == 1
    assert (figures["window"], figures["list"], figures["cover"]) == (0.5, 0.5, 0.5)
    assert figures["fresh"] == 1
    assert figures["never"] == 0.5
    assert figures["refused"] == pytest.approx(1 / 3)
    kinds = figures_by_kind(outcomes)
    assert list(kinds) == ["current", "window", "list", "never"]
    assert kinds["window"] == {"n": 1, "hit@1": 0, "hit@3": 0, "hit@5": 1, "hit@10": 1, "cover@10": 0.5}


def test_who_does_not_say_whether_something_was_found_has_no_such_figure() -> None:
    figures = overall_figures([answered(question("past", "a"), "a"), answered(question("never"), "a")])
    assert figures["hit@1"] == 1
    assert figures["never"] is figures["refused"] is figures["fresh"] is figures["window"] is None


def test_chances_are_compared_with_what_was_right() -> None:
    outcomes = [
        answered(question("past", "a"), "abcdef", chances=(0.95, 0.15, 0.12, 0.1, 0.1, 0.9)),
        answered(question("past", "b"), "ab", chances=(0.85, 1.0)),
    ]
    found = calibrate(outcomes)
    assert found is not None
    assert found.hits == 7
    low, high, highest = found.bins
    assert (low.start, low.end, low.n, low.right) == (0.1, 0.2, 4, 0)
    assert (high.n, high.chance, high.right) == (1, 0.85, 0)
    assert (highest.n, highest.right) == (2, 1)
    assert highest.chance == pytest.approx(0.975)
    assert found.error == pytest.approx((0.15 + 0.12 + 0.1 + 0.1 + 0.85 + 2 * 0.025) / 7)
    assert calibrate([answered(question("past", "a"), "a")]) is None


def test_a_difference_has_an_interval_over_lives_and_questions() -> None:
    def rows(ranks: list[int], life: str) -> list[Outcome]:
        return [Outcome(str(n), life, "past", rank, 1.0, None, None, (), ()) for n, rank in enumerate(ranks)]

    mine = rows([1] * 30 + [2] * 10, "a") + rows([1] * 20 + [2] * 20, "b")
    theirs = rows([2] * 40, "a") + rows([1] * 10 + [2] * 30, "b")
    found = difference("default", "dense", mine, theirs)
    assert found.difference == pytest.approx(0.5)
    assert 0.1 < found.low < 0.4
    assert 0.6 < found.high < 0.9
    same = difference("default", "dense", mine, mine)
    assert (same.difference, same.low, same.high) == (0, 0, 0)
