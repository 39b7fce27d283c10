"""The features of a hit for the learned reranker (E5); the recall log keeps them, so that training computes nothing."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from datetime import datetime
from math import log1p, nan

import numpy as np

from fivefold.values.decay import age_in_days
from fivefold.values.memory import TYPES, Memory
from fivefold.values.recall import Recall
from fivefold.values.recall_trace import Candidate, Plan
from fivefold.values.vectors import Matrix

STEP = "learned"
"""The name of the step by which a candidate shows that the learned reranker has moved it."""

NAMES = ("cosine", "importance", "access count", "age", "retention", *TYPES)
"""The ten features of E5, where its layer is the memory's type."""

VERSION = 2
"""Of the features' meaning and order; a model of another version is not used."""

HALF_LIFE_DAYS = 30.0
"""Days after which an unused memory is half forgotten."""

_WIDTH = 1 + len(NAMES)
_LOGGED = {1: _WIDTH + 4, VERSION: _WIDTH}
"""Numbers of a hit in the log, by version; the first version ended in the shares of four routes."""

_TYPES = {kind: tuple(float(kind == other) for other in TYPES) for kind in TYPES}


def search_kinds(plan: Plan | None) -> dict[str, str]:
    """Each route's kind of search by the route's name."""
    return {} if plan is None else {part.route: part.search or part.route for part in plan.routes}


def base_score(candidate: Candidate) -> float:
    """The score without the learned reranker: where that changed it, the score before."""
    return next((step.before for step in candidate.steps if step.stage == STEP), candidate.score)


def feature_rows(candidates: Iterable[Candidate], now: datetime, kinds: Mapping[str, str]) -> Matrix:
    """The base score and the features of each candidate, one row each."""
    flat = [number for candidate in candidates for number in _row(candidate, now, kinds)]
    return np.array(flat, dtype=np.float32).reshape(-1, _WIDTH)


def pack_features(recall: Recall) -> bytes:
    """What the log keeps of a recall: the version in one byte, then each hit's row in float32, best first."""
    kinds = search_kinds(recall.plan)
    flat = [number for hit in recall.hits for number in _row(hit.candidate, recall.query.now, kinds)]
    return struct.pack(f"<B{len(flat)}f", VERSION, *flat)


def unpack_features(blob: bytes | None) -> Matrix | None:
    """The rows of a logged recall; None where the log has none, or one of an unknown version."""
    width = _LOGGED.get(blob[0]) if blob else None
    if not blob or not width or (len(blob) - 1) % (4 * width):
        return None
    return np.frombuffer(blob, dtype="<f4", offset=1).astype(np.float32).reshape(-1, width)[:, :_WIDTH]


def retention(memory: Memory, now: datetime) -> float:
    """What a forgetting curve leaves since the last use or the event; every use makes it last longer."""
    last = memory.last_accessed_at or memory.event_at
    return float(0.5 ** (max(0.0, age_in_days(last, now)) / (HALF_LIFE_DAYS * (1 + memory.access_count))))


def _row(candidate: Candidate, now: datetime, kinds: Mapping[str, str]) -> tuple[float, ...]:
    """Without a cosine the feature is NaN; the reranker then takes it as average."""
    memory = candidate.memory
    cosine = max(
        (item.score for item in candidate.evidence if kinds.get(item.route, item.route) == "dense"), default=nan
    )
    return (
        base_score(candidate),
        cosine,
        memory.importance,
        log1p(memory.access_count),
        log1p(max(0.0, age_in_days(memory.event_at, now))),
        retention(memory, now),
        *_TYPES[memory.type],
    )
