"""The ranker: the weighted sum of the terms of each candidate, compared with the best of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, make_dataclass
from datetime import timedelta
from functools import cache, cached_property, partial
from math import inf, log
from typing import Annotated, Any, Literal

import numpy as np

from fivefold.retrieval.protocols import Person, Pool, SearchContext, are_short, found_by_routes, is_talk
from fivefold.retrieval.relations import PAST, Replacements, inherited, replacements_among, stand_ins, vectors_of
from fivefold.retrieval.routes.searches import STANDING
from fivefold.retrieval.understand.demands import is_plain
from fivefold.retrieval.understand.entities import mentioned_people, people_meant
from fivefold.values.fields import About, Between
from fivefold.values.memory import Memory
from fivefold.values.query import TURNS, DemandKind, Query
from fivefold.values.recall_trace import Candidate, Evidence, RouteHit, later
from fivefold.values.serialize import Value
from fivefold.values.vectors import Matrix, Vector

# The terms of the ranker: what speaks for a candidate, in four groups. Their weighted sum orders the answer.

Heading = Literal["alike", "in time", "still true", "about whom"]
"""The groups of terms, as a person asks: is it about this, of that time, does it still hold, of whom is it?"""

COSINE_SCALE = 10.0
"""Scale of cosines, which differ by tenths if other terms differ by ones."""

FUSED_SCALE = 8.0
"""Fused scores differ by tenths too."""

STATEMENT_SCALES = 3.4, 9.3
"""Scales of the fused score and the cosine among short statements, which often share no word with the question."""

SOME_BM25 = 6.0
"""BM25 of a memory that shares some words of a question."""

LONG_ANSWER = 600
"""Characters from which on what an assistant says is an answer to the user, not a fact about them."""

NEAR_LATE = 0.12
"""Candidates whose late interaction is at most this much below the best may speak of the same thing."""

KIND_EXAMPLES = 4
"""Number of the best that stand for the kind of thing that is asked for."""

MAX_CHARACTERS = 2_000
"""Characters of a memory that are searched for words, names, times and numbers."""

STANDING_COSINE, STANDING_SCALE = 0.15, 6.0
"""Cosine of a request with an instruction that has nothing to do with it, and what one more unit of it is worth."""

IN_TALK = 0.42
"""Weight of a time besides a subject in talk between people, who tell of things later."""

TURNS_DECIDE = 4.0
"""Additional weight of a turn if the question asks for nothing but turns; its place counts twice then."""

STATE_FACTOR = 2.0
"""Factor of a replacement among statements, which are mostly about states, if the question asks for one."""

WHAT_HAPPENED = 3.0
"""Weight of a time besides a subject if the question asks what happened then, and not for a state or a list."""

FIRST_WEIGHT = 2.0
"""Additional weight of the first mention of somebody if the question asks who that is."""

SAID_AHEAD = 0.5
"""Weight of a memory that was said in the time asked about, if that is still to come."""

_BEYOND_A_TIME: tuple[DemandKind, ...] = ("past", "current", "suggestion", "list", "count")
_ANSWERS = "assistant"
_LIKENESS = ("dense", "lexical", "late")
"""Routes that find by likeness; the others find by time or place."""

_TIME = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|last|next|ago|weeks?|weekend|months?|years?|morning|evening|(?:mon|tues|wednes"
    r"|thurs|fri|satur|sun)day|january|february|march|april|may|june|july|august|september|october|november|december"
    r"|\d{4})\b",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\d|\b(?:two|three|four|five|six|seven|eight|nine|ten|dozen|twice|once)\b", re.IGNORECASE)
_WHEN = re.compile(r"\s*(?:when|(?:what|which) (?:date|day|year|month))\b", re.IGNORECASE)
_HOW_MANY = re.compile(r"\bhow (?:many|much|long|old|often|far)\b", re.IGNORECASE)
_YOURS = re.compile(r"\byour?s?\b", re.IGNORECASE)
_POLITE = re.compile(
    r"\b(?:(?:can|could|would|will|do) you(?: please| kindly)?(?: (?:help|tell|remind|show|give|list|summari[sz]e"
    r"|explain|walk|provide|recommend|suggest|write|describe|share|remember|recall|advise))?|thank you|you think)\b",
    re.IGNORECASE,
)
"""A "you" that only asks for something, and says nothing about who said what is asked for."""
_WHO_IS = re.compile(r"\s*[Ww]ho(?:['’]s| is| was| are| were) (?:[A-Z]\S*\s*){1,4}\W*$")
_NEGATES = re.compile(
    r"\b(?:no|not|never|none|nobody|nothing|neither|nor|cannot|without|avoid\w*|allerg\w*|hates?|dislikes?|stopped|quit"
    r"|gave up|declin\w*|refus\w*|turn(?:ed|s)? down|cancel\w*|off|intoleran\w*|forbid\w*|banned)\b|n['’]t\b",
    re.IGNORECASE,
)
_TASTE = re.compile(
    r"\b(?:love[sd]?|likes?|liked|enjoy\w*|prefer\w*|favou?rite\w*|hates?|dislikes?|can(?:'t|’t|not) stand|allerg\w*"
    r"|vegetarian|vegan|halal|kosher|gluten|lactose|into|obsess\w*|fan of|fond of|intoleran\w*|collects?|wishes"
    r"|always wanted|crazy about|adores?)\b",
    re.IGNORECASE,
)


@cache
def _in_lower_case(pattern: re.Pattern[str]) -> re.Pattern[str]:
    """The pattern for an ASCII text in lower case, several times as fast; it has no capitals itself."""
    return re.compile(pattern.pattern, pattern.flags & ~re.IGNORECASE)


class Table:
    """The candidates of one question with the columns that several terms share, each made when it is first needed."""

    def __init__(self, pool: Pool, context: SearchContext) -> None:
        self.pool: Pool = pool
        self.context: SearchContext = context
        self.candidates: Sequence[Candidate] = pool.candidates
        self.memories: list[Memory] = [candidate.memory for candidate in pool.candidates]
        self.query: Query = context.query

    def zeros(self) -> Vector:
        return np.zeros(len(self.memories), dtype=np.float32)

    def column(self, values: Iterable[float]) -> Vector:
        return np.array(list(values), dtype=np.float32)

    def has(self, pattern: re.Pattern[str]) -> Vector:
        lower = _in_lower_case(pattern)
        texts = (memory.content[:MAX_CHARACTERS] for memory in self.memories)
        return self.column(bool(lower.search(t.lower()) if t.isascii() else pattern.search(t)) for t in texts)

    def route(self, name: str, missing: float | None = None) -> Vector:
        """The score of each candidate in a route; one that is not on its list has `missing`, or the lowest of it."""
        scores = {place: item.score for place, item in self.found[0].get(name, {}).items()}
        floor = missing if missing is not None else min(scores.values(), default=0.0)
        return self.column([scores.get(i, floor) for i in range(len(self.candidates))])

    @cached_property
    def found(self) -> tuple[dict[str, dict[int, RouteHit | Evidence]], list[float]]:
        """By route, its hits by the place of the candidate; and what the routes of likeness add up to."""
        hits: dict[str, dict[int, RouteHit | Evidence]] = {}
        sums = [0.0] * len(self.candidates)
        for place, route, hit, contribution in found_by_routes(self.candidates):
            hits.setdefault(route, {}).setdefault(place, hit)
            if route in _LIKENESS:
                sums[place] += contribution
        return hits, sums

    @cached_property
    def late(self) -> Vector:
        return self.route("late")

    @cached_property
    def dense(self) -> Vector:
        return self.route("dense")

    @cached_property
    def bm25(self) -> Vector:
        return self.route("lexical", missing=0.0)

    @cached_property
    def fused(self) -> Vector:
        """The sum of the routes of likeness."""
        return self.column(self.found[1])

    @cached_property
    def people(self) -> float:
        """1 if most of it is talk between people, 0 if a user talks with an assistant or writes notes."""
        return float(is_talk(self.memories))

    @cached_property
    def statements(self) -> bool:
        """True if most of it is short statements, as notes are, outside of talk between people."""
        return not self.people and are_short(self.memories)

    @cached_property
    def replacements(self) -> Replacements:
        return replacements_among(self.memories, self.context)

    @cached_property
    def likeness(self) -> Vector:
        """The score of each candidate by all searches together, by its distance to the best."""
        best = float(self.bm25.max())
        together = COSINE_SCALE * (self.late + self.dense) / 2 + (self.bm25 / best if best > 0 else self.bm25)
        return np.asarray(together - together.max())

    @cached_property
    def vectors(self) -> Matrix | None:
        """The vector of each candidate; None if nothing is embedded."""
        return vectors_of(self.memories, self.context)

    @cached_property
    def time_decides(self) -> bool:
        """True if the question asks for a time and nothing else."""
        demand = self.query.demand("window")
        return demand is not None and demand.decides

    @cached_property
    def looks_ahead(self) -> bool:
        """True if the time asked about is still to come, or most of it."""
        window, now = self.query.window, self.query.now
        return window is not None and (window.start > now or window.end > now + timedelta(days=1))

    @cached_property
    def near_best(self) -> Vector:
        return np.asarray(self.late >= self.late.max() - NEAR_LATE)


@dataclass(frozen=True, slots=True)
class Term:
    """One thing that speaks for a candidate."""

    name: str
    heading: Heading
    about: str
    value: Callable[[Table], Vector]


def term_table(pool: Pool, context: SearchContext) -> Matrix:
    """One row for each candidate, one column for each of `TERMS`."""
    table = Table(pool, context)
    return np.stack([term.value(table) for term in TERMS], axis=1).astype(np.float32)


# alike


def _alike(table: Table) -> Vector:
    fused, subject = table.fused - table.fused.max(), 0.5 if table.time_decides else 1.0
    if table.statements:
        of_fused, of_cosine = STATEMENT_SCALES
        return np.asarray(subject * (of_fused * fused + of_cosine * (table.dense - table.dense.max())))
    scale = FUSED_SCALE * (1 - 0.5 * table.people)  # in talk, late interaction counts by itself as well
    return np.asarray(subject * scale * fused)


def _words(table: Table) -> Vector:
    best = 0.0 if table.statements else float(table.bm25.max())
    if best <= 0:
        return table.zeros()
    return np.asarray(np.minimum(table.bm25 / SOME_BM25, 1.0) + table.bm25 / best)


def _late_in_talk(table: Table) -> Vector:
    if not table.people:
        return table.zeros()
    return np.asarray(table.people * COSINE_SCALE * (table.late - table.late.max()))


def _beside(table: Table) -> Vector:
    """An answer in talk often stands next to the turn that has the question's words."""
    if not table.people:
        return table.zeros()
    low, high = table.dense.min(), table.dense.max()
    share = (table.dense - low) / (high - low) if high > low else table.zeros()
    place = {(memory.session_id, memory.turn_index): i for i, memory in enumerate(table.memories)}
    beside = table.zeros()
    for i, memory in enumerate(table.memories):
        if memory.turn_index is None:
            continue
        before, after = (place.get((memory.session_id, memory.turn_index + step)) for step in (-1, 1))
        beside[i] = (0.0 if before is None else share[before]) + (0.0 if after is None else 0.3 * share[after])
    return beside


