"""The protocol of a stage: after fusion it raises, lowers, orders or drops candidates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from operator import attrgetter, is_
from typing import Any, Literal, NamedTuple, Protocol

from fivefold.errors import FivefoldError
from fivefold.learning.reranker import LearnedReranker
from fivefold.settings import Settings
from fivefold.stores.interface import Reader
from fivefold.stores.records import VectorSpace
from fivefold.values.filters import EVERYTHING, Filter
from fivefold.values.memory import ROLES, Memory
from fivefold.values.query import Query
from fivefold.values.recall_trace import Candidate, Dropped, Effort, Evidence, Findings, Plan, RouteHit, StageNote
from fivefold.values.serialize import Value
from fivefold.values.vectors import QuestionReading, Vector, VectorField

# The protocol of a route, and what a route may look at.


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
    """The input of a route: the question as a model reads it, and a namespace with its settings."""

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
    """The filter of the recall: memories that do not pass it are not candidates."""
    session_id: str | None = None
    """The conversation in which the question is asked, if the caller names one."""
    late_passages: dict[int, list[LatePassage]] = field(default_factory=dict, compare=False)
    """Passages that late interaction has read so far, by row, so that a recall reads them once."""

    people: list[Sequence[Person]] = field(default_factory=list, compare=False)
    """The people whom the question means, once they were looked up."""

    def question_read(self) -> QuestionReading:
        if isinstance(self.question, Exception):
            raise self.question
        assert self.question is not None, "the plan encodes the question before a route that needs it"
        return self.question

    def question_vector(self) -> Vector:
        return self.question_read().vector

    def among_alive(self) -> SearchContext:
        """Narrows the search to the memories that have not expired at the time of the question."""
        now = self.query.now
        return replace(self, keep=replace(self.keep, alive_at=max(now, self.keep.alive_at or now)))


NAMESAKE_WEIGHT = 3.0
"""Additional weight of the person meant over a namesake."""


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody whom a question means: entities with the share of each, and others of that name."""

    meant: Mapping[int, float]
    namesakes: frozenset[int]
    names: tuple[str, ...]
    called: str
    """The question's words for this person; empty if the user is meant."""
    by_name: bool
    """False if a relation or a pronoun means this person."""

    def share(self, known: Set[int]) -> float:
        """The share of this person among the entities of a memory; below 0 if it only mentions others of that name."""
        share = max((self.meant[key] for key in known if key in self.meant), default=0.0)
        return share or -NAMESAKE_WEIGHT * (not self.namesakes.isdisjoint(known))


class BaseRoute:
    """The defaults of most routes; your own route overrides those that differ."""

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


class CosineRoute(BaseRoute):
    """A route that compares the question's vectors; below zero means unrelated and counts as nothing."""

    encodes = True

    def normalize(self, scores: Sequence[float]) -> list[float]:
        return [min(1.0, max(0.0, score)) for score in scores]


class Route(Protocol):
    """Finds memories for a question, best first, scores on its own scale."""

    encodes: bool
    """True if the route needs the question's vector."""

    of_candidates: bool
    """True if it finds nothing by itself and scores the candidates of another route (D2)."""

    rescores: bool
    """True if it runs after the others and scores their candidates."""

    options: type[Any]
    """The constants a recipe may set for it."""

    def finds_sessions(self, options: Any) -> bool:
        """True if it finds session memories rather than turns and notes."""

    def vector_fields(self, options: Any) -> tuple[VectorField, ...]:
        """The fields whose vectors it searches."""

    def skip_reason(self, query: Query, optimize: bool) -> str | None:
        """The reason why this route does not run: it cannot search or, with `optimize`, would not help (R2)."""

    def unavailable(self, context: SearchContext) -> str | None:
        """The reason why this route cannot run in this namespace; None if it can."""

    def describe_limits(self, query: Query, settings: Settings) -> str:
        """The limits of the search in addition to its depth, in words; empty if there are none."""

    def search(self, context: SearchContext, depth: int, keep: Filter, options: Any) -> list[RouteHit]:
        """The best memories that pass `keep`: the recall's filter and the types that the question implies."""

    def normalize(self, scores: Sequence[float]) -> list[float]:
        """The scores of one list mapped into 0..1, for fusions that weigh by score (R10)."""


MAX_TOLD = 0.03
"""The largest share of words of a user or an assistant among the talk of people."""

SHORT_STATEMENT = 300
"""Characters of a statement; longer texts are messages that say several things."""


