"""The route of late interaction: what the other routes found, ranked again token by token."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from math import log, sqrt
from typing import Annotated

import numpy as np

from fivefold.errors import FivefoldError
from fivefold.models.embedders import Embedder, TokenEmbedder, best_matches, gives_tokens, similarities
from fivefold.models.embedders.fivefold_minilm import SKIPPED_WORDS
from fivefold.namespace import Namespace
from fivefold.retrieval.protocols import CosineRoute, LatePassage, SearchContext
from fivefold.retrieval.relations import rows_standing_in
from fivefold.settings import Settings
from fivefold.text.lexemes import lexemes
from fivefold.text.passages import passage_span, passages_of
from fivefold.values.fields import About, Between
from fivefold.values.filters import Filter
from fivefold.values.memory import Memory
from fivefold.values.query import Query
from fivefold.values.recall import Hit
from fivefold.values.recall_trace import PassageMatch, RouteHit, WordMatch, later, new_candidate, new_hit
from fivefold.values.vectors import Passage, QuestionReading, Span

# What the best of many passages gains by chance, so that a long text is not found just for being long.

LUCK_SHARE = 0.5
"""Share of that gain that is taken off. All of it lowers long texts that do answer; half of it ranks best."""


def lucky_gain(passages: int, spread: float) -> float:
    """About the most that the best of so many strangers exceeds their mean by: σ · √(2 ln n)."""
    return LUCK_SHARE * spread * sqrt(2 * log(passages))


# Late interaction: how near each word of the question comes to a word of the memory, weighted and added up.

MAX_PASSAGES = 4
"""Number of passages of a long text that are compared token by token: those whose vectors are nearest."""

SCORE_DEVIATION = 0.07
"""The standard deviation of the score over passages that have nothing to do with a question, as measured."""


@dataclass(frozen=True, slots=True)
class LateScore:
    """A memory's score, and the passage that it comes from."""

    score: float
    part: int
    parts: int
    tokens: bytes


def late_scores(context: SearchContext, rows: Sequence[int]) -> dict[int, LateScore]:
    """The scores of the memories that have token vectors; what is stored of a memory is read once in a recall."""
    space, known = context.space, context.late_passages
    if space is None or not space.tokens or not rows:
        return {}
    question = context.question_read()
    if unknown := [row for row in rows if row not in known]:
        long = context.reader.search.passage_vectors(space, unknown)
        nearest = {
            row: np.argsort(-(long[row] @ question.vector), kind="stable")[:MAX_PASSAGES].tolist() for row in long
        }
        parts = [(row, part) for row in unknown for part in nearest.get(row, (0,))]
        tokens = context.reader.search.token_vectors(space, parts)
        known.update((row, []) for row in unknown)
        for row, part in parts:
            if (row, part) in tokens:
                known[row].append(LatePassage(part, len(long[row]) if row in long else 1, tokens[row, part]))
    present = [(row, passage) for row in rows for passage in known[row]]
    matches = best_matches(question.tokens, [passage.tokens for _, passage in present])
    best: dict[int, LateScore] = {}
    for (row, passage), score in zip(present, (matches @ question.weights).tolist(), strict=True):
        lowered = score - lucky_gain(passage.parts, SCORE_DEVIATION)
        if row not in best or lowered > best[row].score:
            best[row] = LateScore(lowered, passage.part, passage.parts, passage.tokens)
    return best


@dataclass(frozen=True, slots=True)
class LateOptions:
    """An answer is often the turn next to the one that shares the question's words."""

    next_turns: Annotated[
        int, Between(0, 4_096), About("Number of the best candidates whose neighbouring turns become candidates too")
    ] = 0


class Late(CosineRoute):
    """A score is a weighted mean of cosines: of each token of the question with its nearest in the memory."""

    rescores = True
    options = LateOptions

    def unavailable(self, context: SearchContext) -> str | None:
        if context.space is None or not context.space.tokens:
            return "the namespace has no token vectors"
        return None

    def describe_limits(self, query: Query, settings: Settings) -> str:
        return "of the other routes' finds"

    def search(self, context: SearchContext, depth: int, keep: Filter, options: LateOptions) -> list[RouteHit]:
        if isinstance(context.question, FivefoldError):
            raise context.question
        rows = list(context.candidates[:depth])
        pairs = context.reader.sessions.neighbours(rows[: options.next_turns]) if options.next_turns else {}
        beside = [row for pair in pairs.values() for row in pair if row is not None]
        further = [row for row in dict.fromkeys([*beside, *rows_standing_in(rows, context)]) if row not in set(rows)]
        if keep and further:
            memories = context.reader.memories.fetch(further)
            further = [row for row in further if row in memories and keep.matches(memories[row])]
        rows += further
        ranked = sorted(late_scores(context, rows).items(), key=lambda item: (-item[1].score, item[0]))
        return [new_hit(row, found.score, part=found.part) for row, found in ranked]


MAX_PAIRS = 5
"""Maximum number of pairs of words named for a hit: those that count most."""


MIN_SIMILARITY = 0.35
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
    """The hit with its passage, the place of that in the text, and the words that matched by `words`."""
    memory = hit.memory
    start, end = passage_span(memory.content, found.part) if found.parts > 1 else (0, len(memory.content))
    one, evidence = hit.candidate, hit.candidate.evidence
    match = passage = PassageMatch(found.score, found.part, found.parts, start, end, tokens=found.tokens)
    if words is not None:
        match = PassageMatch(found.score, found.part, found.parts, start, end, later(words, memory, before, passage))
        note = later(_note, match)
        evidence = tuple([item.with_note(note) if item.route in names else item for item in evidence])
    candidate = new_candidate(
        one.memory, evidence, one.fused, one.steps, one.support, one.neighbours, match, one.chance, one.folded
    )
    return Hit(hit.rank, candidate, hit.composite)


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
    nearest = zip(question.spans, table.argmax(axis=0).tolist(), table.max(axis=0).tolist(), strict=True)
    for i, ((start, end), j, near) in enumerate(nearest):
        (first, last), earlier = spans[j]
        if near < MIN_SIMILARITY or first == last or start == end:
            continue
        if text[start:end].casefold() in SKIPPED_WORDS or not text[start:end].isalnum():
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
    chosen = sorted(best.values(), key=lambda pair: (-pair[0], pair[1]))[:MAX_PAIRS]
    return tuple(word for _, _, word in sorted(chosen, key=lambda pair: pair[1]))


def word_nearness(context: SearchContext, row: int) -> list[tuple[str, float]]:
    """The words of the question that say something, each with the similarity of the nearest word of a memory."""
    found = late_scores(context, [row]).get(row) if isinstance(context.question, QuestionReading) else None
    if found is None:
        return []
    question, text = context.question_read(), context.query.to_read
    if not len(table := similarities(question.tokens, found.tokens)):
        return []
    nearest = table.max(axis=0).tolist()
    words: dict[Span, list[float]] = {}
    for (start, end), near in zip(question.spans, nearest, strict=True):
        if text[start:end].isalnum():
            words.setdefault(_whole_word(text, start, end), []).append(near)
    named = [(text[slice(*span)], sum(each) / len(each)) for span, each in words.items()]
    return [(word, near) for word, near in named if len(word) > 1 and lexemes(word)]


def _whole_word(text: str, start: int, end: int) -> Span:
    """The word around a piece of it."""
    while start > 0 and text[start - 1].isalnum():
        start -= 1
    while end < len(text) and text[end].isalnum():
        end += 1
    return start, end
