"""The end of a recall: what was not yet known is left out, the best k are the answer, the rest is listed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial

from fivefold.models.embedders import Embedder, TokenEmbedder, gives_tokens
from fivefold.models.embedders.fivefold_minilm import SKIPPED_WORDS
from fivefold.models.token_vectors import similarities
from fivefold.namespace import Namespace
from fivefold.retrieval.recipe import Unit
from fivefold.retrieval.routes import SearchContext
from fivefold.retrieval.routes.late import LateScore, late_scores
from fivefold.retrieval.stages import Pool, best_first
from fivefold.retrieval.stages.relations import lower_score
from fivefold.settings import Settings
from fivefold.text.passages import passage_span, passages_of
from fivefold.values.filters import Filter
from fivefold.values.memory import Memory
from fivefold.values.recall import Hit
from fivefold.values.recall_trace import Candidate, Dropped, PassageMatch, WordMatch, later
from fivefold.values.vectors import Passage, QuestionReading, Span


def drop_not_yet_known(pool: Pool, now: datetime) -> Pool:
    """Drops what was neither stored by then nor is dated on that day or before, if asked as of an earlier time."""
    later = [
        (candidate, f"not yet known on {now:%d %b %Y}")
        for candidate in pool.candidates
        if not candidate.memory.known_at(now)
    ]
    return pool.without(later, "select") if later else pool


def drop_unmatched(pool: Pool, keep: Filter, now: datetime, passed: set[int]) -> Pool:
    """What a stage has added and has expired or does not pass the filter is left out, also next to a candidate.

    `passed` are the rows that passed before in this recall; those that pass now are added to them.
    """
    tests = keep or None
    new = [candidate for candidate in pool.candidates if candidate.memory.row not in passed]
    faults = [(candidate, _fault(candidate.memory, tests, now)) for candidate in new]
    unmatched = [(candidate, fault) for candidate, fault in faults if fault]
    passed.update(candidate.memory.row for candidate, fault in faults if not fault)
    pool = pool.without(unmatched, "filter") if unmatched else pool
    if not any(candidate.neighbours for candidate in pool.candidates):
        return pool
    return pool.with_candidates(_without_unmatched(candidate, tests, now) for candidate in pool.candidates)


def _fault(memory: Memory, keep: Filter | None, now: datetime) -> str:
    if memory.expires_at is not None and not memory.is_alive(now):
        return f"expired on {memory.expires_at:%d %b %Y}"
    return "does not pass the filter" if keep is not None and not keep.matches(memory) else ""


def _without_unmatched(candidate: Candidate, keep: Filter | None, now: datetime) -> Candidate:
    if not candidate.neighbours:
        return candidate
    kept = tuple(memory for memory in candidate.neighbours if not _fault(memory, keep, now))
    return replace(candidate, neighbours=kept)


def drop_unlikely(pool: Pool, least: float | None) -> Pool:
    """Candidates whose chance is below `least` are left out, and those that are too far down to have one."""
    if least is None:
        return pool
    unlikely = [
        (candidate, _unlikely(candidate.chance, least))
        for candidate in pool.candidates
        if candidate.chance is None or candidate.chance < least
    ]
    return pool.without(unlikely, "min_chance")


def _unlikely(chance: float | None, least: float) -> str:
    return "too far down to have a chance" if chance is None else f"chance {chance:.3f}, below {least:g}"


def select(pool: Pool, k: int, unit: Unit, composite: bool = False) -> tuple[list[Hit], list[Dropped]]:
    """The k best by score; by session, the best of each stands for it."""
    if unit == "turn":
        sessions = [
            (candidate, "a session, and only turns are wanted")
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
        Dropped(
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


# How far a recall trusts what the user, the assistant, a tool or an import wrote; the settings say so.


def weigh_by_origin(pool: Pool, settings: Settings) -> Pool:
    """Lower the score of each candidate by the trust in its origin; full trust changes nothing."""
    return pool.with_candidates(_weighed(candidate, settings) for candidate in pool.candidates)


def _weighed(candidate: Candidate, settings: Settings) -> Candidate:
    origin = candidate.memory.origin
    trust = settings.trust(origin)
    if trust == 1:
        return candidate
    return candidate.with_step("trust", lower_score(candidate.score, trust), f"× {trust:g}, origin {origin}")


# Which words of the question met which words of a memory, named for the hits of a recall.

SHOWN = 5
"""How many pairs of words are named for a hit: those that count most."""

NEAR = 0.35
"""The least similarity of two words that have met."""


def with_matched_words(hits: Sequence[Hit], context: SearchContext, namespace: Namespace) -> list[Hit]:
    """The hits of a late interaction, each with the passage that it found and the pairs of words that count most.

    The words are looked for when somebody reads them.
    """
    if not isinstance(context.question, QuestionReading):
        return list(hits)
    routes = context.plan.routes if context.plan else ()
    names = {part.route for part in routes if part.search == "late"}
    rows = [hit.memory.row for hit in hits if any(item.route in names for item in hit.candidate.evidence)]
    found = late_scores(context, rows)
    if not found:
        return list(hits)
    model: Embedder = namespace.embedder_of(context.space)
    before = _turns_before([hit.memory for hit in hits], context) if gives_tokens(model) else {}
    words = partial(_words_of, context.query.to_read, context.question, model) if gives_tokens(model) else None
    return [
        _with_passage(hit, found[row], words, before.get(row, ""), names) if (row := hit.memory.row) in found else hit
        for hit in hits
    ]


def _turns_before(memories: Sequence[Memory], context: SearchContext) -> dict[int, str]:
    """The text of the turn before each turn, as it was read along."""
    turns = [memory.row for memory in memories if memory.kind == "turn"]
    pairs = context.reader.sessions.neighbours(turns) if turns else {}
    rows = {row: pair[0] for row, pair in pairs.items() if pair[0] is not None}
    fetched = context.reader.memories.fetch(list(rows.values())) if rows else {}
    return {row: fetched[other].content for row, other in rows.items() if other in fetched}


def _with_passage(
    hit: Hit, found: LateScore, words: Callable[..., tuple[WordMatch, ...]] | None, before: str, names: Collection[str]
) -> Hit:
    """The hit with its passage, where that lies in the text, and the words that met by `words`."""
    memory = hit.memory
    start, end = passage_span(memory.content, found.part) if found.parts > 1 else (0, len(memory.content))
    passage = PassageMatch(found.score, found.part, found.parts, start, end, tokens=found.tokens)
    if words is None:
        return replace(hit, candidate=replace(hit.candidate, passage=passage))
    met = later(words, memory, before, passage)
    match = PassageMatch(found.score, found.part, found.parts, start, end, met)
    evidence = tuple(
        replace(item, note=later(_note, match)) if item.route in names else item for item in hit.candidate.evidence
    )
    return replace(hit, candidate=replace(hit.candidate, passage=match, evidence=evidence))


def _note(match: PassageMatch) -> str | None:
    return match.describe() or None


def _words_of(
    text: str, question: QuestionReading, model: TokenEmbedder, memory: Memory, before: str, found: PassageMatch
) -> tuple[WordMatch, ...]:
    passage = passages_of(memory, before)[found.part]
    return matched_words(text, question, passage, model.spans(passage), found)


def matched_words(
    text: str, question: QuestionReading, passage: Passage, spans: Sequence[tuple[Span, bool]], found: PassageMatch
) -> tuple[WordMatch, ...]:
    """For each word of the question its nearest word; the pairs that count most, in the order of the question."""
    table = similarities(question.tokens, found.tokens)
    if len(table) != len(spans):  # the memory has changed since
        return ()
    heading = len(passage.text) - (found.end - found.start)
    pairs: list[tuple[float, int, WordMatch]] = []
    for i, (start, end) in enumerate(question.spans):
        if start == end or text[start:end].casefold() in SKIPPED_WORDS or not text[start:end].isalnum():
            continue
        j = int(table[:, i].argmax())
        near = float(table[j, i])
        (first, last), earlier = spans[j]
        if near < NEAR or first == last:
            continue
        source, offset = (passage.before, -1) if earlier else (passage.text, found.start - heading)
        first, last = _whole_word(source, first, last)
        inside = not earlier and first >= heading
        place = (first + offset, last + offset) if inside else (-1, -1)
        word = WordMatch(text[slice(*_whole_word(text, start, end))], source[first:last], round(near, 4), *place)
        pairs.append((near * float(question.weights[i]), i, word))
    best: dict[str, tuple[float, int, WordMatch]] = {}
    for pair in pairs:
        if pair[2].question not in best or pair[0] > best[pair[2].question][0]:
            best[pair[2].question] = pair
    chosen = sorted(best.values(), key=lambda pair: (-pair[0], pair[1]))[:SHOWN]
    return tuple(word for _, _, word in sorted(chosen, key=lambda pair: pair[1]))


def _whole_word(text: str, start: int, end: int) -> Span:
    """The word around a piece of it."""
    while start > 0 and text[start - 1].isalnum():
        start -= 1
    while end < len(text) and text[end].isalnum():
        end += 1
    return start, end
