"""What a recall is: the question understood, the plan, what each route said, and the ranked hits.

These values are the trace. Every view (terminal, JSON, page) reads them; nothing is recomputed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from fivefold.values.memory import Memory, Type
from fivefold.values.query import Query
from fivefold.values.serialize import Json, Value, hidden

Effort = Literal["low", "normal", "high"]
EFFORTS: tuple[Effort, ...] = get_args(Effort)

SHOWN_TOP = 3
"""How many hits of each route the trace names."""

SHOWN_TEXT = 100
"""Characters of a memory shown where only a glimpse is wanted."""

SHOWN_DROPPED = 5
"""How many dropped candidates a printed explanation names; `Recall.dropped` has all that reached selection."""


@dataclass(frozen=True, slots=True)
class RoutePlan(Value):
    """One route's part in the plan: run to a depth with a weight, or skipped for a reason."""

    route: str
    run: bool
    depth: int
    weight: float
    reason: str
    types: tuple[Type, ...] = ()
    budget_ms: int = 2_000
    search: str = ""
    supports: bool = False
    options: Any = hidden(default=None)  # noqa: RUF009


@dataclass(frozen=True, slots=True)
class Plan(Value):
    """What a recall will do, before it does it."""

    recipe: str
    k: int
    routes: tuple[RoutePlan, ...]
    fusion: str
    stages: tuple[str, ...]
    effort: Effort = "normal"
    by_effort: Mapping[str, Any] = field(default_factory=dict)
    """What the effort changed in the recipe, by paths as `overrides` has them."""

    def describe_effort(self) -> str:
        """What is to be said of the effort, where it is not the normal one."""
        return "" if self.effort == "normal" else f", {self.effort} effort"


@dataclass(frozen=True, slots=True)
class RouteHit(Value):
    """One memory as one route saw it; `score` is on the route's own scale, higher is better.

    `factor` multiplies the route's weight for this hit, as a far hop counts less than a direct one (R10).
    `contribution` is what the hit adds to the fused score, where the store has fused it.
    """

    row: int
    score: float
    note: str | None = None
    factor: float = 1.0
    contribution: float | None = None


@dataclass(frozen=True, slots=True)
class TopHit(Value):
    """One of the first hits of a route, by its memory's id."""

    id: str
    score: float
    content: str
    note: str | None


@dataclass(frozen=True, slots=True)
class RouteRun(Value):
    """What became of one route: its hits, or why there are none."""

    route: str
    status: Literal["hits", "skipped", "failed", "late"]
    reason: str
    found: int
    ms: float
    top: tuple[TopHit, ...] = ()
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
class Support(Value):
    """What its turns add to a session memory (M5, M8)."""

    session_rrf_score: float
    turn_support: float
    supporting_turn_count: int
    best_turn_routes: Mapping[str, int]


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
    support: Support | None = None
    neighbours: tuple[Memory, ...] = ()

    @property
    def score(self) -> float:
        return self.steps[-1].after if self.steps else self.fused

    def with_step(self, stage: str, after: float, why: str) -> Candidate:
        return replace(self, steps=(*self.steps, Step(stage, self.score, after, why)))


@dataclass(frozen=True, slots=True)
class Dropped(Value):
    """A candidate that did not make it, and why."""

    id: str
    score: float
    stage: str
    reason: str


