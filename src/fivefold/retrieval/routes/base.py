"""The protocol of a route, and what a route may look at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from fivefold.errors import FivefoldError
from fivefold.learning.reranker import LearnedReranker
from fivefold.settings import Settings
from fivefold.stores.interface import Reader, VectorSpace
from fivefold.values.filters import EVERYTHING, Filter
from fivefold.values.query import Query
from fivefold.values.recall_trace import Plan, RouteHit
from fivefold.values.vectors import QuestionReading, Vector, VectorField


@dataclass(frozen=True, slots=True)
class Options:
    """A route without constants of its own."""


class LatePassage(NamedTuple):
    """A passage of a memory with its token vectors, and how many passages the memory has."""

    part: int
    parts: int
    tokens: bytes


@dataclass(frozen=True, slots=True)
class SearchContext:
    """What a route may look at: the question, as a model reads it, and one namespace of the store with its settings."""

    query: Query
    reader: Reader
    settings: Settings
    space: VectorSpace | None
    question: QuestionReading | FivefoldError | None
    k: int = 10
    recall_id: str = ""
    unit: str = "memory"
    plan: Plan | None = None
    learned: LearnedReranker | None = None
    candidates: Sequence[int] = ()
    """The rows that the other routes found, best first, for a route that ranks them again."""
    keep: Filter = EVERYTHING
    """The filter of the recall: what does not pass it is no candidate."""
    late_passages: dict[int, list[LatePassage]] = field(default_factory=dict, compare=False)
    """What late interaction has read so far, by row, so that a recall reads it once."""

    def question_read(self) -> QuestionReading:
        if isinstance(self.question, Exception):
            raise self.question
        assert self.question is not None, "the plan encodes the question before a route that needs it"
        return self.question

    def question_vector(self) -> Vector:
        return self.question_read().vector


class BaseRoute:
    """What most routes have in common; a route of your own overrides what differs."""

    encodes = False
    of_candidates = False
    rescores = False
    options: type[Any] = Options

    def finds_sessions(self, options: Any) -> bool:
        return False

    def vector_fields(self, options: Any) -> tuple[VectorField, ...]:
        return ()

    def skip_reason(self, query: Query, optimize: bool) -> str | None:
        return None

    def unavailable(self, context: SearchContext) -> str | None:
        return None

    def describe_limits(self, query: Query, settings: Settings) -> str:
        return ""

    def normalize(self, scores: Sequence[float]) -> list[float]:
        return list(scores)


class Route(Protocol):
    """Finds memories for a question, best first, scores on its own scale."""

    encodes: bool
    """Whether the route needs the question's vector."""

    of_candidates: bool
    """Whether it finds nothing by itself and scores what another route found (D2)."""

    rescores: bool
    """Whether it runs after the others and scores what they found."""

    options: type[Any]
    """The constants a recipe may set for it."""

    def finds_sessions(self, options: Any) -> bool:
        """Whether it finds session memories rather than turns and notes."""

    def vector_fields(self, options: Any) -> tuple[VectorField, ...]:
        """The fields whose vectors it searches."""

    def skip_reason(self, query: Query, optimize: bool) -> str | None:
        """Why this route does not run: it has nothing to search by or, with `optimize`, would not help (R2)."""

    def unavailable(self, context: SearchContext) -> str | None:
        """Why this route cannot run in this namespace; None where it can."""

    def describe_limits(self, query: Query, settings: Settings) -> str:
        """What limits the search in addition to its depth, in words; empty when nothing does."""

    def search(self, context: SearchContext, depth: int, keep: Filter, options: Any) -> list[RouteHit]:
        """The best memories that pass `keep`, which is the recall's filter and the types that the question implies."""

    def normalize(self, scores: Sequence[float]) -> list[float]:
        """The scores of one list mapped into 0..1, for fusions that weigh by score (R10)."""
