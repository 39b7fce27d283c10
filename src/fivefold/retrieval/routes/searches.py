"""The parts of a question searched one by one, so that none is crowded out by another."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Literal

from fivefold.retrieval.protocols import BaseRoute, CosineRoute, Options, SearchContext
from fivefold.retrieval.routes.late import lucky_gain
from fivefold.retrieval.understand.demands import conversations
from fivefold.settings import Settings
from fivefold.stores.records import Arm, Walk
from fivefold.text.lexemes import lexemes
from fivefold.values.fields import About, Between
from fivefold.values.filters import Filter
from fivefold.values.memory import Kind, Memory
from fivefold.values.query import TURNS, Demand, Query
from fivefold.values.recall_trace import RouteHit
from fivefold.values.times import to_micros
from fivefold.values.vectors import VectorField
from fivefold.writing.extract import BUDGET, DIET

# Nearness in meaning: cosine between the question's vector and the memory's.

COSINE_DEVIATION = 0.095
"""The standard deviation of the cosine over passages that have nothing to do with a question, as measured."""


@dataclass(frozen=True, slots=True)
class DenseOptions:
    """The choice of a memory's text to compare (M1), and whether its session is found instead (M5)."""

    field: Annotated[VectorField, About("The text of a memory that is compared")] = "full"
    of: Annotated[
        Literal["memories", "sessions"],
        About("Finds the memories themselves, or whole sessions by the best of their turns"),
    ] = "memories"


class Dense(CosineRoute):
    """Scores are cosines; below zero means unrelated and counts as nothing."""

    options = DenseOptions

    def finds_sessions(self, options: DenseOptions) -> bool:
        return options.field == "session" or options.of == "sessions"

    def vector_fields(self, options: DenseOptions) -> tuple[VectorField, ...]:
        if options.field in ("user", "assistant", "next_user"):
            return ("full", options.field)
        return ("full", "passage") if options.field == "full" else (options.field,)

    def search(self, context: SearchContext, depth: int, keep: Filter, options: DenseOptions) -> list[RouteHit]:
        if context.space is None:
            return []
        search, vector = context.reader.search.dense, context.question_vector()
        if options.of == "sessions":
            arm = Arm("sessions", depth, 1.0, options.field, sessions=True)
            fused = context.reader.search.rrf(context.space, vector, (), [arm], 1.0, keep)
            return [RouteHit(hit.row, hit.score) for hit in fused]
        hits = search(context.space, options.field, vector, depth, keep)
        if options.field != "full":
            return hits
        return _with_passages(hits, search(context.space, "passage", vector, depth, keep), context, depth)


def _with_passages(
    hits: list[RouteHit], passages: list[RouteHit], context: SearchContext, depth: int
) -> list[RouteHit]:
    """A long text counts as a whole or by its best passage, less what the best of many gains by chance."""
    if not passages or context.space is None:
        return hits
    best = {hit.row: hit for hit in reversed(passages)}
    counts = context.reader.search.passage_vectors(context.space, list(best))
    lowered = [
        replace(
            hit,
            score=hit.score - lucky_gain(len(counts[row]), COSINE_DEVIATION),
            note=f"passage {hit.part + 1} of {len(counts[row])}",
        )
        for row, hit in best.items()
        if row in counts
    ]
    found: dict[int, RouteHit] = {}
    for hit in (*hits, *lowered):
        if hit.row not in found or hit.score > found[hit.row].score:
            found[hit.row] = hit
    return sorted(found.values(), key=lambda hit: (-hit.score, hit.row))[:depth]


# Shared words: BM25 over predicate and content (R4).

MAX_LEXEMES = 256
"""A question longer than this is searched by its first lexemes; more would only slow it."""

_ASKING = "happen happened happening go going went do talk talked discuss discussed say said tell told"
"""Words that ask for anything at all; next to a time they say nothing about the subject."""


@dataclass(frozen=True, slots=True)
class LexicalOptions:
    """The place in which the words are looked for; one in the short predicate weighs four times one in the content
    (R4)."""

    of: Annotated[Literal["turns", "sessions"], About("Searches words in turns and notes, or in whole sessions")] = (
        "turns"
    )
    predicate: Annotated[
        Literal["count", "score"],
        About(
            "A word in the predicate weighs four times one in the content: it counts as four places, or what it "
            "adds to the score is multiplied (R4)"
        ),
    ] = "count"