def _session(table: Table) -> Vector:
    """The lead of the best candidate of its session, and in talk between people the session's own score.

    Among long messages one says little about the others, unless a time or a conversation is asked for.
    """
    asked = table.query.demand("window", *TURNS)
    if not table.people and not table.statements and (asked is None or not asked.decides):
        return table.zeros()
    best: dict[str, float] = {}
    for candidate in table.candidates:
        if session := candidate.memory.session_id:
            best[session] = max(best.get(session, 0.0), candidate.score)
    words: Mapping[str, float] = {}
    if table.people and table.pool.supporting:
        rows = table.context.reader.sessions.memory_rows(list(best))
        words = {session: table.pool.supporting.get(row, 0.0) for session, row in rows.items()}
    return table.column(
        2 * (best[session] - candidate.score) + words.get(session, 0.0)
        if (session := candidate.memory.session_id)
        else 0.0
        for candidate in table.candidates
    )


def _statement(table: Table) -> Vector:
    """An open question is not an answer: a later decision or event is."""
    counts = table.people or table.statements
    return -table.column(counts and memory.content.rstrip().endswith("?") for memory in table.memories)


def _length(table: Table) -> Vector:
    if not table.people:
        return table.zeros()
    return table.column(log(len(memory.content) + 1) - 5 for memory in table.memories)