@dataclass(frozen=True, slots=True)
class StageNote(Value):
    """What became of a stage that may fail or rest: a model that judged, was late, or is not switched on."""

    stage: str
    status: Literal["done", "failed", "off"]
    why: str
    model: str = ""


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

    @property
    def rrf_score(self) -> float:
        """The fused score, before any later stage."""
        return self.candidate.fused

    @property
    def routes(self) -> dict[str, int]:
        """The routes that found the memory, with its rank in each."""
        return {item.route: item.rank for item in self.candidate.evidence}

    @property
    def final_score(self) -> float:
        """The score that diversity selection started from; the score itself where there was none."""
        return next((step.before for step in self.candidate.steps if step.stage == "mmr"), self.score)

    @property
    def support(self) -> Support | None:
        """What its turns added, when the hit is a session (M5)."""
        return self.candidate.support

    @property
    def neighbours(self) -> tuple[Memory, ...]:
        """The turns just before and after, where the recipe brings them along (M7)."""
        return self.candidate.neighbours

    def explain(self) -> str:
        """The arithmetic behind the score, one line for each route and each step."""
        names = [item.route for item in self.candidate.evidence] + [step.stage for step in self.candidate.steps]
        wide = max((10, *map(len, names)))
        lines = [f"#{self.rank}  {self.score:.4f}  {self.memory.content}"]
        for item in self.candidate.evidence:
            note = f"  ({item.note})" if item.note else ""
            lines.append(
                f"    {item.route:<{wide}} rank {item.rank:<3} {item.arithmetic} = {item.contribution:.4f}{note}"
            )
        parts = " + ".join(f"{item.contribution:.4f}" for item in self.candidate.evidence)
        lines.append(f"    {'fused':<{wide}} {parts} = {self.candidate.fused:.4f}")
        lines += [
            f"    {step.stage:<{wide}} {step.before:.4f} → {step.after:.4f}  {step.why}"
            for step in self.candidate.steps
        ]
        lines += [f"    {'beside':<{wide}} {_short(memory.content)}" for memory in self.neighbours]
        return "\n".join(lines)

    @classmethod
    def shape(cls) -> dict[str, Any]:
        first = {"rank": int, "score": float, "rrf_score": float, "final_score": float, "routes": Mapping[str, int]}
        return {**first, **Candidate.shape(), "explain": str}

    def to_dict(self) -> Json:
        shown = self.candidate.to_dict()
        return {
            "rank": self.rank,
            "score": self.score,
            "rrf_score": self.rrf_score,
            "final_score": self.final_score,
            "routes": self.routes,
            **shown,
            "explain": self.explain(),
        }


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
    notes: tuple[StageNote, ...] = ()
    recent: tuple[Memory, ...] = ()
    """The last turns of the talk, oldest first, brought along whether they answer or not (D11)."""

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def __len__(self) -> int:
        return len(self.hits)

    def __getitem__(self, index: int) -> Hit:
        return self.hits[index]

    @property
    def degraded(self) -> tuple[str, ...]:
        """Routes that failed or were late and stages that failed, so that the answer may be less than it could."""
        routes = tuple(run.route for run in self.routes if run.status in ("failed", "late"))
        return routes + tuple(note.stage for note in self.notes if note.status == "failed")

    def explain(self) -> str:
        """The whole trace as text: the question as it was read, the plan, every route, the arithmetic."""
        lines = [self.query.marked(), *self.query.describe(), ""]
        lines.append(f"recipe {self.plan.recipe}, k {self.plan.k}, {self.plan.fusion}{self.plan.describe_effort()}")
        wide = max((10, *(len(run.route) for run in self.routes)))
        for run in self.routes:
            lines.append(f"  {run.route:<{wide}} {run.status:<8} {run.found:>4} found  {run.ms:7.2f} ms  {run.reason}")
            lines += [
                f"      {rank}. {top.score:.4g}  {_short(top.content)}" + (f"  ({top.note})" if top.note else "")
                for rank, top in enumerate(run.top, 1)
            ]
        if self.query.weights is not None:
            lines.append(f"  weights {self.query.weights.describe()}")
        lines += [f"  {note.stage:<{wide}} {note.status:<8} {note.model}  {note.why}" for note in self.notes]
        lines.append("")
        lines += [hit.explain() for hit in self.hits]
        lines += [f"  recent {turn.id}  {_short(turn.content)}" for turn in self.recent]
        lines += [f"  dropped {item.id} at {item.stage}: {item.reason}" for item in self.dropped[:SHOWN_DROPPED]]
        if len(self.dropped) > SHOWN_DROPPED:
            lines.append(f"  … and {len(self.dropped) - SHOWN_DROPPED} more dropped")
        lines.append("  " + "  ".join(f"{timing.stage} {timing.ms:.2f} ms" for timing in self.timings))
        return "\n".join(lines)


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= SHOWN_TEXT else f"{flat[: SHOWN_TEXT - 1]}…"
