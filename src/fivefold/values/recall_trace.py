"""The trace of a recall: the plan, what each route found, and the candidates with their evidence.

Every view (terminal, JSON, page) reads these values; nothing is recomputed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, Literal, TypeVar, get_args

from fivefold.values.html_parts import COLOURS, Part, html_bar, html_lines, html_table
from fivefold.values.memory import Memory, Type
from fivefold.values.serialize import Value, hidden, maker

# Fields of a trace that are worked out when somebody reads them, from what was kept; most are never read.

T = TypeVar("T")
C = TypeVar("C", bound=type)


class _Later(partial[Any]):
    """A call that has not been made yet."""

    __slots__ = ()


class _Field:
    """Stands before the slot of a field, and puts the value there when it is read first."""

    __slots__ = ("_put", "unread")

    def __init__(self, slot: Any) -> None:
        self.unread, self._put = slot.__get__, slot.__set__

    def __get__(self, owner: object, kind: type | None = None) -> Any:
        if owner is None:
            return self
        value = self.unread(owner)
        if type(value) is _Later:
            value = value()
            self._put(owner, value)
        return value

    def __set__(self, owner: object, value: Any) -> None:
        self._put(owner, value)


later: Callable[..., Any] = _Later
"""A function of some values, for a field that `read_later` names; it is called when the field is read."""


def read_later(*names: str) -> Callable[[C], C]:
    """The fields of a dataclass with slots that may be given as `later(…)`. Nobody can see the difference."""

    def decorate(kind: C) -> C:
        for name in names:
            setattr(kind, name, _Field(kind.__dict__[name]))
        return kind

    return decorate


COMPOSITE = "composite score in one statement"
"""A plan's name for the fusion that weighs similarity, recency and frequency (D1)."""

Effort = Literal["low", "normal", "high"]
EFFORTS: tuple[Effort, ...] = get_args(Effort)

SHOWN_TOP = 3
"""Maximum number of hits of each route that the trace names."""


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
class TypeHint(Value):
    """A type of memory that words of the question imply, and whether it counts (R2, R9)."""

    type: Type
    text: str
    """The words of the question."""
    kept: bool
    reason: str

    def describe(self) -> str:
        return f"type {self.type} {'counts' if self.kept else 'is dropped'}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Plan(Value):
    """The steps of a recall, before it runs."""

    recipe: str
    k: int
    routes: tuple[RoutePlan, ...]
    fusion: str
    stages: tuple[str, ...]
    effort: Effort = "normal"
    by_effort: Mapping[str, Any] = field(default_factory=dict)
    """The recipe's values that the effort changed, by paths as `overrides` has them."""
    filter: str = ""
    """The filter as a line of text; empty if all memories may answer."""
    type_hints: tuple[TypeHint, ...] = ()
    """The types that the question's words imply; those not kept narrow nothing."""

    @property
    def is_composite(self) -> bool:
        """True if scores are composites, which are shown in percent (D10)."""
        return self.fusion == COMPOSITE

    def kinds(self) -> dict[str, str]:
        """The kind of search of each route, and of each stage, as it decides their colours."""
        kinds = {name: name for name in self.stages} | {part.route: part.search for part in self.routes}
        return {name: kind if kind in COLOURS else "other" for name, kind in kinds.items()}

    def colours(self) -> dict[str, str]:
        """The colour of each route and stage in every view (D10)."""
        return {name: COLOURS[kind] for name, kind in self.kinds().items()}

    def describe_effort(self) -> str:
        """The effort in words; empty if it is the normal one."""
        return "" if self.effort == "normal" else f", {self.effort} effort"

    def describe(self) -> str:
        then = ", ".join(self.stages) or "nothing"
        return f"recipe {self.recipe}{self.describe_effort()} · k {self.k} · {self.fusion} · then {then}"

    def _repr_html_(self) -> str:
        """The plan as a notebook shows it: each route with a bar of its weight, and why it runs or not."""
        most = max((part.weight for part in self.routes if part.run), default=1.0) or 1.0
        colours = self.colours()
        rows = [
            (
                part.route,
                "yes" if part.run else "no",
                part.depth,
                html_bar([Part(f"weight {part.weight:g}", part.weight / most * part.run, colours[part.route])]),
                f"{part.weight:g}",
                part.reason,
            )
            for part in self.routes
        ]
        hints = [hint.describe() for hint in self.type_hints]
        return html_lines(self.describe(), *hints) + html_table(("route", "runs", "depth", "", "weight", "why"), rows)


