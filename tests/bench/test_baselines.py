"""The plain baselines against hand-computed numbers and the obvious slow way."""

from __future__ import annotations

from collections.abc import Sequence
from math import log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fivefold import InvalidInput
from fivefold.evaluation import Question
from fivefold.models.embedders import Matrix, Progress, unit
from fivefold.models.embedders.packages import MiniLM
from fivefold_bench.contestants import bm25, dense
from fivefold_bench.data import Dataset

WORDS = ("heron", "weir", "bread", "kiln", "ferry", "glaze")


class Words:
    """One place a word of `WORDS`, so that cosines can be worked out by hand; no length, to see that it is set."""

    pin = "words@1"
    dimension = len(WORDS) + 1

    def embed(self, texts: Sequence[str], progress: Progress | None = None) -> Matrix:
        if progress:
            progress(len(texts))
        return np.array(
            [[*(text.lower().split().count(word) for word in WORDS), 0 if text else 1] for text in texts], np.float32
        ).reshape(len(texts), self.dimension)


def dataset(plain: dict[str, list[tuple[str, str]]], *asked: tuple[str, str]) -> Dataset:
    """`asked` are pairs of namespace and question; their ids are q0, q1, …"""
    questions = [Question(f"q{number}", namespace, text, ("a",)) for number, (namespace, text) in enumerate(asked)]
    return Dataset("made up", "turn", {}, questions, plain)


TEXTS = {
    "n": [("c", "bread"), ("a", "heron weir"), ("b", "heron heron heron weir"), ("a", "heron heron weir bread")],
    "m": [("z", "heron")],
}


def test_dense_takes_the_best_text_of_each_id() -> None:
    found = dense(dataset(TEXTS, ("n", "Heron"), ("m", "heron")), Words(), 10)
    assert found.name == "dense"
    assert [id for id, _ in found.hits["q0"]] == ["b", "a", "c"]
    assert [score for _, score in found.hits["q0"]] == pytest.approx([3 / 10**0.5, 2 / 6**0.5, 0])
    assert dict(found.hits["q1"]) == pytest.approx({"z": 1})


def test_bm25_is_the_formula_over_the_documents_of_the_namespace() -> None:
    texts = {
        "n": [("a", "heron heron bread"), ("b", "kiln"), ("c", "ferry"), ("d", "glaze"), ("e", "kiln glaze")],
        "m": [("z", "heron"), ("y", "bread"), ("x", "weir")],
    }
    found = bm25(dataset(texts, ("n", "the heron, a heron"), ("n", "glaze"), ("m", "herons")), 10)
    mean = (3 + 1 + 1 + 1 + 2) / 5

    def score(count: int, length: int, holding: int) -> float:
        rarity = log((5 - holding + 0.5) / (holding + 0.5))
        return rarity * count * 2.2 / (count + 1.2 * (0.25 + 0.75 * length / mean))

    assert dict(found.hits["q0"]) == pytest.approx({"a": score(2, 3, 1)})
    assert dict(found.hits["q1"]) == pytest.approx({"d": score(1, 1, 2), "e": score(1, 2, 2)})
    assert [id for id, _ in found.hits["q1"]] == ["d", "e"]
    assert [id for id, _ in found.hits["q2"]] == ["z"]


def test_bm25_reads_all_texts_of_an_id_as_one_document() -> None:
    texts = {"n": [("s1", "a heron"), ("s2", "a heron by the kiln"), ("s1", "the weir"), ("s3", "bread")]}
    together = {"n": [("s1", "a heron the weir"), ("s2", "a heron by the kiln"), ("s3", "bread")]}
    asked = ("n", "Was the heron at the weir?")
    found = bm25(dataset(texts, asked), 10).hits
    assert found == bm25(dataset(together, asked), 10).hits
    assert [id for id, _ in found["q0"]] == ["s1", "s2"]


@pytest.mark.parametrize("name", ["dense", "bm25"])
def test_equal_scores_stand_in_the_order_of_their_ids(name: str) -> None:
    texts = {"n": [(id, "heron") for id in "dbca"] + [(f"x{number}", "bread") for number in range(9)]}
    data = dataset(texts, ("n", "heron"))
    found = dense(data, Words(), 3) if name == "dense" else bm25(data, 3)
    assert [id for id, _ in found.hits["q0"]] == ["a", "b", "c"]


@pytest.mark.parametrize("name", ["dense", "bm25"])
def test_every_question_has_a_list_and_a_time(name: str) -> None:
    data = dataset({**TEXTS, "empty": []}, ("n", "the"), ("m", "unheard-of words"), ("empty", "heron"))
    found = dense(data, Words(), 5) if name == "dense" else bm25(data, 5)
    assert list(found.hits) == list(found.ms) == ["q0", "q1", "q2"]
    assert all(taken > 0 for taken in found.ms.values())
    assert found.hits["q2"] == []
    if name == "bm25":
        assert found.hits["q0"] == found.hits["q1"] == []


@pytest.mark.parametrize("text", ['say "heron" OR weir*', "NEAR(heron", "a:b c/d e-f", "héron 鷺 🪿", "NOT {x}^2"])
def test_any_question_can_be_asked(text: str) -> None:
    found = bm25(dataset({"n": [("a", text), ("b", "bread"), ("c", "kiln")]}, ("n", text)), 5)
    assert [id for id, _ in found.hits["q0"]] == ["a"]


@pytest.mark.parametrize("k", [0, -1, True, 2.5])
def test_k_is_checked_before_anything_is_embedded(k: int) -> None:
    asked: list[int] = []
    with pytest.raises(InvalidInput, match="k must be"):
        dense(dataset(TEXTS, ("n", "heron")), Words(), k, asked.append)
    with pytest.raises(InvalidInput, match="k must be"):
        bm25(dataset(TEXTS, ("n", "heron")), k)
    assert asked == []


def test_progress_counts_texts_and_questions() -> None:
    done: list[int] = []
    dense(dataset(TEXTS, ("n", "heron"), ("m", "weir")), Words(), 5, done.append)
    assert sum(done) == 2 + 4 + 1


def test_a_real_model_finds_by_meaning_what_words_do_not() -> None:
    texts = {"n": [("a", "She adopted a kitten"), ("b", "The boiler needs a new valve"), ("c", "Rhubarb likes shade")]}
    data = dataset(texts, ("n", "Which pet did they take in?"))
    assert dense(data, MiniLM(), 1).hits["q0"][0][0] == "a"
    assert bm25(data, 1).hits["q0"] == []


some_texts = st.lists(
    st.tuples(st.sampled_from("abcd"), st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)),
    min_size=1,
    max_size=12,
)


@settings(deadline=None)
@given(texts=some_texts, asked=st.sampled_from(WORDS), k=st.integers(1, 5))
def test_dense_agrees_with_the_slow_way(texts: list[tuple[str, str]], asked: str, k: int) -> None:
    model = Words()
    (question,) = model.embed([asked])
    best: dict[str, float] = {}
    for id, text in texts:
        best[id] = max(best.get(id, -1.0), float(unit(model.embed([text]))[0] @ question))
    found = dense(dataset({"n": texts}, ("n", asked)), model, k).hits["q0"]
    assert len(found) == min(k, len(best))
    assert dict(found) == pytest.approx({id: best[id] for id, _ in found}, abs=1e-6)
    scores = [score for _, score in found]
    assert scores == sorted(scores, reverse=True)
    assert min(scores) >= max([score for id, score in best.items() if id not in dict(found)], default=-1) - 1e-6