class Lexical(BaseRoute):
    """Scores are BM25, unbounded; normalized, they are relative to the best of the list."""

    options = LexicalOptions

    def finds_sessions(self, options: LexicalOptions) -> bool:
        return options.of == "sessions"

    def skip_reason(self, query: Query, optimize: bool) -> str | None:
        """A question without words has nothing to look for, and a bare time gains nothing from its own words."""
        if not query.lexemes:
            return "the question has only stop words"
        if query.window is None or not optimize:
            return None
        rest = set(query.lexemes) - set(lexemes(query.window.text)) - set(lexemes(_ASKING))
        return None if rest else f"the question asks for {query.window.text!r} and no subject"

    def search(self, context: SearchContext, depth: int, keep: Filter, options: LexicalOptions) -> list[RouteHit]:
        return context.reader.search.lexical(
            words(context.query),
            depth,
            keep,
            sessions=options.of == "sessions",
            multiplied=options.predicate == "score",
        )

    def normalize(self, scores: Sequence[float]) -> list[float]:
        best = max(scores, default=0.0)
        return [max(0.0, score / best) if best > 0 else 0.0 for score in scores]


def words(query: Query) -> tuple[str, ...]:
    """The lexemes a question is searched by."""
    return query.lexemes[:MAX_LEXEMES]


class QuestionParts(BaseRoute):
    """The best of each part by BM25, the parts in turn: 1 for the first of each, then 1/2, 1/3, …"""

    def skip_reason(self, query: Query, optimize: bool) -> str | None:
        return None if query.parts else "the question has one part"

    def describe_limits(self, query: Query, settings: Settings) -> str:
        return "of each of " + ", ".join(repr(part) for part in query.parts)

    def search(self, context: SearchContext, depth: int, keep: Filter, options: Options) -> list[RouteHit]:
        best: dict[int, RouteHit] = {}
        for part in context.query.parts:
            for place, hit in enumerate(context.reader.search.lexical(lexemes(part), depth, keep), 1):
                if hit.row not in best or 1 / place > best[hit.row].score:
                    best[hit.row] = RouteHit(hit.row, 1 / place, note=f"for {part!r}")
        return sorted(best.values(), key=lambda hit: (-hit.score, hit.row))[:depth]


# The turns of the running conversation, or of the one before it: no search, the turns themselves.

# What happened in the window the question asks about: a range over event times, events only (R8).


# What belongs to the time the question asks about: said in it, or naming it, whatever the type.

WINDOW_FACTOR = 4.0
"""Factor of a hit if the time alone decides: all of them go on, however unlike the words are."""


class InWindow(BaseRoute):
    """Every memory of the window counts by how well it fits; the other routes rank them."""

    def skip_reason(self, query: Query, optimize: bool) -> str | None:
        return None if query.window is not None else "the question names no time"

    def search(self, context: SearchContext, depth: int, keep: Filter, options: Options) -> list[RouteHit]:
        window, demand = context.query.window, context.query.demand("window")
        assert window is not None
        hits = context.reader.search.within(window.start, window.end, depth, keep)
        decides = demand is not None and demand.decides
        return [replace(hit, factor=WINDOW_FACTOR) for hit in hits] if decides else hits


SIDES = frozenset({"user", "assistant"})
_NOTE = re.compile(r"note|memo|dictat|record|entry|jot|wrote|write", re.IGNORECASE)
MIN_PARTIAL_SUBJECT = 3
"""From so many words of a subject on, two in three of them are enough."""
MAX_ABOUT_SUBJECT = 100
"""Memories with the words of a subject among which the latest are looked for."""


