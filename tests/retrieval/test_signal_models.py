"""Decay and weights by result in a recall: what the heads of the weight network say, and what the trace shows (D12)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import timedelta
from math import log

import numpy as np
import pytest

from fivefold.engine import Engine
from fivefold.errors import InvalidInput
from fivefold.models.shipped import BadModel, Tensor
from fivefold.models.weights import SHAPES, SignalHeads, WeightModel
from fivefold.retrieval.recipe_file import load_recipe
from fivefold.values.recall import Recall
from tests.models.test_weights import tensors
from tests.retrieval.test_pipeline import lawful
from tests.retrieval.test_pipeline_learned import NOW, recency, year
from tests.support.dial import Dial

LEARNED = {"fusion.per_result": True}
PREDICTED = {"routes.recency.predicted": True}


def toy_heads(**changed: Tensor) -> SignalHeads:
    parts: dict[str, Tensor] = {name: np.zeros(shape, np.float32) for name, shape in SHAPES.items()}
    return SignalHeads("toy", "tiny", parts | {name.replace("_", "."): value for name, value in changed.items()})


def exponential(half_lives: float) -> SignalHeads:
    """Always the exponential curve, its half-life so many times the question's unit."""
    return toy_heads(decay_2_bias=np.array([0, 3, 0, 0, log(half_lives)], dtype=np.float32))


def by_likeness() -> SignalHeads:
    """The more a candidate is like the question, the more its recency counts."""
    token, descriptors = np.zeros((16, 38), np.float32), np.zeros((3, 16), np.float32)
    token[0, 32], descriptors[1, 0] = 8, 2
    return toy_heads(token_weight=token, descriptors=descriptors)


@pytest.fixture
def engine(store_path: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    """Forty notes of 1, 10, 19, … days, and a weight model that says a half, a quarter and a quarter."""
    parts = tensors()
    parts["1.linear.weight"] = parts["1.linear.weight"].repeat(2, axis=1)
    model = WeightModel("tiny", Dial.pin, parts)
    for place in ("models.weights", "designs.ditto"):
        monkeypatch.setattr(f"fivefold.{place}.shipped", lambda: model)
    with year(store_path) as made:
        yield made


def ask(engine: Engine, question: str, changes: Mapping[str, object], k: int = 40) -> Recall:
    return engine.recall(question, k=k, recipe="ditto", now=NOW, overrides=dict(changes))


def use(monkeypatch: pytest.MonkeyPatch, heads: SignalHeads) -> None:
    monkeypatch.setattr("fivefold.designs.ditto.shipped_heads", lambda: heads)


def reason(answer: Recall, route: str) -> str:
    return next(run.reason for run in answer.routes if run.route == route)


def test_D12_the_predicted_decay_counts_from_the_named_time(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, exponential(1.0))
    answer = ask(engine, "what did I do since 22 May 2025?", PREDICTED)
    found = recency(answer)
    # The window begins ten days before; the second note is ten days old, so that half is left of it.
    assert found["note-01"] == pytest.approx(0.5, abs=1e-3)
    assert found["note-00"] == pytest.approx(0.5**0.1, abs=1e-3)
    assert "exponential, half-life 10 d, since toy predicts it with the weights (87%)" in reason(answer, "recency")
    lawful(answer)


def test_D12_without_a_named_time_the_decay_follows_how_far_memory_reaches(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, exponential(1.0))
    # The oldest note is 352 days old; a 24th of that is the unit.
    assert recency(ask(engine, "tea", PREDICTED))["note-00"] == pytest.approx(0.5 ** (24 / 352), abs=1e-3)


def test_D12_the_rule_knows_how_far_memory_reaches(engine: Engine) -> None:
    answer = ask(engine, "what's new?", {"routes.recency.per_query": True})
    assert "half gone after 14.7 d" in reason(answer, "recency")


def test_D12_each_result_has_weights_of_its_own(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, by_likeness())
    answer = ask(engine, "what @0.9?", LEARNED)
    lawful(answer)
    weights = []
    for hit in answer:
        evidence = {item.route: item for item in hit.candidate.evidence}
        assert sum(item.weight for item in evidence.values()) == pytest.approx(1, abs=1e-4)
        for item in evidence.values():
            assert item.contribution == pytest.approx(item.weight * item.score, abs=1e-6)
        weights.append((evidence["similarity"].score, evidence["recency"].weight))
    assert len({round(weight, 4) for _, weight in weights}) > 1
    assert [weight for _, weight in sorted(weights)] == sorted(weight for _, weight in weights)
    assert "each result has its own weights by toy" in reason(answer, "similarity")


def test_D12_heads_that_say_nothing_leave_every_score(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, toy_heads())
    plain, own = (ask(engine, "what?", changes) for changes in ({}, LEARNED))
    assert {hit.memory.id: hit.score for hit in own} == pytest.approx(
        {hit.memory.id: hit.score for hit in plain}, abs=1e-5
    )


def test_D12_heads_of_another_network_are_not_used(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, replace(by_likeness(), network="other"))
    answer = ask(engine, "what?", LEARNED | PREDICTED)
    assert "one weight for all results: toy was made for the weight model other" in reason(answer, "similarity")
    assert "from the oldest candidate to the newest, since toy was made for" in reason(answer, "recency")
    assert [hit.score for hit in answer] == [hit.score for hit in ask(engine, "what?", {})]


def test_D12_without_the_file_the_rule_takes_over(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> SignalHeads:
        raise BadModel("the file is missing")

    monkeypatch.setattr("fivefold.designs.ditto.shipped_heads", missing)
    answer = ask(engine, "what's new?", PREDICTED | {"routes.recency.per_query": True})
    assert "half gone after" in reason(answer, "recency")


def test_D12_an_empty_namespace_has_no_span(store_path: str) -> None:
    with year(store_path) as made:
        assert made._namespace.reader.memories.event_span() == (NOW - timedelta(days=352), NOW - timedelta(days=1))
        other = Engine(made._namespace.store, "empty", Dial())
        assert other._namespace.reader.memories.event_span() is None


def test_D12_weights_by_result_need_a_composite() -> None:
    with pytest.raises(InvalidInput, match="per_result"):
        load_recipe("dense", LEARNED)