def _detail(table: Table) -> Vector:
    question, found = table.query.to_read, table.zeros()
    if _WHEN.match(question):
        found = found + table.has(_TIME)
    if _HOW_MANY.search(question):
        found = found + table.has(_NUMBER)
    return found * (0.0 if table.statements else 1.0 if table.people else 0.4)


def _kind(table: Table) -> Vector:
    if not table.query.demand("list", "count", "negation") or table.vectors is None:
        return table.zeros()
    best = np.argsort(-table.late, kind="stable")[:KIND_EXAMPLES]
    near = np.sort(table.vectors @ table.vectors[best].T, axis=1)
    return np.asarray(near[:, -2] if near.shape[1] > 1 else near[:, -1])


# in time


def _turns(table: Table) -> Vector:
    """The place of a turn that is asked for; if nothing else is, no likeness makes up for not being one."""
    place, asked = table.route("turns", missing=0.0), table.query.demand(*TURNS)
    return 2 * place + TURNS_DECIDE * (place > 0) if asked is not None and asked.decides else place


def _in_window(table: Table, decides: bool, named: float) -> Vector:
    demand = table.query.demand("window")
    if demand is None or demand.decides is not decides:
        return table.zeros()
    hits = table.found[0].get("window", {})
    notes = [(hits[i].note or "") if i in hits else "" for i in range(len(table.candidates))]
    said = table.column("said" in note for note in notes)
    what_happened = not table.looks_ahead and not table.query.demand(*_BEYOND_A_TIME)
    sure = 1.0 if decides else IN_TALK if table.people else WHAT_HAPPENED if what_happened else 1.0
    names = table.column("names" in note for note in notes) * table.route("window", missing=0.0)
    if decides and table.looks_ahead:
        said = SAID_AHEAD * said
    return np.asarray(np.float32(sure) * (said + named * names))


