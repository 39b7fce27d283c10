"""Which words of the question met which words of a memory, named for the hits of a recall."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import partial

from fivefold.models.embedders import Embedder, TokenEmbedder, gives_tokens
from fivefold.models.embedders.skipped_words import SKIPPED_WORDS
from fivefold.models.token_vectors import similarities
from fivefold.namespace import Namespace
from fivefold.retrieval.routes import SearchContext
from fivefold.retrieval.routes.late_scores import LateScore, late_scores
from fivefold.text.passages import passage_span, passages_of
from fivefold.values.later import later
from fivefold.values.memory import Memory
from fivefold.values.reading import Passage, QuestionReading, Span
from fivefold.values.recall import Hit
from fivefold.values.recall_trace import PassageMatch, WordMatch

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
