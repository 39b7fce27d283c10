"""Ditto: weights read out of the question (D1–D12)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import log, prod

import numpy as np

from fivefold.bench.golden.golden import Golden
from fivefold.bench.golden.numbers import FALLBACK_WEIGHTS, LEFT, PARAMETERS
from fivefold.bench.golden.store import GoldenStore
from fivefold.models.embedders import DEFAULT, embedder
from fivefold.models.weights import FALLBACK, features, intent, predict, shipped, without
from fivefold.models.weights.model import TARGETS, shapes
from fivefold.values.decay import Curve, Decay
from fivefold.values.query import Weights

PLAIN = (
    ("what is the wifi password", "semantic"),
    ("explain how the kiln works", "semantic"),
    ("what did we talk about yesterday", "temporal"),
    ("what have I been up to lately", "temporal"),
    ("what do I mention most often", "frequency"),
    ("which topics keep coming up again and again", "frequency"),
)
"""Questions that leave no doubt about their signal."""


def _weights(question: str) -> Weights:
    model = embedder(DEFAULT)
    return predict(question, np.asarray(model.embed([question])[0]), model.pin)


def _composite_error(store: GoldenStore) -> float:
    """The largest difference between a score and the weighted sum of its signals."""
    answer = store.ask("mill", "mill wheel", "ditto")
    sums = [sum(item.weight * item.score for item in hit.candidate.evidence) for hit in answer]
    return round(max(abs(hit.score - total) for hit, total in zip(answer, sums, strict=True)), 9)


def _signal(store: GoldenStore, id: str, route: str) -> float:
    answer = store.ask("mill", "mill wheel", "ditto")
    found = next(hit for hit in answer if hit.memory.id == id)
    return next(item.score for item in found.candidate.evidence if item.route == route)


def _sum_of_weights(store: GoldenStore) -> float:
    answer = store.ask("weights", "what did I do yesterday", "ditto")
    assert answer.query.weights is not None
    return answer.query.weights.similarity + answer.query.weights.recency + answer.query.weights.frequency


def _dominant(store: GoldenStore) -> int:
    return sum(intent(_weights(question)) == wanted for question, wanted in PLAIN)


def _least_entropy(store: GoldenStore) -> bool:
    weights = [_weights(question) for question, _ in PLAIN]
    shares = [(one.similarity, one.recency, one.frequency) for one in weights]
    return min(-sum(share * log(share) for share in each if share > 0) for each in shares) >= 0.5


def _percents(store: GoldenStore) -> int:
    shown = store.ask("weights", "what did I do yesterday", "ditto").explain()
    return shown.count("similarity ") and sum(int(word.rstrip("%,")) for word in _percent_words(shown))


def _percent_words(shown: str) -> list[str]:
    line = next(line for line in shown.splitlines() if line.lstrip().startswith("weights "))
    return [word for word in line.split() if word.rstrip(",").endswith("%")][:3]


def _recent(store: GoldenStore) -> int:
    return len(store.engine("talk").recall("zebra", recipe="memsense", recent_turns=2).recent)


def _shipped_size(store: GoldenStore) -> int:
    return sum(int(tensor.size) for tensor in shipped().tensors.values())


def _adds_up(target: tuple[float, float, float]) -> bool:
    return abs(sum(target) - 1) < 1e-9


def _listed(numbers: Iterable[float]) -> str:
    return "/".join(f"{number:g}" for number in numbers)


def _left_by(curve: Curve) -> Callable[[GoldenStore], str]:
    return lambda _: _listed(Decay(curve, 90.0).left(days) for days in (0, 90, 180))


def _fusion(store: GoldenStore) -> str:
    return store.engine("mill").plan("mill", recipe="ditto").fusion


GOLDEN = (
    Golden("D1", "largest difference between a score and w1·cos + w2·recency + w3·frequency", 0.0, _composite_error),
    Golden("D1", "sum of the three weights", 1.0, _sum_of_weights),
    Golden("D2", "recency of the newest candidate", 1.0, lambda store: _signal(store, "new", "recency")),
    Golden("D2", "recency of the oldest", 0.0, lambda store: _signal(store, "year", "recency")),
    Golden("D3", "parameters at 768 dimensions", PARAMETERS[768], lambda _: sum(map(prod, shapes(768).values()))),
    Golden("D3", "parameters of the shipped network, at 384", PARAMETERS[384], _shipped_size),
    Golden("D4", "features of a question", 6, lambda _: len(features("what did we say yesterday?"))),
    Golden("D4", "has a word of time", 1.0, lambda _: float(features("what did we say yesterday?")[1])),
    Golden(
        "D5", "intents whose target weights add up to 1", 4, lambda _: sum(_adds_up(one) for one in TARGETS.values())
    ),
    Golden("D6", "no prediction is surer than an entropy of 0.5", True, _least_entropy),
    Golden("D7", "plain questions of six whose signal is predicted", 6, _dominant),
    Golden("D8", "fallback weights", _listed(FALLBACK_WEIGHTS), lambda _: _listed(FALLBACK)),
    Golden("D8", "the fallback says why", "fallback: no file", lambda _: without("no file").source),
    Golden("D9", "how it is fused", "composite score in one statement", _fusion),
    Golden("D10", "percents of the three weights in the trace, added up", 100, _percents),
    Golden("D11", "turns that come along where two are asked for", 2, _recent),
    *(
        Golden("D12", f"left at once, after a half-life and after two, {curve}", _listed(left), _left_by(curve))
        for curve, *left in LEFT
    ),
)