def _order(table: Table) -> Vector:
    """Earliness, lateness or nearness in time, among those that answer about as well."""
    query, found = table.query, table.zeros()
    if not query.demand("first", "last", "current", "next"):
        return found
    near = table.near_best
    times = np.array([memory.event_at.timestamp() for memory in table.memories])
    order = np.argsort(np.argsort(times[near], kind="stable"), kind="stable")
    place = table.zeros()
    place[near] = order / max(1, len(order) - 1)
    if query.demand("first"):
        found = found + (1 - place) * near
    if query.demand("last"):
        found = found + 0.3 * place * near
    if query.demand("current"):
        found = found + 0.5 * place * near
    return found + 0.7 * _ahead(table) if query.demand("next") else found


def _ahead(table: Table) -> Vector:
    """1 for a memory that names a day from today on, less the further ahead it is; 0 for others."""
    now = table.query.now
    named = table.context.reader.memories.named_times([memory.row for memory in table.memories])
    ahead = table.zeros()
    for i, memory in enumerate(table.memories):
        days = [(begin - now).days for begin, end in named.get(memory.row, ()) if (end - now).days >= -1]
        if days:
            ahead[i] = 1 / (1 + max(0, min(days)) / 14)
    return ahead


# still true


def _holds(table: Table) -> Vector:
    """Lowers replaced memories for the present and raises them for the past."""
    replaced, ended = table.replacements.replaced, table.replacements.ended
    sure = np.float32(STATE_FACTOR if table.statements else 1.0)
    if table.query.demand("current") or (table.time_decides and table.looks_ahead):
        return np.asarray(-sure * (replaced + 0.7 * ended))
    if table.query.demand(*PAST):
        return np.asarray(sure * (0.6 * replaced + 0.3 * ended))
    return -0.3 * replaced - 0.3 * ended