@dataclass(frozen=True, slots=True)
class RouteHit(Value):
    """One memory as one route found it; `score` is on the route's own scale, higher is better.

    `factor` multiplies the route's weight for this hit, as a far hop counts less than a direct one (R10).
    `contribution` is the part that the hit adds to the fused score, if the store has fused it. `part` is the number of
    the passage that was found, for a search among the passages of long texts.
    """

    row: int
    score: float
    note: str | None = None
    factor: float = 1.0
    contribution: float | None = None
    part: int = 0


@dataclass(frozen=True, slots=True)
class TopHit(Value):
    """One of the first hits of a route, by its memory's id."""

    id: str
    score: float
    content: str
    note: str | None


@dataclass(frozen=True, slots=True)
class RouteRun(Value):
    """The outcome of one route: its hits, or why it has none."""

    route: str
    status: Literal["hits", "skipped", "failed", "late"]
    reason: str
    found: int
    ms: float
    top: tuple[TopHit, ...] = ()
    hits: tuple[RouteHit, ...] = hidden(default=())


@read_later("arithmetic", "note")
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

    def with_note(self, note: str | None) -> Evidence:
        """The evidence with another note; its arithmetic stays unread."""
        arithmetic = Evidence.__dict__["arithmetic"].unread(self)
        return new_evidence(self.route, self.rank, self.score, self.weight, self.contribution, arithmetic, note)


@dataclass(frozen=True, slots=True)
class RouteShares:
    """The hits of one route, and the part that each adds to the fused score."""

    route: str
    weight: float
    hits: Sequence[RouteHit]
    contributions: Sequence[float]
    arithmetic: Callable[[int], str]


class Findings:
    """The hits of all routes; the evidence of a candidate is written from it when somebody looks at it."""

    def __init__(self, lists: Sequence[RouteShares]) -> None:
        self.lists = lists

    @cached_property
    def _places(self) -> list[dict[int, int]]:
        return [{hit.row: i for i, hit in enumerate(part.hits)} for part in self.lists]

    def evidence(self, row: int) -> tuple[Evidence, ...]:
        """The place of a row in each route that found it, and what that added."""
        written = []
        for part, places in zip(self.lists, self._places, strict=True):
            if row in places:
                once = len(places) == len(part.hits)
                for i in (places[row],) if once else [i for i, hit in enumerate(part.hits) if hit.row == row]:
                    hit, share, how = part.hits[i], part.contributions[i], later(part.arithmetic, i)
                    weight = part.weight * hit.factor
                    written.append(new_evidence(part.route, i + 1, hit.score, weight, share, how, hit.note))
        return tuple(written)


@dataclass(frozen=True, slots=True)
class WordMatch(Value):
    """A word of the question and the nearest word of the memory.

    `start` and `end` are its characters in the memory's content; both are −1 if the word is in the speaker's name,
    the date or the turn before.
    """

    question: str
    memory: str
    similarity: float
    start: int = -1
    end: int = -1


@read_later("words")
@dataclass(frozen=True, slots=True)
class PassageMatch(Value):
    """The passage of a memory that comes nearest to the question, token by token (late interaction).

    `start` and `end` are the passage's characters in the memory's content.
    """

    score: float
    part: int
    parts: int
    start: int
    end: int
    words: tuple[WordMatch, ...] = ()
    tokens: bytes = hidden(default=b"")

    def describe(self) -> str:
        """The matched words, and their places, in one line."""
        words = ", ".join(f"“{word.question}” ~ “{word.memory}” {word.similarity:.2f}" for word in self.words)
        where = f"passage {self.part + 1} of {self.parts}" if self.parts > 1 else ""
        return "; ".join(filter(None, (where, words)))


