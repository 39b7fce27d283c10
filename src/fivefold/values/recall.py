"""The result of a recall: the ranked hits, and the whole trace of how they were found."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from fivefold.values.explain import explain_chance, explain_hit, explain_rest, explain_search, recall_html, short_reason
from fivefold.values.memory import Memory
from fivefold.values.query import Query
from fivefold.values.recall_trace import (
    Candidate,
    Dropped,
    FusedRows,
    PassageMatch,
    Plan,
    RoutePlace,
    RouteRun,
    StageNote,
    Support,
    Timing,
    TracedCandidate,
)
from fivefold.values.serialize import Json, Value, hidden, plain

# Every candidate of a recall with its place in each route, read off the trace when somebody looks at it.


def trace_candidates(
    plan: Plan, routes: Iterable[RouteRun], ranked: Sequence[Candidate], dropped: Sequence[Dropped], fused: FusedRows
) -> tuple[TracedCandidate, ...]:
    """The answer by rank, then what stages dropped, then what the fusion left behind, best first."""
    places = _places(plan, routes)
    rows = {id: row for row, id in fused.ids.items()}
    hits = [
        TracedCandidate(one.memory.id, rank, one.score, "", "", tuple(places.get(one.memory.row, ())))
        for rank, one in enumerate(ranked, 1)
    ]
    left = [
        TracedCandidate(one.id, None, one.score, one.stage, one.reason, tuple(places.get(rows.get(one.id, -1), ())))
        for one in dropped
    ]
    seen = {one.id for one in (*hits, *left)}
    return (*hits, *left, *_beyond_pool(fused, places, seen))


def _places(plan: Plan, routes: Iterable[RouteRun]) -> dict[int, list[RoutePlace]]:
    """By row; a route that only supports others brings no candidates."""
    supports = {part.route for part in plan.routes if part.supports}
    places: dict[int, list[RoutePlace]] = {}
    for run in routes:
        if run.route not in supports:
            for rank, hit in enumerate(run.hits, 1):
                places.setdefault(hit.row, []).append(RoutePlace(run.route, rank, hit.score))
    return places


def _beyond_pool(fused: FusedRows, places: dict[int, list[RoutePlace]], seen: set[str]) -> Iterator[TracedCandidate]:
    """The candidates that the routes brought and no stage has seen."""
    ranked = sorted(fused.scores, key=lambda row: (-fused.scores[row], row))
    for rank, row in enumerate(ranked, 1):
        id = fused.ids.get(row)
        if id is not None and id not in seen:
            reason = f"rank {rank} of {len(ranked)}, beyond the {fused.pool} that go on"
            yield TracedCandidate(id, None, fused.scores[row], "fuse", reason, tuple(places.get(row, ())))


# The answer of a recall without the trace of how it was found.


@dataclass(frozen=True, slots=True)
class MemorySummary(Value):
    """The text of a memory, who said it, and when."""

    id: str
    content: str
    speaker: str | None
    session_id: str | None
    event_at: datetime


def _brief(memory: Memory) -> MemorySummary:
    return MemorySummary(memory.id, memory.content, memory.speaker, memory.session_id, memory.event_at)


def _ids(memories: Iterable[Memory]) -> tuple[str, ...]:
    return tuple(memory.id for memory in memories)


@dataclass(frozen=True, slots=True)
class HitSummary(Value):
    """One recalled memory: its score, how likely it answers, and one short reason why it came back."""

    rank: int
    score: float
    chance: float | None
    reason: str
    memory: MemorySummary
    folded: tuple[str, ...]
    """The ids of memories that say the same, for which it stands."""


@dataclass(frozen=True, slots=True)
class RecallSummary(Value):
    """The memories that answer a question best, and how likely one of them does."""

    id: str
    namespace: str
    question: str
    found: bool
    chance: float | None
    hits: tuple[HitSummary, ...]
    recent: tuple[MemorySummary, ...]
    notes: tuple[StageNote, ...]
    degraded: tuple[str, ...]
    """Routes and stages that failed or were late."""


@dataclass(frozen=True, slots=True)
class Hit(Value):
    """One recalled memory, its final score, and the candidate that earned it."""

    rank: int
    candidate: Candidate
    composite: bool = hidden(default=False)
    """True if the score is a composite, which is shown in percent (D10)."""

    @property
    def memory(self) -> Memory:
        return self.candidate.memory

    @property
    def score(self) -> float:
        return self.candidate.score

    @property
    def chance(self) -> float | None:
        """The chance that it answers the question: of hits with .8, eight in ten do. None if no stage judges it."""
        return self.candidate.chance

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
        """The score that diversity selection started from; the score itself if there was none."""
        return next((step.before for step in self.candidate.steps if step.stage == "mmr"), self.score)

    @property
    def support(self) -> Support | None:
        """The support of its turns, if the hit is a session (M5)."""
        return self.candidate.support

    @property
    def neighbours(self) -> tuple[Memory, ...]:
        """The turns just before and after, if the recipe brings them along (M7)."""
        return self.candidate.neighbours

    @property
    def folded(self) -> tuple[Memory, ...]:
        """Memories that say the same in nearly the same or in other words, newest first; this one stands for them."""
        return self.candidate.folded

    @property
    def passage(self) -> PassageMatch | None:
        """The passage nearest to the question and the matched words, if words were compared."""
        return self.candidate.passage

    @property
    def text(self) -> str:
        """The passage that came nearest to the question; all of a memory that is one passage or was not compared."""
        found, content = self.passage, self.memory.content
        return content if found is None else content[found.start : found.end]

    @property
    def reason(self) -> str:
        """Why it came back, in a few words."""
        return short_reason(self.candidate)

    def explain(self) -> str:
        """The arithmetic behind the score, one line for each route and each step."""
        return explain_hit(self.rank, self.candidate, composite=self.composite)

    @classmethod
    def shape(cls) -> dict[str, Any]:
        scores = {"score": float, "chance": float | None, "reason": str, "rrf_score": float, "final_score": float}
        return {"rank": int, **scores, "routes": Mapping[str, int], **Candidate.shape(), "explain": str}

    def to_dict(self) -> Json:
        return {
            "rank": self.rank,
            "score": self.score,
            "chance": self.chance,
            "reason": self.reason,
            "rrf_score": self.rrf_score,
            "final_score": self.final_score,
            "routes": self.routes,
            **self.candidate.to_dict(),
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
    """The last turns of the conversation, oldest first, even if they do not answer (D11)."""
    chance: float | None = None
    """The chance that one of the hits answers; None if the recipe does not judge that."""
    found: bool = True
    """True if there is a hit and, if the recipe judges that, something stored seems to answer."""
    fused: FusedRows = hidden(default_factory=FusedRows)  # noqa: RUF009

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def __len__(self) -> int:
        return len(self.hits)

    def __getitem__(self, index: int) -> Hit:
        return self.hits[index]

    @property
    def candidates(self) -> tuple[TracedCandidate, ...]:
        """All memories that a route found, with rank and score in each route; dropped ones have the stage and the
        reason."""
        ranked = [hit.candidate for hit in self.hits]
        return trace_candidates(self.plan, self.routes, ranked, self.dropped, self.fused)

    @property
    def degraded(self) -> tuple[str, ...]:
        """Routes that failed or were late, and stages that failed; the answer may be incomplete."""
        routes = tuple(run.route for run in self.routes if run.status in ("failed", "late"))
        return routes + tuple(note.stage for note in self.notes if note.status == "failed")

    @property
    def brief(self) -> RecallSummary:
        """The answer without its trace."""
        return RecallSummary(
            id=self.id,
            namespace=self.namespace,
            question=self.query.text,
            found=self.found,
            chance=self.chance,
            hits=tuple(
                HitSummary(hit.rank, hit.score, hit.chance, hit.reason, _brief(hit.memory), _ids(hit.folded))
                for hit in self.hits
            ),
            recent=tuple(map(_brief, self.recent)),
            notes=self.notes,
            degraded=self.degraded,
        )

    def summary(self) -> Json:
        """The answer without its trace, as JSON."""
        return self.brief.to_dict()

    @classmethod
    def shape(cls) -> dict[str, Any]:
        return {**super(Recall, cls).shape(), "candidates": tuple[TracedCandidate, ...]}

    def to_dict(self) -> Json:
        return {**super(Recall, self).to_dict(), "candidates": plain(self.candidates)}

    def _repr_html_(self) -> str:
        """The recall as a notebook shows it."""
        return recall_html(self.query, self.plan, self.found, [hit.candidate for hit in self.hits])

    def explain(self) -> str:
        """The whole trace as text: the question as it was understood, the plan, every route, the arithmetic."""
        return "\n".join(
            (
                *explain_search(self.query, self.plan, self.routes, self.notes),
                *explain_chance(self.chance, self.found),
                "",
                *(hit.explain() for hit in self.hits),
                *explain_rest(self.recent, self.candidates, self.timings),
            )
        )
