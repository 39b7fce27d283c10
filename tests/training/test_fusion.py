"""The fit of the additive model: its slope is that of the loss, and it finds weights that rank well."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from training.fusion.listwise import SHARP, Lists, fit, gradient, scores_of

from fivefold.values.vectors import Matrix

DICE = np.random.default_rng(3)


@dataclass(frozen=True)
class Question:
    """As much of a sample as the fit reads."""

    data: str
    table: Matrix
    keys: tuple[str, ...]
    relevant: frozenset[str]


def asked(sessions: bool, count: int = 40) -> list[Question]:
    """Candidates of which the first feature tells the relevant one; the second is noise."""
    made = []
    for _ in range(count):
        table = DICE.normal(size=(12, 3)).astype(np.float32)
        keys = tuple(f"s{i // 3}" if sessions else f"m{i}" for i in range(12))
        made.append(Question("talk", table, keys, frozenset({keys[int(table[:, 0].argmax())]})))
    return made


def loss(lists: Lists, weights: npt.NDArray[np.floating[Any]]) -> float:
    """The cross entropy, written plainly."""
    total = 0.0
    for i in range(len(lists.features)):
        score = lists.features[i].astype(np.float64) @ weights
        here = lists.present[i]
        keys = sorted(set(lists.group[i][here].tolist()))
        whole = [np.log(np.exp(SHARP * score[here & (lists.group[i] == key)]).sum()) / SHARP for key in keys]
        shares = np.exp(whole) / np.exp(whole).sum()
        total -= lists.weight[i] * sum(
            lists.target[i, key] * np.log(share) for key, share in zip(keys, shares, strict=True)
        )
    return float(total)


@pytest.mark.parametrize("sessions", [False, True])
def test_the_slope_is_that_of_the_loss(sessions: bool) -> None:
    lists = Lists.of(asked(sessions, 6), {})
    weights = np.array([0.4, -0.3, 0.2], dtype=np.float32)
    step = 1e-4
    by_difference = [
        (loss(lists, weights + step * one) - loss(lists, weights - step * one)) / (2 * step) for one in np.eye(3)
    ]
    assert np.allclose(gradient(lists, weights), by_difference, atol=1e-3)


@pytest.mark.parametrize("sessions", [False, True])
def test_the_weights_find_what_tells_the_relevant_one(sessions: bool) -> None:
    questions = asked(sessions)
    weights = fit(Lists.of(questions, {}), np.ones(3, np.float32), 1e-3)
    assert weights[0] > 5 * max(abs(weights[1]), abs(weights[2]))
    first = [q.keys[int(scores_of(q.table, weights).argmax())] in q.relevant for q in questions]
    assert np.mean(first) > 0.9


def test_a_feature_that_is_left_out_keeps_no_weight() -> None:
    weights = fit(Lists.of(asked(False), {}), np.array([1, 0, 1], np.float32), 1e-3)
    assert weights[1] == 0.0


def test_sets_count_by_their_share() -> None:
    one, other = (
        asked(False, 4),
        [Question("beam", *(getattr(q, n) for n in ("table", "keys", "relevant"))) for q in asked(False, 8)],
    )
    lists = Lists.of([*one, *other], {"beam": 0.5})
    assert lists.weight[:4].sum() == pytest.approx(2 / 3)
    assert lists.weight.sum() == pytest.approx(1.0)
