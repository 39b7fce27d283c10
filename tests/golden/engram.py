"""Engram: channels weighted by intent (E1–E8)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from math import log

import numpy as np

from fivefold.designs.engram import attend
from fivefold.learning.reranker import NAMES
from fivefold.retrieval.recipe_file import load_recipe
from fivefold.retrieval.stages.reading import RERANKED
from fivefold.stores.sql.scope import ALL
from fivefold.stores.sqlite.codes import CodedVectors
from fivefold.stores.sqlite.scan import CodeArrays, coded, likely_nearest
from fivefold.stores.sqlite.store import SqliteStore
from fivefold.stores.sqlite.vectors import knn
from fivefold.values.recall import Recall

from .figures import CHANNELS
from .golden import Golden
from .store import NOW, UNREAD, GoldenStore, WordVectors, factor_of

QUIET = {"select.noise.sigma": 0, "select.threshold.on": False}

VECTORS, DIMENSION = 18_000, 384
"""Enough vectors that signs are compared before codes (E8)."""


def _channels_for(question: str) -> Callable[[GoldenStore], str]:
    def find(store: GoldenStore) -> str:
        weights = {part.route: part.weight for part in store.engine("people").plan(question, recipe="engram").routes}
        return _listed(weights[route] for route in ("dense", "lexical", "graph"))

    return find


def _listed(weights: Iterable[float]) -> str:
    return "/".join(f"{weight:g}" for weight in weights)


def _answer(store: GoldenStore, question: str, half_life_days: float = 30.0) -> Recall:
    changes = {**UNREAD, "select.noise.sigma": 0, "rerank.episodic.half_life_days": half_life_days}
    return store.engine("mill").recall(question, recipe="engram", now=NOW, overrides=changes)


def _first_share(store: GoldenStore) -> float:
    found = (item for hit in _answer(store, "mill wheel") for item in hit.candidate.evidence)
    return next(item.contribution for item in found if item.route == "dense" and item.rank == 1)


def _date_match(store: GoldenStore) -> float:
    return factor_of(_answer(store, "the mill today"), "new", "date match")


def _constant(group: str, stage: str, name: str) -> float:
    return float(getattr(_stage(group, stage), name))


def _stage(group: str, name: str) -> object:
    return next(stage.constants for stage in getattr(load_recipe("engram"), group) if stage.name == name)


def _read_beyond(store: GoldenStore) -> int:
    """How many of those read stand below the twentieth place of the fused ranks, with 40 asked for."""
    answer = store.engine("apples").recall("apple crate", 40, recipe="engram", now=NOW, overrides=QUIET)
    fused = sorted((hit.candidate.fused for hit in answer), reverse=True)
    read = [hit for hit in answer if any(step.why.endswith("that it answers") for step in hit.candidate.steps)]
    assert len(read) == 20
    return sum(hit.candidate.fused < fused[19] for hit in read)


def _gated(store: GoldenStore, above: float) -> int:
    """How many are returned with a least score that is so far above the best that a cross-encoder gave."""
    ask = partial(store.engine("weights").recall, "how hot is the kiln?", recipe="engram", now=NOW)
    best = max(step.after for hit in ask(overrides=QUIET) for step in hit.candidate.steps if step.stage == RERANKED)
    return len(ask(overrides={"select.noise.sigma": 0, "select.threshold.least": best + above}))


def _sharpness() -> float:
    (route,) = (route for route in load_recipe("engram").routes if route.search == "associative")
    return float(route.options.sharpness)


def _completes(store: GoldenStore) -> bool:
    """A cue between two patterns, nearer to the first, ends at the first."""
    patterns = np.eye(3, dtype=np.float32)
    state = np.array([0.8, 0.6, 0.0], dtype=np.float32)
    for _ in range(3):
        state = attend(patterns, state, 16.0)
    return bool(state[0] > 0.999)


def _index_recall(store: GoldenStore) -> float:
    """The share of the true ten nearest of many vectors that signs and codes leave, over ten questions."""
    chance = np.random.default_rng(8)
    centres = chance.standard_normal((400, DIMENSION), dtype=np.float32)
    vectors = centres[chance.integers(0, 400, VECTORS)] + chance.standard_normal((VECTORS, DIMENSION), dtype=np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    codes, scales, _ = coded(vectors)
    ids, zeros = np.arange(VECTORS), np.zeros(VECTORS, np.int8)
    arrays = CodeArrays.empty(VECTORS, DIMENSION)
    arrays.put(0, ids, ids, zeros, zeros, scales, codes)
    found = 0
    for place in chance.integers(0, VECTORS, 10):
        question = vectors[place] + 0.02 * chance.standard_normal(DIMENSION, dtype=np.float32)
        exact = np.argpartition(-(vectors @ question), 10)[:10]
        found += len(np.intersect1d(exact, likely_nearest(arrays, question, 10)))
    return found / 100


def _coded_recall(store: GoldenStore) -> float:
    """The share of the three nearest that a search by codes finds in the file of a small namespace."""
    engine = store.engine("people")
    space = engine.store.reader(engine.namespace).search.vector_space()
    assert space is not None
    assert isinstance(engine.store, SqliteStore)
    question = WordVectors().embed(["Sarah Chen visited Oslo"])[0]
    question /= np.linalg.norm(question)
    with engine.store.connections.reader() as connection:
        by_codes = CodedVectors(space, "full").search(connection, question, 3, ALL)
        exact = knn(connection, space, "full", question, 3, ALL)
    return len({hit.row for hit in by_codes} & {hit.row for hit in exact}) / 3


def _below_threshold(store: GoldenStore) -> int:
    changes = {**UNREAD, "select.threshold.least": 1.0}
    answer = store.engine("mill").recall("mill", recipe="engram", now=NOW, overrides=changes)
    return sum(item.stage == "threshold" for item in answer.dropped)


GOLDEN = (
    *(
        Golden("E1", f"dense/lexical/graph for {question!r}", _listed(wanted), _channels_for(question))
        for question, _, wanted in CHANNELS
    ),
    Golden("E2", "share of a first place: 1 / (60 + 0 + 1)", 1 / 61, _first_share),
    Golden("E3", "factor of a memory of the day that is asked for", 2.0, _date_match),
    Golden(
        "E3",
        "factor of an event 30 days old, with a half-life of 60 days",
        0.5**0.5,
        lambda store: factor_of(_answer(store, "mill wheel", 60.0), "month", "episodic"),
    ),
    Golden("E3", "half-life of an event in days", 30.0, lambda _: _constant("rerank", "episodic", "half_life_days")),
    Golden(
        "E3",
        "factor of an event a year old",
        0.5,
        lambda store: factor_of(_answer(store, "mill wheel"), "year", "episodic"),
    ),
    Golden(
        "E3",
        "factor of a memory that was used once: 1 + 0.1 · ln 2",
        1 + 0.1 * log(2),
        lambda store: factor_of(_answer(store, "mill wheel"), "month", "access"),
    ),
    Golden("E4", "how many the cross-encoder reads", 20.0, lambda _: _constant("rerank", "cross_encoder", "depth")),
    Golden("E4", "read by the cross-encoder and not of the best 20 by rank", 0, _read_beyond),
    Golden("E5", "features of the learned reranker", 10, lambda _: len(NAMES)),
    Golden("E6", "width of the noise", 0.02, lambda _: _constant("select", "noise", "sigma")),
    Golden("E6", "dropped by the threshold where no cross-encoder ran", 0, _below_threshold),
    Golden("E6", "returned with a least score just above that of the best memory read", 0, lambda s: _gated(s, 1e-6)),
    Golden("E6", "returned with one just below it", 2, lambda s: _gated(s, -1e-6)),
    Golden("E7", "sharpness", 8.0, lambda _: _sharpness()),
    Golden("E7", "a cue is completed to the pattern next to it", True, _completes),
    Golden("E8", f"found of the true ten nearest of {VECTORS:,} vectors, by signs and codes", 1.0, _index_recall),
    Golden("E8", "found of the three nearest by codes in the file of a namespace", 1.0, _coded_recall),
)
