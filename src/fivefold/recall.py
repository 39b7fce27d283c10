"""What a recall is: the question understood, the plan, what each route said, and the ranked hits.

These values are the trace. Every view (terminal, JSON, page) reads them; nothing is recomputed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

import numpy as np
import numpy.typing as npt

from fivefold.memory import Memory, Type
from fivefold.values import Json, Value, hidden

Vector = npt.NDArray[np.float32]

SHOWN_DROPPED = 5
"""How many dropped candidates a printed explanation names; `Recall.dropped` has all."""


@dataclass(frozen=True, slots=True)
class Window(Value):
    """A closed stretch of time a question asks about; the end is exclusive."""

    start: datetime
    end: datetime
    text: str


@dataclass(frozen=True, slots=True)
class EntityRef(Value):
    """A stretch of the question that names an entity of the namespace."""

    name: str
    text: str
    confidence: float


@dataclass(frozen=True, slots=True)
class Weights(Value):
    """How much similarity, recency and frequency count (D1); they add up to 1."""

    similarity: float
    recency: float
    frequency: float
    source: str = "fixed"


@dataclass(frozen=True, slots=True)
class Query(Value):
    """The question, understood. Parts that nothing filled are empty."""

    text: str
    now: datetime
    lexemes: tuple[str, ...]
    context: tuple[str, ...] = ()
    window: Window | None = None
    entities: tuple[EntityRef, ...] = ()
    intent: str | None = None
    type_hints: tuple[Type, ...] = ()
    weights: Weights | None = None


@dataclass(frozen=True, slots=True)
class RoutePlan(Value):
    """One route's part in the plan: run to a depth with a weight, or skipped for a reason."""

    route: str
    run: bool
    depth: int
    weight: float
    reason: str


@dataclass(frozen=True, slots=True)
class Plan(Value):
    """What a recall will do, before it does it."""

    recipe: str
    k: int
    routes: tuple[RoutePlan, ...]
    fusion: str
    stages: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RouteHit(Value):
    """One memory as one route saw it; `score` is on the route's own scale, higher is better."""

    row: int
    score: float
    note: str | None = None


@dataclass(frozen=True, slots=True)
class RouteRun(Value):
    """What became of one route: its hits, or why there are none."""

    route: str
    status: Literal["hits", "skipped", "failed"]
    reason: str
    found: int
    ms: float
    hits: tuple[RouteHit, ...] = hidden(default=())


@dataclass(frozen=True, slots=True)
class Evidence(Value):
    """Why a memory is a candidate: its place in one route and what that added to the fused score."""

    route: str
    rank: int
    score: float
    weight: float
    contribution: float
    arithmetic: str
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Step(Value):
    """What one later stage did to a candidate's score."""

    stage: str
    before: float
    after: float
    why: str


@dataclass(frozen=True, slots=True)
class Candidate(Value):
    """A memory on its way to the answer, with its evidence.

    Law: the contributions add up to `fused`, every step starts where the last one ended,
    and the last step's result is the score.
    """

    memory: Memory
    evidence: tuple[Evidence, ...]
    fused: float
    steps: tuple[Step, ...] = ()

    @property
    def score(self) -> float:
        return self.steps[-1].after if self.steps else self.fused

    def stepped(self, stage: str, after: float, why: str) -> Candidate:
        return replace(self, steps=(*self.steps, Step(stage, self.score, after, why)))


@dataclass(frozen=True, slots=True)
class Dropped(Value):
    """A candidate that did not make it, and why."""

    id: str
    score: float
    stage: str
    reason: str


@dataclass(frozen=True, slots=True)
class Timing(Value):
    """How long one stage took."""

    stage: str
    ms: float


@dataclass(frozen=True, slots=True)
class Hit(Value):
    """One recalled memory, its final score, and the candidate that earned it."""

    rank: int
    candidate: Candidate

    @property
    def memory(self) -> Memory:
        return self.candidate.memory

    @property
    def score(self) -> float:
        return self.candidate.score

    def explain(self) -> str:
        """The arithmetic behind the score, one line for each route and each step."""
        lines = [f"#{self.rank}  {self.score:.4f}  {self.memory.content}"]
        for item in self.candidate.evidence:
            note = f"  ({item.note})" if item.note else ""
            lines.append(f"    {item.route:<10} rank {item.rank:<3} {item.arithmetic} = {item.contribution:.4f}{note}")
        parts = " + ".join(f"{item.contribution:.4f}" for item in self.candidate.evidence)
        lines.append(f"    {'fused':<10} {parts} = {self.candidate.fused:.4f}")
        lines += [
            f"    {step.stage:<10} {step.before:.4f} → {step.after:.4f}  {step.why}" for step in self.candidate.steps
        ]
        return "\n".join(lines)

    def to_dict(self) -> Json:
        shown = self.candidate.to_dict()
        return {"rank": self.rank, "score": self.score, **shown}


@dataclass(frozen=True, slots=True)
class Recall(Value):
    """The answer and its trace. Iterating gives the hits, best first."""

    id: str
    namespace: str
    query: Query
    plan: Plan
    routes: tuple[RouteRun, ...]
    hits: tuple[Hit, ...]
    dropped: tuple[Dropped, ...]
    timings: tuple[Timing, ...]
    embedder: str

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def __len__(self) -> int:
        return len(self.hits)

    def __getitem__(self, index: int) -> Hit:
        return self.hits[index]

    @property
    def degraded(self) -> tuple[str, ...]:
        """Routes that failed, so that the answer may miss what they would have found."""
        return tuple(run.route for run in self.routes if run.status == "failed")

    def explain(self) -> str:
        """The whole trace as text."""
        lines = [f"{self.query.text!r}  recipe {self.plan.recipe}  k {self.plan.k}  {self.plan.fusion}"]
        lines += [
            f"  route {run.route:<10} {run.status:<8} {run.found:>4} found  {run.ms:7.2f} ms  {run.reason}"
            for run in self.routes
        ]
        lines += [hit.explain() for hit in self.hits]
        lines += [f"  dropped {item.id} at {item.stage}: {item.reason}" for item in self.dropped[:SHOWN_DROPPED]]
        if len(self.dropped) > SHOWN_DROPPED:
            lines.append(f"  … and {len(self.dropped) - SHOWN_DROPPED} more dropped")
        lines.append("  " + "  ".join(f"{timing.stage} {timing.ms:.2f} ms" for timing in self.timings))
        return "\n".join(lines)