def _successor(table: Table) -> Vector:
    links = stand_ins(table.context, lambda: table.replacements.links)
    return inherited(links, table.likeness) if links else table.zeros()


def _newest(table: Table) -> Vector:
    """For the present, it replaced another; for the past, it replaced nothing."""
    if table.query.demand("current"):
        return 0.2 * table.replacements.replaces
    return -0.8 * table.replacements.replaces if table.query.demand(*PAST) else table.zeros()


def _held_then(table: Table) -> Vector:
    query, window = table.query, table.query.window
    if query.demand("past") is None or window is None:
        return table.zeros()
    ends = table.replacements.ends
    return table.column(
        memory.event_at < window.end and ends.get(memory.row, query.now) > window.start for memory in table.memories
    )


# about whom


def _side(table: Table) -> Vector:
    """The user's own words before an assistant's long answers, or the answers if the question asks for those."""
    assistants = {name for name in {memory.speaker for memory in table.memories} if (name or "").casefold() == _ANSWERS}
    if not assistants:
        return table.zeros()
    long_answer = table.column(
        min(1.0, len(memory.content) / LONG_ANSWER) if memory.speaker in assistants else 0.0
        for memory in table.memories
    )
    return long_answer if _YOURS.search(_POLITE.sub(" ", table.query.to_read)) else -long_answer


def _person(table: Table) -> Vector:
    """1 if it mentions whom the question means, -3 if it mentions a namesake instead; the mean of all who are meant."""
    people = [
        one
        for one in people_meant(table.context)
        if not one.by_name
        or (not table.people and (one.namesakes or len(one.meant) > 1 or _WHO_IS.match(table.query.to_read)))
    ]
    if not people:
        return table.zeros()
    mentioned = mentioned_people(table.context, table.memories)
    found = sum((_mentions(table, one, mentioned) for one in people), table.zeros())
    return np.asarray(found / len(people), dtype=np.float32)


def _mentions(table: Table, one: Person, mentioned: Mapping[str, Set[int]]) -> Vector:
    """Marks the memories that mention somebody, by an entity of it or, if no name is in the question, by the name."""
    shares = table.zeros()
    for i, memory in enumerate(table.memories) if mentioned else ():
        if known := mentioned.get(memory.id):
            shares[i] = one.share(known)
    if _WHO_IS.match(table.query.to_read) and (shares > 0).any():  # people are introduced where they are first named
        times = [
            memory.event_at.timestamp() if share > 0 else inf
            for memory, share in zip(table.memories, shares, strict=True)
        ]
        shares[times.index(min(times))] += FIRST_WEIGHT
    if one.by_name:  # what the user says of the user has no name
        return shares if one.called else np.asarray(np.minimum(shares, 0))
    names = re.compile("|".join(rf"\b{re.escape(name)}" for name in one.names), re.IGNORECASE)
    for i in np.flatnonzero(shares == 0).tolist():
        memory = table.memories[i]
        shares[i] = names.search(f"{memory.speaker or ''} {memory.content[:MAX_CHARACTERS]}") is not None
    return shares


def _applies(table: Table) -> Vector:
    found = np.asarray(STANDING_SCALE * np.maximum(0, table.route(STANDING, missing=0.0) - STANDING_COSINE))
    implied = "preference" in table.query.type_hints and not is_plain(table.query.cues, "preference")
    if table.query.demand("suggestion") or implied:
        taste = table.has(_TASTE)
        found = found + np.maximum(taste, table.column(memory.type == "preference" for memory in table.memories))
    if table.query.demand("negation"):
        found = found + 0.7 * table.has(_NEGATES)
    return found