@dataclass(frozen=True, slots=True)
class Pool:
    """The current candidates, best first if a stage has ordered them, and the dropped ones."""

    candidates: list[Candidate]
    dropped: tuple[Dropped, ...] = ()
    supporting: Mapping[int, float] = field(default_factory=dict)
    """The support that memories that are not candidates add to others, by row."""
    answers: Mapping[int, float] = field(default_factory=dict)
    """The log-odds that a memory answers, by row, for those that a model has read."""
    judge: str = ""
    """The cross-encoder that read the best, as a recipe names it; empty if none did."""
    notes: tuple[StageNote, ...] = ()
    chance: float | None = None
    """The chance that one of the candidates answers, if a stage has judged it."""
    found: bool | None = None
    idle: tuple[StageNote, ...] = ()
    """Stages that changed nothing, with the reason."""

    def with_note(self, note: StageNote) -> Pool:
        return replace(self, notes=(*self.notes, note))

    def with_idle(self, stage: str, why: str) -> Pool:
        """The pool, with the reason why a stage left it as it was."""
        return replace(self, idle=(*self.idle, StageNote(stage, "idle", why)))

    def is_same(self, other: Pool) -> bool:
        """True if a stage made this pool of the other and changed nothing: no candidate, no note."""
        mine, theirs = self.candidates, other.candidates
        if len(mine) != len(theirs) or self.notes is not other.notes:
            return False
        return all(map(is_, mine, theirs))

    def with_candidates(self, candidates: Iterable[Candidate]) -> Pool:
        return replace(self, candidates=list(candidates))

    def without(self, left: Iterable[tuple[Candidate, str]], stage: str) -> Pool:
        """The pool less these candidates, each with the reason."""
        drops = {
            candidate.memory.id: Dropped(candidate.memory.id, candidate.score, stage, why) for candidate, why in left
        }
        remaining = [candidate for candidate in self.candidates if candidate.memory.id not in drops]
        return replace(self, candidates=remaining, dropped=(*self.dropped, *drops.values()))


@dataclass(frozen=True, slots=True)
class NoConstants(Value):
    """A stage with nothing to set."""


@dataclass(frozen=True, slots=True)
class Stage:
    """One function, the constants it takes, and its place in the order."""

    run: Callable[[Pool, SearchContext, Any], Pool]
    constants: type[Any]
    group: Literal["boosts", "rerank", "select"]
    effort: Effort = "low"
    """The lowest effort at which it runs, if a recipe does not say."""
    does: Callable[[Any], str] | None = None
    """Describes its work with these constants, if the first line of its docstring does not do so for all."""
    rests: str = "it changed nothing"
    """Why it may leave every candidate as it is."""


def is_talk(memories: Sequence[Memory]) -> bool:
    """True if people talk with each other: messages of a household or a team to its assistant are not such talk."""
    speakers = Counter(memory.speaker for memory in memories)
    told = sum(count for name, count in speakers.items() if (name or "user").casefold() in ROLES)
    return bool(memories) and told <= MAX_TOLD * len(memories)


def are_short(memories: Sequence[Memory]) -> bool:
    """True if they are single statements on average rather than messages that say several things."""
    return sum([len(memory.content) for memory in memories]) <= SHORT_STATEMENT * len(memories)


def best_first(candidates: Iterable[Candidate]) -> list[Candidate]:
    """By score, ties by id, so that the same question on the same store gives the same answer."""
    return sorted(sorted(candidates, key=attrgetter("memory.id")), key=attrgetter("score"), reverse=True)


def scores_of(candidates: Sequence[Candidate], route: str) -> list[float | None]:
    """The score that a route gave to each candidate; None for those that it did not find."""
    found: list[float | None] = [None] * len(candidates)
    for place, name, item, _ in found_by_routes(candidates, route):
        if name == route and found[place] is None:
            found[place] = item.score
    return found


def found_by_routes(
    candidates: Sequence[Candidate], only: str = ""
) -> Iterator[tuple[int, str, RouteHit | Evidence, float]]:
    """The hits of the routes, or of only one of them, among the candidates: place, route, hit, and its part of the
    score.

    Evidence that nobody has looked at stays unwritten.
    """
    unwritten: dict[Findings, dict[int, int]] = {}
    for place, candidate in enumerate(candidates):
        source = candidate.unwritten()
        if source is None:
            for item in candidate.evidence:
                yield place, item.route, item, item.contribution
        else:
            unwritten.setdefault(source[0], {})[source[1]] = place
    for findings, places in unwritten.items():
        for part in findings.lists:
            if not only or part.route == only:
                for hit, contribution in zip(part.hits, part.contributions, strict=True):
                    if hit.row in places:
                        yield places[hit.row], part.route, hit, contribution
