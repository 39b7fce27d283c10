"""The metrics, beside a few lines that count them by hand."""

from __future__ import annotations

from math import log2

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fivefold.evaluation import Question
from fivefold_bench.scores import LISTED, by_category, curve, depth_for, gains, means, metric_names, score

IDS = [f"m{number}" for number in range(40)]


def asked(*gold: str, id: str = "q", category: str = "all") -> Question:
    return Question(id, "n", "?", gold, category)


def by_hand(ranking: list[str], gold: set[str]) -> dict[str, float]:
    """Every listed metric in one line each."""

    def recall(k: int) -> float:
        return len(gold & set(ranking[:k])) / len(gold)

    found = [place for place, id in enumerate(ranking, 1) if id in gold]
    ideal = sum(1 / log2(place + 1) for place in range(1, min(10, len(gold)) + 1))
    return {
        **{f"recall@{k}": recall(k) for k in (5, 10, 20)},
        **{f"all@{k}": float(recall(k) == 1) for k in (5, 10)},
        **{f"hit@{k}": float(recall(k) > 0) for k in (5, 10)},
        **{f"precision@{k}": len(gold & set(ranking[:k])) / k for k in (5, 10)},
        "ndcg@10": sum(1 / log2(place + 1) for place in found if place <= 10) / ideal,
        "mrr": 1 / found[0] if found and found[0] <= 20 else 0.0,
    }


@given(st.permutations(IDS), st.integers(0, 40), st.sets(st.sampled_from(IDS), min_size=1, max_size=8))
def test_every_metric_is_what_a_line_by_hand_gives(order: list[str], length: int, gold: set[str]) -> None:
    ranking = order[:length]
    found = score([asked(*sorted(gold))], {"q": ranking})["q"]
    assert tuple(found) == LISTED
    assert found == pytest.approx(by_hand(ranking, gold))


def test_an_example_worked_out() -> None:
    found = score([asked("a", "b", "c")], {"q": ["x", "a", "y", "z", "b", "c"]})["q"]
    assert found["recall@5"] == pytest.approx(2 / 3)
    assert (found["all@5"], found["all@10"], found["hit@5"]) == (0, 1, 1)
    assert found["mrr"] == 0.5
    best = 1 + 1 / log2(3) + 1 / log2(4)
    assert found["ndcg@10"] == pytest.approx((1 / log2(3) + 1 / log2(6) + 1 / log2(7)) / best)


def test_longmemevals_measures_by_hand() -> None:
    """Its script gives place 2 the weight of place 1; the ideal of three is 1 + 1 + 1 / log2(3)."""
    names = ("recall_any@2", "recall_all@5", "recall_all@10", "ndcg_any@5", "ndcg_any@10")
    found = score([asked("a", "b", "c")], {"q": ["x", "a", "y", "z", "b", "c"]}, names)["q"]
    ideal = 1 + 1 + 1 / log2(3)
    assert found == pytest.approx(
        {
            "recall_any@2": 1,
            "recall_all@5": 0,
            "recall_all@10": 1,
            "ndcg_any@5": (1 / log2(2) + 1 / log2(5)) / ideal,
            "ndcg_any@10": (1 / log2(2) + 1 / log2(5) + 1 / log2(6)) / ideal,
        }
    )
    assert score([asked("a")], {}, names)["q"] == dict.fromkeys(names, 0)


def test_a_question_without_hits_counts_as_zero() -> None:
    questions = [asked("a", id="q1"), asked("b", id="q2")]
    found = score(questions, {"q1": ["a"], "q2": []})
    assert set(found["q2"].values()) == {0.0}
    assert means(found, questions)["recall@5"] == 0.5
    assert set(score(questions, {})["q1"].values()) == {0.0}


def test_the_order_given_is_the_order_scored() -> None:
    """Scorers sort by score and break ties by id; ours have none."""
    for ranking in (["a", "z"], ["z", "a"]):
        assert score([asked("a")], {"q": ranking})["q"]["mrr"] == 1 / (ranking.index("a") + 1)
        assert sorted(gains(ranking), key=lambda id: -gains(ranking)[id]) == ranking


def test_an_id_found_twice_counts_where_it_came_first() -> None:
    assert gains(["a", "b", "a"]) == {"a": 2.0, "b": 1.0}


def test_further_depths_add_to_the_listed_metrics() -> None:
    assert metric_names((5, 10, 20)) == LISTED
    assert metric_names((3, 10)) == (*LISTED, "recall@3", "all@3", "hit@3", "precision@3", "ndcg@3")
    assert metric_names((5,), ("recall_any@5",)) == (*LISTED, "recall_any@5")
    assert depth_for((3, 10)) == 20
    assert depth_for((50,)) == 50
    ranking = [f"x{number}" for number in range(29)] + ["a"]
    found = score([asked("a")], {"q": ranking}, metric_names((30,)))["q"]
    assert (found["recall@20"], found["recall@30"], found["all@30"], found["mrr"]) == (0, 1, 1, 0)


def test_the_curve_is_recall_at_each_depth() -> None:
    assert curve([asked("a", "b")], {"q": ["x", "a", "y", "b"]}, 5) == [0, 0.5, 0.5, 1, 1]


def test_categories_are_averaged_by_themselves() -> None:
    questions = [asked("a", id="q1", category="when"), asked("a", id="q2", category="who")]
    found = by_category(score(questions, {"q1": ["a"], "q2": ["b"]}), questions)
    assert {kind: values["recall@5"] for kind, values in found.items()} == {"when": 1.0, "who": 0.0}
