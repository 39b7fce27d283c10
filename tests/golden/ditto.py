"""Ditto: weights read out of the question (D1–D12)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from math import log, prod
from statistics import fmean

import numpy as np

from fivefold.models.embedders import DEFAULT, embedder
from fivefold.models.weights import FALLBACK, TARGETS, Intent, features, predict, shapes, shipped, without
from fivefold.values.query import Curve, Decay

from .figures import FALLBACK_WEIGHTS, LEFT, PARAMETERS
from .golden import Golden
from .held_out import HELD_OUT
from .store import GoldenStore

LEADING: dict[Intent, tuple[int, ...]] = {"semantic": (0,), "temporal": (1,), "frequency": (2,), "mixed": (0, 1)}
"""Which signals may weigh most: a mixed question is a tie of the first two."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """What the shipped network says of a question in a wording that it never saw, and what is right."""

    intent: Intent
    shares: tuple[float, float, float]

    @property
    def target(self) -> tuple[float, float, float]:
        return TARGETS[self.intent]

    @property
    def divergence(self) -> float:
        return sum(right * log(right / share) for right, share in zip(self.target, self.shares, strict=True))

    @property
    def error(self) -> float:
        return sum(abs(right - share) for right, share in zip(self.target, self.shares, strict=True)) / 3

    @property
    def right_signal(self) -> bool:
        return self.shares.index(max(self.shares)) in LEADING[self.intent]

    @property
    def entropy(self) -> float:
        return -sum(share * log(share) for share in self.shares if share > 0)


@cache
def _predictions() -> tuple[Prediction, ...]:
    return tuple(Prediction(intent, _shares(text)) for intent, texts in HELD_OUT.items() for text in texts)


def _shares(question: str) -> tuple[float, float, float]:
    model = embedder(DEFAULT)
    found = predict(question, np.asarray(model.embed([question])[0]), model.pin)
    return found.similarity, found.recency, found.frequency


def _mean(values: Iterable[float]) -> float:
    return fmean(list(values))


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


def _own_weights(store: GoldenStore) -> float:
    """Weights by result: the largest difference between a score and the sum by its own weights, or of these from 1."""
    answer = store.ask("weights", "what did I do yesterday", "ditto", fusion__per_result=True)
    gaps = [abs(hit.score - sum(item.weight * item.score for item in hit.candidate.evidence)) for hit in answer]
    sums = [abs(1 - sum(item.weight for item in hit.candidate.evidence)) for hit in answer]
    return round(max(*gaps, *sums), 5)


def _predicted_decay(store: GoldenStore) -> bool:
    answer = store.ask("weights", "what did I do yesterday", "ditto", routes__recency__predicted=True)
    return any("predicts it with the weights" in run.reason for run in answer.routes)


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
    Golden(
        "D6", "least entropy of a prediction", 0.5, lambda _: min(one.entropy for one in _predictions()), "at least"
    ),
    Golden(
        "D7",
        "mean divergence, one question of each held-out family of wordings that was looked at",
        0.025,
        lambda _: _mean(one.divergence for one in _predictions()),
        "at most",
    ),
    Golden("D7", "mean error of a weight", 0.053, lambda _: _mean(one.error for one in _predictions()), "at most"),
    Golden(
        "D7",
        "share of these questions whose leading signal is right",
        0.988,
        lambda _: _mean(one.right_signal for one in _predictions()),
        "at least",
    ),
    Golden("D8", "fallback weights", _listed(FALLBACK_WEIGHTS), lambda _: _listed(FALLBACK)),
    Golden("D8", "the fallback says why", "fallback: no file", lambda _: without("no file").source),
    Golden("D9", "how it is fused", "composite score in one statement", _fusion),
    Golden("D10", "percents of the three weights in the trace, added up", 100, _percents),
    Golden("D11", "turns that come along where two are asked for", 2, _recent),
    *(
        Golden("D12", f"left at once, after a half-life and after two, {curve}", _listed(left), _left_by(curve))
        for curve, *left in LEFT
    ),
    Golden("D12", "the trace says that the decay is predicted with the weights", True, _predicted_decay),
    Golden("D12", "weights by result: largest gap between a score and the sum by its own weights", 0.0, _own_weights),
)
