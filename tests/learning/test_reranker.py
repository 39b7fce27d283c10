"""The network by hand, and its file: whole, or refused with a reason."""

from __future__ import annotations

import io
import json
import math
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest

from fivefold.learning.reranker import (
    HIDDEN,
    NAMES,
    Figures,
    Ranker,
    Verdict,
    dump_reranker,
    load_reranker,
    min_max,
    relative_scores,
)
from fivefold.models.shipped import BadModel

FIGURES = Figures(held_out=40, before=0.5, after=0.6, least_gain=0.02, position_bias=0.8)
VERDICT = Verdict(True, "+0.100 nDCG", "learned-1.abc", datetime(2025, 6, 1, tzinfo=UTC), 101, 100, FIGURES)


def ranker(trust: float = 1.0, **changes: object) -> Ranker:
    """A network that says nothing of its own unless told to."""
    tensors = {
        "mean": np.zeros(len(NAMES)),
        "spread": np.ones(len(NAMES)),
        "inner": np.zeros((len(NAMES), HIDDEN)),
        "bias": np.zeros(HIDDEN),
        "outer": np.zeros(HIDDEN),
        "trust": np.asarray(trust),
    }
    return Ranker({**tensors, **{name: np.asarray(value, dtype=float) for name, value in changes.items()}})


def liking(feature: str, strength: float = 3.0, trust: float = 1.0) -> Ranker:
    """A network that likes whatever has this feature."""
    inner = np.zeros((len(NAMES), HIDDEN))
    inner[NAMES.index(feature), 0] = 1.0
    outer = np.zeros(HIDDEN)
    outer[0] = strength
    return ranker(trust, inner=inner, outer=outer)


def rows(*cosines: float) -> np.ndarray:
    features = np.zeros((len(cosines), len(NAMES)), np.float32)
    features[:, 0] = cosines
    return features


def test_the_forward_pass_by_hand() -> None:
    """1 · standing + 3 · tanh(cosine)."""
    scores = liking("cosine").scores(np.array([2.0, 1.0], np.float32), rows(0.0, 0.5))
    assert scores.tolist() == pytest.approx([0.0, -0.5 + 3 * math.tanh(0.5)])


def test_features_are_scaled_and_what_is_unknown_is_average() -> None:
    mean, spread = np.zeros(len(NAMES)), np.ones(len(NAMES))
    mean[0], spread[0] = 0.4, 0.2
    known = Ranker({**liking("cosine", trust=0.0).tensors, "mean": mean, "spread": spread})
    scores = known.scores(np.ones(3, np.float32), rows(0.6, math.nan, 0.4))
    assert scores.tolist() == pytest.approx([3 * math.tanh(1.0), 0.0, 0.0], abs=1e-6)


def test_standing_is_the_distance_to_the_best() -> None:
    assert relative_scores([4.0, 3.0, 1.0]).tolist() == [0.0, -0.25, -0.75]
    assert relative_scores([-1.0, -2.0]).tolist() == [0.0, -1.0]
    assert relative_scores([0.0, 0.0]).tolist() == [0.0, 0.0]


def test_stretching_and_blending() -> None:
    assert min_max(np.array([1.0, 3.0, 2.0])).tolist() == [0.0, 1.0, 0.5]
    assert min_max(np.array([2.0, 2.0])).tolist() == [1.0, 1.0]
    base = np.array([3.0, 2.0, 1.0], np.float32)
    mixed, judged, given = liking("cosine", trust=0.0).blend(base, rows(0, 0, 1), 0.5)
    assert (judged.tolist(), given.tolist(), mixed.tolist()) == ([0, 0, 1], [1, 0.5, 0], [0.5, 0.25, 0.5])


def test_the_same_numbers_have_the_same_name() -> None:
    assert ranker().name == ranker().name
    assert ranker().name != ranker(trust=1.1).name
    assert ranker().name.startswith("learned-2.")


def test_a_file_brings_back_what_was_saved() -> None:
    before = liking("event")
    after, verdict = load_reranker(dump_reranker(before, VERDICT, "home"), "home")
    assert verdict == VERDICT
    assert after is not None
    assert after.name == before.name
    assert load_reranker(dump_reranker(None, replace(VERDICT, on=False, figures=None), "home"), "home")[0] is None


def test_a_verdict_is_told_in_a_line() -> None:
    assert VERDICT.describe() == "on, learned-1.abc: nDCG 0.500 → 0.600 on the newest 40 of 100 recalls; +0.100 nDCG"
    assert FIGURES.gain == pytest.approx(0.1)
    assert VERDICT.to_dict()["figures"]["after"] == 0.6


def changed(**header: object) -> bytes:
    """A sound file but for its header."""
    with np.load(io.BytesIO(dump_reranker(ranker(), VERDICT, "home"))) as held:
        tensors = {name: held[name] for name in held.files}
    tensors["header"] = np.array(json.dumps(json.loads(str(tensors["header"])) | header))
    out = io.BytesIO()
    np.savez(out, **tensors)
    return out.getvalue()


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "damaged"),
        (b"no model at all", "damaged"),
        (dump_reranker(ranker(), VERDICT, "home")[:-40], "damaged"),
        (changed(format=2), "format 2, this fivefold reads 1"),
        (changed(version=1), "other features"),
        (changed(features=["cosine"]), "other features"),
        (changed(verdict={}), "damaged"),
        (changed(namespace="away"), "belongs to namespace 'away'"),
        (dump_reranker(ranker(outer=np.zeros(3)), VERDICT, "home"), "tensors for 'outer'"),
        (dump_reranker(ranker(trust=math.nan), VERDICT, "home"), "tensors for 'trust'"),
        (dump_reranker(Ranker({"trust": np.asarray(1.0)}), VERDICT, "home"), "tensors for 'mean'"),
    ],
)
def test_a_file_that_cannot_be_used_says_why(data: bytes, reason: str) -> None:
    with pytest.raises(BadModel, match=reason):
        load_reranker(data, "home")


def test_a_flipped_byte_is_noticed() -> None:
    """A checksum guards every array; no flip gives another model in silence."""
    whole = dump_reranker(liking("event"), VERDICT, "home")
    name = liking("event").name
    for place in range(0, len(whole), 97):
        broken = whole[:place] + bytes([whole[place] ^ 0x10]) + whole[place + 1 :]
        try:
            found, verdict = load_reranker(broken, "home")
        except BadModel:
            continue
        assert found is not None
        assert (found.name, verdict) == (name, VERDICT)