TERMS: tuple[Term, ...] = (
    Term("alike", "alike", "Fused likeness, plus cosine among short statements, by the distance to the best", _alike),
    Term("words", "alike", "BM25: the rare words of the question in it, unless it is a short statement", _words),
    Term("late_in_talk", "alike", "Late interaction, if people talk with each other", _late_in_talk),
    Term("beside", "alike", "Likeness of the turns next to it, if people talk with each other", _beside),
    Term("session", "alike", "Likeness of the best candidate of its session, unless messages are long", _session),
    Term("statement", "alike", "It is not a question itself, unless messages are long", _statement),
    Term("length", "alike", "Its length, if people talk with each other", _length),
    Term("detail", "alike", "A time or number, if the question asks for one, unless it is a short statement", _detail),
    Term("kind", "alike", "Likeness to the best four, if the question asks for everything of a kind", _kind),
    Term("turns", "in time", "A turn of the conversation in the question: 1 for the latest", _turns),
    Term(
        "window_only",
        "in time",
        "It is of the time in the question, if the time alone decides",
        partial(_in_window, decides=True, named=0.75),
    ),
    Term(
        "window",
        "in time",
        "It is of the time in the question, if the question also names a subject",
        partial(_in_window, decides=False, named=1.0),
    ),
    Term("order", "in time", "Its place in time, if the question asks for the first, last or next", _order),
    Term("holds", "still true", "No newer memory has replaced it; the reverse for the past", _holds),
    Term("successor", "still true", "Likeness of the memory that it replaced, or of its replacement", _successor),
    Term(
        "newest",
        "still true",
        "It replaced another, if the question asks for the present; it did not, for the past",
        _newest,
    ),
    Term("held_then", "still true", "It held at the time in the question, if that asks for the past", _held_then),
    Term("side", "about whom", "It is not a long answer of the assistant, unless the question asks for one", _side),
    Term(
        "person",
        "about whom",
        "It names the person that the question means by a relation, a pronoun or an ambiguous name, and no namesake",
        _person,
    ),
    Term("applies", "about whom", "A taste, a refusal or a standing instruction, if the question needs one", _applies),
)
"""All terms, in the order of the trace."""


ADDITIVE = "additive"

MAX_NAMED = 6
"""Maximum number of parts of a sum that its explanation names: those that set the candidate apart from the others
most."""

MIN_NAMED = 0.01
"""Smaller parts are not named."""

SOFTNESS = 3.0
"""A sum that is less by this much leaves about a third of the score, so that later stages still see the rest."""

AdditiveConstants: type[Any] = make_dataclass(
    "AdditiveConstants",
    [(term.name, Annotated[float, Between(0, 100), About(f"{term.about} ({term.heading})")], 0.0) for term in TERMS],
    bases=(Value,),
    namespace={"__doc__": "A weight for each term.", "__module__": __name__},
    frozen=True,
    slots=True,
)


def additive(pool: Pool, context: SearchContext, by: Any) -> Pool:
    """e^((sum − best sum) / softness): 1 for the best, and less the further its sum is from that."""
    if not pool.candidates:
        return pool
    weights = np.array([getattr(by, term.name) for term in TERMS], dtype=np.float32)
    parts = term_table(pool, context) * weights
    sums = parts.sum(axis=1, dtype=np.float64)
    best, totals = float(sums.max()), sums.tolist()
    scores = np.exp((sums - best) / SOFTNESS).tolist()
    apart = parts - parts.mean(axis=0)
    explained = set(np.argsort(-sums, kind="stable")[: 2 * context.k].tolist())
    return pool.with_candidates(
        [
            candidate.with_step(ADDITIVE, scores[i], later(_why, totals[i], best, apart[i] if i in explained else None))
            for i, candidate in enumerate(pool.candidates)
        ]
    )


def _why(total: float, best: float, apart: Vector | None) -> str:
    why = f"e^(({total:.2f} − {best:.2f}) / {SOFTNESS:g})"
    if apart is None:
        return why
    largest = np.argsort(-np.abs(apart), kind="stable")[:MAX_NAMED].tolist()
    named = [i for i in largest if abs(apart[i]) >= MIN_NAMED]
    parts = ", ".join(f"{TERMS[i].name.replace('_', ' ')} {apart[i]:+.2f}" for i in named)
    return f"{why}; compared with the mean candidate: {parts}"