@read_later("why")
@dataclass(frozen=True, slots=True)
class Step(Value):
    """The change that one later stage made to a candidate's score."""

    stage: str
    before: float
    after: float
    why: str


@dataclass(frozen=True, slots=True)
class Support(Value):
    """The score that its turns add to a session memory (M5, M8)."""

    session_rrf_score: float
    turn_support: float
    supporting_turn_count: int
    best_turn_routes: Mapping[str, int]


@read_later("evidence")
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
    passage: PassageMatch | None = None
    chance: float | None = None
    """The chance that it answers the question, if the recipe judges that."""
    folded: tuple[Memory, ...] = ()
    """Memories that say the same, for which it stands."""

    @property
    def score(self) -> float:
        return self.steps[-1].after if self.steps else self.fused

    def with_step(self, stage: str, after: float, why: str) -> Candidate:
        steps = (*self.steps, new_step(stage, self.score, after, why))
        kept = (self.support, self.neighbours, self.passage, self.chance, self.folded)
        return new_candidate(self.memory, _unread_evidence(self), self.fused, steps, *kept)
        # not by `replace`, which takes ten times as long: every stage calls it for every candidate

    def with_chance(self, chance: float) -> Candidate:
        kept = (self.support, self.neighbours, self.passage)
        return new_candidate(self.memory, _unread_evidence(self), self.fused, self.steps, *kept, chance, self.folded)

    def unwritten(self) -> tuple[Findings, int] | None:
        """The findings that its evidence will be written from, and its row; None if that was done."""
        evidence = _unread_evidence(self)
        return evidence.args if type(evidence) is _Later else None


_unread_evidence: Callable[[Candidate], Any] = Candidate.__dict__["evidence"].unread
new_hit: Callable[..., RouteHit] = maker(RouteHit)
new_evidence: Callable[..., Evidence] = maker(Evidence)
new_step: Callable[..., Step] = maker(Step)
new_candidate: Callable[..., Candidate] = maker(Candidate)
"""For what a recall makes by the hundred."""


@dataclass(frozen=True, slots=True)
class Dropped(Value):
    """A candidate that did not make it, and why."""

    id: str
    score: float
    stage: str
    reason: str


new_dropped: Callable[..., Dropped] = maker(Dropped)


@dataclass(frozen=True, slots=True)
class RoutePlace(Value):
    """A memory's place in the list of one route; `score` is on the route's own scale."""

    route: str
    rank: int
    score: float


@dataclass(frozen=True, slots=True)
class TracedCandidate(Value):
    """A candidate from its first list to its end: its place in each route, and the stage that dropped it.

    `rank` is its rank in the answer, None if it was dropped; `stage` and `reason` name the stage that dropped it and
    why. `places` is empty for a memory that no route found and a stage added, as the successor of one that was found.
    """

    id: str
    rank: int | None
    score: float
    stage: str
    reason: str
    places: tuple[RoutePlace, ...]

    def describe_places(self) -> str:
        """Its rank and score in each route, in a line."""
        return ", ".join(f"{place.route} #{place.rank} {place.score:.4g}" for place in self.places)


@dataclass(frozen=True, slots=True)
class FusedRows:
    """All that the routes brought, by row: the fused score, and the id; how many of them went on to the stages."""

    scores: Mapping[int, float] = field(default_factory=dict)
    ids: Mapping[int, str] = field(default_factory=dict)
    pool: int = 0


@dataclass(frozen=True, slots=True)
class StageNote(Value):
    """The outcome of a stage that may fail or rest: its model judged or was late, or it changed nothing (idle)."""

    stage: str
    status: Literal["done", "failed", "idle"]
    why: str
    model: str = ""


@dataclass(frozen=True, slots=True)
class Timing(Value):
    """The time that one stage took."""

    stage: str
    ms: float
