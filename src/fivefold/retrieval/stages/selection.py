"""Selects the candidates and the answers: support, places of their own, chances, lists, trust, the best k."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from math import exp, log
from typing import Annotated

import numpy as np

from fivefold.retrieval.protocols import NoConstants, Pool, SearchContext, are_short, best_first, is_talk, scores_of
from fivefold.retrieval.recipe import Unit
from fivefold.retrieval.relations import lower_score
from fivefold.retrieval.routes.late import word_nearness
from fivefold.retrieval.routes.searches import STANDING
from fivefold.text.lexemes import lexemes, text_cache
from fivefold.values.fields import About, Between
from fivefold.values.filters import Filter
from fivefold.values.memory import ORIGINS, Memory
from fivefold.values.query import TURNS
from fivefold.values.recall import Hit
from fivefold.values.recall_trace import Candidate, Dropped, StageNote, new_dropped
from fivefold.values.serialize import Value
from fivefold.values.vectors import Matrix, Vector

# The end of a recall: what was not yet known is left out, the best k are the answer, the rest is listed.


def admit(pool: Pool, context: SearchContext, admitted: Collection[int] = ()) -> Pool:
    """Leaves out what was not yet known at the time asked about, has expired or does not pass the filter.

    Rows in `admitted` have been looked at before; memories next to a candidate are looked at as well.
    """
    keep, now = context.keep or None, context.query.now
    new = [candidate for candidate in pool.candidates if candidate.memory.row not in admitted]
    unknown = [(one, f"not yet known on {now:%d %b %Y}") for one in new if not one.memory.known_at(now)]
    pool = pool.without(unknown, "select") if unknown else pool
    unmatched = [(one, why) for one in new if (why := _mismatch(one.memory, keep, now))]
    pool = pool.without(unmatched, "filter") if unmatched else pool
    if not any(candidate.neighbours for candidate in pool.candidates):
        return pool
    return pool.with_candidates(
        replace(one, neighbours=tuple(beside for beside in one.neighbours if not _mismatch(beside, keep, now)))
        if one.neighbours
        else one
        for one in pool.candidates
    )


def _mismatch(memory: Memory, keep: Filter | None, now: datetime) -> str:
    if memory.expires_at is not None and not memory.is_alive(now):
        return f"expired on {memory.expires_at:%d %b %Y}"
    return "does not pass the filter" if keep is not None and not keep.matches(memory) else ""


def drop_unlikely(pool: Pool, least: float | None) -> Pool:
    """Candidates whose chance is below `least` are left out, and those that are too far down to have one."""
    if least is None:
        return pool
    unlikely = [
        (one, "too low a rank for a chance" if one.chance is None else f"chance {one.chance:.3f}, below {least:g}")
        for one in pool.candidates
        if one.chance is None or one.chance < least
    ]
    return pool.without(unlikely, "min_chance")


def select(pool: Pool, k: int, unit: Unit, composite: bool = False) -> tuple[list[Hit], list[Dropped]]:
    """The k best by score; by session, the best of each stands for it."""
    if unit == "turn":
        sessions = [
            (candidate, "a session; the recipe returns turns only")
            for candidate in pool.candidates
            if candidate.memory.kind == "session"
        ]
        pool = pool.without(sessions, "select")
    ranked = best_first(pool.candidates)
    if unit == "session":
        pool = pool.without(_beyond_first(ranked), "select")
        ranked = best_first(pool.candidates)
    hits = [Hit(rank, candidate, composite) for rank, candidate in enumerate(ranked[:k], 1)]
    beyond = [
        new_dropped(
            candidate.memory.id, candidate.score, "select", f"rank {rank} of {len(ranked)}, beyond the {k} asked for"
        )
        for rank, candidate in enumerate(ranked[k:], k + 1)
    ]
    return hits, [*pool.dropped, *beyond]


def _beyond_first(ranked: list[Candidate]) -> list[tuple[Candidate, str]]:
    """All but the best of each session."""
    seen: dict[str, str] = {}
    further = []
    for candidate in ranked:
        session = candidate.memory.session_id
        if session is None:
            continue
        if session in seen:
            further.append((candidate, f"its session is answered for by {seen[session]}"))
        else:
            seen[session] = candidate.memory.id
    return further


def trust(pool: Pool, context: SearchContext) -> Pool:
    """The stage that every recipe ends its reranking with: the trust in the origin of a memory lowers its score.

    The settings say how far what the user, the assistant, a tool or an import wrote is trusted. The memory of a session
    is trusted as the least of its turns.
    """
    trust_in = context.settings.trust
    if all(trust_in(origin) == 1 for origin in ORIGINS):
        return pool
    memories = [one.memory for one in pool.candidates]
    sessions = [memory.session_id for memory in memories if memory.kind == "session" and memory.session_id]
    origins_of = context.reader.sessions.origins(sessions) if sessions else {}

    def lowered(one: Candidate) -> Candidate:
        own = one.memory.session_id if one.memory.kind == "session" else None
        origin = min(origins_of.get(own or "", [one.memory.origin]), key=trust_in)
        trusted = trust_in(origin)
        if trusted == 1:
            return one
        return one.with_step("trust", lower_score(one.score, trusted), f"× {trusted:g}, origin {origin}")

    return pool.with_candidates(map(lowered, pool.candidates))


@dataclass(frozen=True, slots=True)
class StandingPlaces(Value):
    """The number of instructions that have a place of their own, and their minimum nearness to the request."""

    places: Annotated[int, Between(0, 100), About("Minimum number of instructions among the hits")] = 3
    cosine: Annotated[float, Between(-1, 1), About("Minimum cosine of an instruction that applies")] = 0.2


def standing(pool: Pool, context: SearchContext, by: StandingPlaces) -> Pool:
    """The nearest instructions that would be left out get the score of the last hit."""
    scores = scores_of(pool.candidates, STANDING)
    found = [
        (score, one)
        for score, one in zip(scores, pool.candidates, strict=True)
        if score is not None and score >= by.cosine
    ]
    if not found or len(pool.candidates) <= context.k:
        return pool
    nearest = sorted(found, key=lambda pair: (-pair[0], pair[1].memory.id))[: by.places]
    last = best_first(pool.candidates)[max(0, context.k - by.places - 1)].score
    behind = {one.memory.id for _, one in nearest if one.score < last}
    if not behind:
        return pool
    return pool.with_candidates(
        one.with_step(STANDING, last, "a standing instruction that applies") if one.memory.id in behind else one
        for one in pool.candidates
    )


# A chance for each hit that it answers, and one for the recall that anything stored does.

HIT_TERMS = ("one", "answers", "unread", "unjudged", "dense", "margin", "lead", "decided", "listed", "messages")
"""Terms of the chance of a hit; `one` is 1 for every hit.