class Turns(BaseRoute):
    """The latest turn or note first: 1 for it, then 1/2, 1/3, …; if the question names a subject too, 1 for each.

    If it asks what one side said, the turns of that side come first. The latest about a subject has all its words.
    """

    def skip_reason(self, query: Query, optimize: bool) -> str | None:
        return None if query.demand(*TURNS) is not None else "the question asks for no turns of a conversation"

    def search(self, context: SearchContext, depth: int, keep: Filter, options: Options) -> list[RouteHit]:
        query, demand = context.query, context.query.demand(*TURNS)
        assert demand is not None
        if demand.kind == "last note" and not demand.decides and not _NOTE.search(demand.text):
            return self._about_subject(context, demand, depth, keep)
        if demand.kind == "last note" or demand.speaker not in ("", *SIDES):
            latest = self._latest(context, demand, depth, keep)
        else:
            found = conversations(context.reader, query.now, context.session_id)
            session = found.last if demand.kind == "last time" else found.running or found.last
            turns = context.reader.sessions.turns(session.id) if session else []
            latest = [turn for turn in reversed(turns) if turn.event_at <= query.now and keep.matches(turn)][:depth]
        if not demand.decides:
            return [RouteHit(turn.row, 1.0) for turn in latest]
        if (side := demand.speaker) in SIDES:
            latest.sort(key=lambda turn: _side(turn) != side)
        return [RouteHit(turn.row, 1 / place, factor=WINDOW_FACTOR) for place, turn in enumerate(latest, 1)]

    def _latest(self, context: SearchContext, demand: Demand, depth: int, keep: Filter) -> list[Memory]:
        """The latest notes, or whatever a speaker said last."""
        noted = demand.speaker in ("", *SIDES) or _NOTE.search(demand.text) is not None
        kinds: tuple[Kind, ...] = ("note",) if noted else ("note", "turn")
        speakers = () if demand.speaker in ("", *SIDES) else (demand.speaker,)
        wanted = replace(keep, kinds=keep.kinds or kinds, speakers=keep.speakers or speakers)
        page = context.reader.memories.page(wanted, (to_micros(context.query.now) + 1, 0), depth)
        return [one for one in page if one.kind in kinds and (not speakers or one.speaker in speakers)]

    def _about_subject(self, context: SearchContext, demand: Demand, depth: int, keep: Filter) -> list[RouteHit]:
        query = context.query
        subject = set(lexemes(query.to_read)) - set(lexemes(demand.text))
        hits = context.reader.search.lexical(list(subject), MAX_ABOUT_SUBJECT, keep) if subject else []
        memories = context.reader.memories.fetch([hit.row for hit in hits])
        least = len(subject) if len(subject) < MIN_PARTIAL_SUBJECT else 2 * len(subject) / 3
        about = [
            one
            for one in memories.values()
            if one.event_at <= query.now
            and len(subject.intersection(lexemes(one.content))) >= least
            and (demand.speaker not in SIDES or _side(one) == demand.speaker)
        ]
        latest = sorted(about, key=lambda one: (one.event_at, one.row), reverse=True)[:depth]
        return [RouteHit(one.row, 1 / place) for place, one in enumerate(latest, 1)]


def _side(memory: Memory) -> str:
    return "assistant" if (memory.speaker or "").casefold() == "assistant" else "user"


# Standing instructions and preferences that apply to a request, whatever the words of the request are.

STANDING = "standing"
"""The name of the route in recipes and traces."""

INTO_POOL = 4.0
"""Factor of a hit in fusion: all of them go on, however unlike their words are."""


LIMIT_COSINE = 0.35
"""Cosine that a diet counts for an advice about food, and a budget for any other, if it is not nearer to the
request."""

MAX_LIMITS, LOOKED_THROUGH = 4, 100
"""Maximum number of limits that join the memories near to the request, and of preferences among which they are looked
for."""

_FOOD = re.compile(
    r"\b(?:cook|eat|drink|bak(?:e|ing)|din(?:e|ner)|lunch|breakfast|supper|brunch|meals?|menu|recipes?|dish(?:es)?|desserts?|snacks?"
    r"|restaurants?|caf[eé]s?|food|barbecue|picnic|cakes?|curry|soup|salad|pizza|takeaway|groceries|chocolates?|pralines?)\b",
    re.IGNORECASE,
)


class Rules(CosineRoute):
    """Compares the request with the sentences that state a preference or an instruction, not with whole messages.

    An advice must know what may not be eaten or spent, whatever the words of both are.
    """

    def vector_fields(self, options: Options) -> tuple[VectorField, ...]:
        return ("preferences",)

    def skip_reason(self, query: Query, optimize: bool) -> str | None:
        asked = query.demand("request", "suggestion")
        return None if asked is not None else "the question is not a request"

    def search(self, context: SearchContext, depth: int, keep: Filter, options: Options) -> list[RouteHit]:
        if context.space is None:
            return []
        advises = context.query.demand("suggestion") is not None
        deep = max(depth, LOOKED_THROUGH) if advises else depth
        hits = context.reader.search.dense(context.space, "preferences", context.question_vector(), deep, keep)
        if advises:
            hits = _with_limits(hits, depth, context)
        return [replace(hit, factor=INTO_POOL) for hit in hits]