- `answers`: the log-odds that the reader gives; `unread`: 1 if it has read others and not the hit
- `unjudged`: 1 if it has read nothing, though it could
- `dense`: the cosine; `margin`: how far its sum is below the best; `lead`: of the best, how far it is ahead
- `decided`: 1 if it meets a time that alone decides, −1 if it does not
- `listed`: 1 if everything of a kind is asked for, so that many may answer
- `messages`: 1 for long messages and talk between people, of which the reader knows little; then it is not asked
"""

WORD_TERMS, NO_WORDS = ("least", "shared", "named"), (0.0, 0.0, 0.0)
"""Terms that say how the best memory meets the words of the question that say something; all are 0 if that is not
known.

- `least`: the similarity of the word that is met least, from −0.5 to 0.5
- `shared`: the share of those that it has, less 0.5; odds that are owed to shared words say less
- `named`: 1 if the question asks who somebody is, and it names them
"""

MET, UNMET = 0.85, 0.4
"""The similarities of words from which on a word is met, and up to which it is not met at all."""

SURE_NAME = 0.8
"""Minimum `least` from which a question's name means the memory's."""

_WHO_IS = re.compile(
    r"\W*(?:who(?:['’]?s| is| was| are| were)|wer (?:ist|sind)|qui est|quién es|chi è|quem é|wie is)\b", re.IGNORECASE
)

RECALL_TERMS = (
    "one",
    "best",
    "three",
    "unjudged",
    "messages",
    "few",
    "few_unjudged",
    "listed",
    "likeness",
    *WORD_TERMS,
)
"""Terms of the chance of a recall: the log-odds of its likeliest hit, the mean of the reader's best three, the highest
cosine.

`few` and `few_unjudged`, if nothing was read, are near to 1 if there are hardly any candidates: small stores answer
less of what one asks. In a store of a few memories each term weighs differently.
"""

FEW_CANDIDATES, NEW_STORE = 40, 12
"""With fewer candidates there are few, and a store is new."""


@dataclass(frozen=True, slots=True)
class ChanceConstants(Value):
    """The weights of the logistic model, and from which chance on something counts as found."""

    weights: Annotated[Mapping[str, float], Between(-100, 100), About("The weight of each term of a hit")] = field(
        default_factory=dict
    )
    recall: Annotated[Mapping[str, float], Between(-100, 100), About("The weight of each term of the whole recall")] = (
        field(default_factory=dict)
    )
    new: Annotated[Mapping[str, float], Between(-100, 100), About("What each weighs more in a new store")] = field(
        default_factory=dict
    )
    found: Annotated[float, Between(0, 1), About("Minimum chance of a recall that counts as found")] = 0.5


def chance(pool: Pool, context: SearchContext, by: ChanceConstants) -> Pool:
    """The candidates with their chances; the note has the chance of the recall."""
    ranked = best_first(pool.candidates)
    if not ranked:
        return replace(pool, chance=0.0, found=False)
    table = chance_table(ranked, context, pool.answers)
    odds = table @ np.array([by.weights.get(name, 0.0) for name in HIT_TERMS])
    weights = np.array([each.get(name, 0.0) for each in (by.recall, by.new) for name in RECALL_TERMS])
    whole = probability(float(recall_terms(table, odds, word_terms(ranked[0], table, context)) @ weights))
    note = f"{whole:.0%} that one of them answers, and from {by.found:.0%} on it counts as found"
    each = _falling([probability(value) for value in odds.tolist()], whole)
    chances = [one.with_chance(value) for one, value in zip(ranked, each, strict=True)]
    found = replace(pool.with_candidates(chances), chance=whole, found=whole >= by.found)
    return found.with_note(StageNote("chance", "done", note))


def _falling(each: Sequence[float], whole: float) -> list[float]:
    """Chances that never rise from one place to the next, by averaging those that do; none is above the recall's.

    If a recall has one candidate, its chance is the recall's.
    """
    if len(each) == 1:
        return [whole]
    runs: list[tuple[float, int]] = []
    for value in each:
        mean, size = value, 1
        while runs and runs[-1][0] < mean:
            before, count = runs.pop()
            mean, size = (before * count + mean * size) / (count + size), count + size
        runs.append((mean, size))
    return [min(whole, mean) for mean, size in runs for _ in range(size)]


def probability(odds: float) -> float:
    return 1 / (1 + exp(-max(-30.0, min(30.0, odds))))


def word_terms(best: Candidate, table: Matrix, context: SearchContext) -> tuple[float, float, float]:
    """A value for each of `WORD_TERMS`. A time that alone decides needs no words, and long messages have many."""
    if table[0, HIT_TERMS.index("messages")] or table[0, HIT_TERMS.index("decided")]:
        return NO_WORDS
    words, memory = word_nearness(context, best.memory.row), best.memory
    if not words:
        return NO_WORDS
    least = min(1.0, max(0.0, (min(near for _, near in words) - UNMET) / (MET - UNMET)))
    own = words_of(memory.content) | words_of(memory.speaker or "")
    shared = sum(not own.isdisjoint(lexemes(word)) for word, _ in words) / len(words)
    named = least >= SURE_NAME and _WHO_IS.match(context.query.to_read) is not None
    return least - 0.5, shared - 0.5, float(named)


def recall_terms(table: Matrix, odds: Vector, words: Sequence[float] = NO_WORDS) -> Vector:
    """A value for each of `RECALL_TERMS`, from the terms of the hits, their log-odds and those of the words; then each
    again as far as the store is new."""
    column = dict(zip(HIT_TERMS, table.T, strict=True))
    unjudged, messages = column["unjudged"], column["messages"]
    read = np.sort(column["answers"][column["unread"] + unjudged + messages == 0])[::-1]
    three = read[:3].mean() if read.size else 0.0
    few, new = (max(0.0, 1 - len(table) / count) for count in (FEW_CANDIDATES, NEW_STORE))
    fewness = few * (1 - unjudged[0]), few * unjudged[0]
    hits = odds.max(), three, unjudged[0], messages[0]
    terms = np.array([1.0, *hits, *fewness, column["listed"][0], column["dense"].max(), *words])
    return np.concatenate([terms, terms * new])


def chance_table(
    candidates: Sequence[Candidate], context: SearchContext, answers: Mapping[int, float] | None = None
) -> Matrix:
    """A row for each candidate, best first, a column for each of `HIT_TERMS`; `answers` is what the reader says."""
    memories = [one.memory for one in candidates]
    messages = is_talk(memories) or not are_short(memories)
    read = {} if messages else answers or {}
    found = scores_of(candidates, "dense")
    floor = min((score for score in found if score is not None), default=0.0)
    sums = np.array([3 * log(max(one.score, 1e-9)) for one in candidates])
    demand = context.query.demand("window", *TURNS)
    decides = demand is not None and demand.decides
    timed = [scores_of(candidates, route) for route in ("window", "turns")] if decides else []
    meets = [any(scores[i] is not None for scores in timed) for i in range(len(candidates))]
    best, second = (sums.max(), np.sort(sums)[-2]) if len(sums) > 1 else (sums[0], sums[0])
    columns = {
        "one": np.ones(len(candidates)),
        "answers": np.array([read.get(one.memory.row, 0.0) for one in candidates]),
        "unread": np.array([float(bool(read) and one.memory.row not in read) for one in candidates]),
        "unjudged": np.full(len(candidates), float(not read and not messages)),
        "dense": np.array([floor if score is None else score for score in found]),
        "margin": sums - best,
        "lead": (best - second) * (sums == best),
        "decided": np.array([(1.0 if met else -1.0) if decides else 0.0 for met in meets]),
        "listed": np.full(len(candidates), float(context.query.demand("list", "count") is not None)),
        "messages": np.full(len(candidates), float(messages)),
    }
    return np.stack([columns[name] for name in HIT_TERMS], axis=1)


# Where everything of a kind is asked for, turns that add nothing to the list make room for others (N3).

# The lexemes of a memory's text; the best memories come up again and again.

CACHE_TEXTS = 2_048
"""Short texts whose lexemes are kept, of all recalls."""


@text_cache(CACHE_TEXTS)
def words_of(text: str) -> frozenset[str]:
    """Each lexeme of the text once."""
    return frozenset(lexemes(text))


ASKING = frozenset({"ask", "question"})
"""Lexemes of a question that wants questions."""

_QUESTIONS = re.compile(
    r"(?:\s*(?:(?:and|but|so|then|well|oh|or)\b,?\s*)?(?:how|what|which|who|whom|whose|where|when|why|any|anything|do"
    r"|does|did|is|are|was|were|am|can|could|will|would|shall|should|have|has|had|may|might|isn|aren|don|didn|doesn)\b"
    r"[^?.!]*\?+)+\s*",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Coverage(Value):
    """The test for a turn that adds nothing to a list, and the share of its score that it keeps."""

    each: Annotated[int, Between(1, 100), About("Number of statements of a session that always count")] = 2
    new: Annotated[
        float,
        Between(0, 1),
        About("The minimum share of new words in a further statement, beyond the question and its session"),
    ] = 0.5
    factor: Annotated[float, Between(0, 1), About("Share of the score that a statement without new words keeps")] = 0.01


def coverage(pool: Pool, context: SearchContext, by: Coverage) -> Pool:
    """A list wants many things rather than many variants of one: a turn that adds nothing steps back.

    It adds nothing if it only asks, or if all its words are in the question or in better turns of its session.
    Long messages say several things each, so there the order stays.
    """
    if context.unit == "session" or context.query.demand("list", "count") is None:
        return pool
    if not are_short([candidate.memory for candidate in pool.candidates]):
        return pool
    empty = {candidate.memory.id: why for candidate, why in _without_news(pool, context, by)}
    if not empty:
        return pool
    return pool.with_candidates(
        one.with_step("coverage", one.score * by.factor, f"× {by.factor:g}, {empty[one.memory.id]}")
        if one.memory.id in empty
        else one
        for one in pool.candidates
    )


def _without_news(pool: Pool, context: SearchContext, by: Coverage) -> Iterator[tuple[Candidate, str]]:
    """The turns that add nothing, each with the reason."""
    asked = set(context.query.lexemes)
    said: dict[str, set[str]] = {}
    counts: dict[str, int] = {}
    for candidate in best_first(pool.candidates):
        memory = candidate.memory
        if memory.session_id is None or memory.kind == "session":
            continue
        words, known = words_of(memory.content), said.setdefault(memory.session_id, set(asked))
        new = len(words - known) / max(1, len(words))
        known |= words
        if only_asks(memory.content) and not ASKING & asked:
            yield candidate, "it only asks"
        elif counts.setdefault(memory.session_id, 0) < by.each:
            counts[memory.session_id] += 1
        elif new <= by.new:
            yield candidate, f"the question and its session already have {1 - new:.0%} of its words"


def only_asks(text: str) -> bool:
    """True if all sentences of a text are plain questions; "I bought a tent, is it dry?" states something too."""
    return _QUESTIONS.fullmatch(text) is not None


@dataclass(frozen=True, slots=True)
class SupportConstants(Value):
    """Shares of what is added: of the better neighbour, of the session's own score, of the session's best turn."""

    neighbour: Annotated[float, Between(0, 10), About("Share of the better turn next to it")] = 0.3
    session: Annotated[float, Between(0, 10), About("Share of its session's own score")] = 1.0
    best_turn: Annotated[float, Between(0, 10), About("Share of its session's best turn")] = 0.2
    alone: Annotated[
        float, Between(0, 10), About("Share of its own score that a memory outside any session gets instead")
    ] = 0.7
    reach: Annotated[
        int, Between(0, 4_096), About("Number of the best candidates that support the turns next to them")
    ] = 32


def support(pool: Pool, context: SearchContext, by: SupportConstants) -> Pool:
    """A turn next to a strong candidate becomes one; sessions that answer well speak for their turns.

    An answer is often the turn next to the one that shares the question's words, and rarely in a session that is about
    something else. A memory that stands alone gains too, or a passing remark would beat every note.
    """
    candidates = {candidate.memory.row: candidate for candidate in pool.candidates}
    beside: dict[int, float] = {}
    strong = best_first(pool.candidates)[: by.reach] if by.neighbour else []
    pairs = context.reader.sessions.neighbours([one.memory.row for one in strong]) if by.neighbour else {}
    for one in strong:
        for row in pairs.get(one.memory.row, ()):
            if row is not None:
                beside[row] = max(beside.get(row, 0.0), one.score)
    fresh = context.reader.memories.fetch([row for row in beside if row not in candidates])
    now = context.query.now
    candidates |= {row: Candidate(memory, (), 0.0) for row, memory in fresh.items() if memory.known_at(now)}
    best: dict[str, float] = {}
    for one in candidates.values():
        if session := one.memory.session_id:
            best[session] = max(best.get(session, 0.0), one.score)
    rows = context.reader.sessions.memory_rows(list(best)) if pool.supporting else {}
    supported = []
    for row, one in candidates.items():
        if session := one.memory.session_id:
            near, own, turn = beside.get(row, 0.0), pool.supporting.get(rows.get(session, -1), 0.0), best[session]
            added = by.neighbour * near + by.session * own + by.best_turn * turn
            why = (
                f"+ {by.neighbour:g} · {near:.4f} the turn next to it + {by.session:g} · {own:.4f} its session "
                f"+ {by.best_turn:g} · {turn:.4f} its session's best turn"
            )
        else:
            added, why = by.alone * one.score, f"+ {by.alone:g} · {one.score:.4f}, it stands alone"
        supported.append(one.with_step("support", one.score + added, why))
    if context.unit == "session":  # those too that answer well as a whole and by none of their turns
        tried = set(rows.values())
        whole = sorted((row for row in pool.supporting if row not in tried), key=lambda r: (-pool.supporting[r], r))
        for row, memory in context.reader.memories.fetch(whole[: context.k]).items():
            if memory.known_at(now):
                own = pool.supporting[row]
                why = f"+ {by.session:g} · {own:.4f} as a session"
                supported.append(Candidate(memory, (), 0.0).with_step("support", by.session * own, why))
    return pool.with_candidates(supported)


def scale(pool: Pool, context: SearchContext, by: NoConstants) -> Pool:
    """Scores stretched to 0..1 over the candidates, so that what follows can be compared with them."""
    scores = [candidate.score for candidate in pool.candidates]
    if not scores:
        return pool
    low, span = min(scores), max(scores) - min(scores)
    return pool.with_candidates(
        candidate.with_step(
            "scale",
            (candidate.score - low) / span if span > 0 else 1.0,
            f"({candidate.score:.4f} − {low:.4f}) / {span:.4f}" if span > 0 else "all alike",
        )
        for candidate in pool.candidates
    )