def _with_limits(hits: Sequence[RouteHit], depth: int, context: SearchContext) -> list[RouteHit]:
    """The nearest, and of all the nearest limits on what the request is about, none below `LIMIT_COSINE`."""
    limit = DIET if _FOOD.search(context.query.to_read) else BUDGET
    memories = context.reader.memories.fetch([hit.row for hit in hits])
    limits = {hit.row for hit in hits if hit.row in memories and limit.occurs(memories[hit.row].content)}
    kept = {hit.row for hit in hits if hit.row in limits and memories[hit.row].is_current(context.query.now)}
    raised = [replace(hit, score=max(hit.score, LIMIT_COSINE)) for hit in hits if hit.row in kept][:MAX_LIMITS]
    chosen = {hit.row for hit in raised}
    near = [hit for hit in hits[:depth] if hit.row not in chosen]
    return sorted([*raised, *near], key=lambda hit: -hit.score)


# Who and what is related to the question's entities: a walk over the entity graph (R6, R7).


@dataclass(frozen=True, slots=True)
class GraphOptions(Options):
    """The worth of a hop, of a kind of relation and of a relation that is past (R6), and of a hit that is hops away
    (R10)."""

    direct: Annotated[float, Between(0, 1), About("Score of a memory that has the entity itself (R6)")] = 1.0
    one_hop: Annotated[float, Between(0, 1), About("Its score one hop away")] = 0.6
    two_hops: Annotated[float, Between(0, 1), About("Its score two hops away")] = 0.35
    three_hops: Annotated[float, Between(0, 1), About("Its score three hops away")] = 0.15
    structural: Annotated[
        float, Between(0, 1), About("Share of the score that a structural relation keeps, such as works at")
    ] = 1.0
    semantic: Annotated[float, Between(0, 1), About("Share of the score that a semantic relation keeps")] = 0.9
    lifecycle: Annotated[float, Between(0, 1), About("Share of the score that a begin or end relation keeps")] = 0.3
    past: Annotated[float, Between(0, 1), About("Share of the score that an ended relation keeps")] = 0.3
    far: Annotated[float, Between(0, 1), About("Factor of the weight from the first hop on (R10)")] = 0.8


class Graph(BaseRoute):
    """Scores are products of hop, confidence, freshness and kind of edge, all in 0..1; the note is the path."""

    options = GraphOptions

    def skip_reason(self, query: Query, optimize: bool) -> str | None:
        return None if query.entities else "the question names no known entity"

    def describe_limits(self, query: Query, settings: Settings) -> str:
        how = _walk(query, settings, GraphOptions())
        return f"within {how.hops} hops, along at most {how.fan_out} edges and {how.per_entity} memories of an entity"

    def search(self, context: SearchContext, depth: int, keep: Filter, options: GraphOptions) -> list[RouteHit]:
        start = roots(context.query, context.settings.sure_entity)
        how = _walk(context.query, context.settings, options)
        return context.reader.graph.walk(start, how, depth, keep)


def _walk(query: Query, settings: Settings, by: GraphOptions) -> Walk:
    """Two hops, or three when the question asks for many (R6); how many is a setting of the namespace."""
    many_hops = any(cue.kind == "many hops" for cue in query.cues)
    return Walk(
        query.now,
        settings.hops_asked if many_hops else settings.hops,
        (by.direct, by.one_hop, by.two_hops, by.three_hops),
        settings.fan_out,
        priors={"structural": by.structural, "semantic": by.semantic, "lifecycle": by.lifecycle},
        expired=by.past,
        far=by.far,
    )


def roots(query: Query, sure: float) -> list[tuple[int, float]]:
    """The starts of the walk: the sure meaning of a name, or every meaning of an unsure one, by its confidence."""
    confidences: dict[int, float] = {}
    for ref in query.entities:
        for meaning in ref.meanings[:1] if ref.confidence >= sure else ref.meanings:
            confidences[meaning.id] = max(confidences.get(meaning.id, 0.0), meaning.confidence)
    return list(confidences.items())
