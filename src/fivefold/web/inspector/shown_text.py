"""Memories as the pages show them: words that met the question marked, long texts cut to what matched."""

from __future__ import annotations

from fivefold.text.display import visible
from fivefold.values.excerpt import LONG, Segment, mark_question, mark_words, marked_line, marked_passage, shown_span
from fivefold.values.recall import Hit
from fivefold.values.recall_trace import PassageMatch, WordMatch

MOST_INLINE = 50_000
"""Characters of a text that a list has whole behind a control; a longer one is a link to its own page."""


def is_long(content: str) -> bool:
    return len(content) > LONG


def is_inline(content: str) -> bool:
    return len(content) <= MOST_INLINE


def line_of(hit: Hit, length: int) -> list[Segment]:
    """The memory on one line, cut to where words met."""
    return marked_line(hit.memory.content, hit.passage, length)


def passage_of(content: str, match: PassageMatch | None = None) -> list[Segment]:
    """A short text whole, of a long one the passage that matched or its beginning."""
    return marked_passage(content, match)


def around_passage(content: str, match: PassageMatch | None = None) -> tuple[list[Segment], ...]:
    """The whole text in three parts: before what is shown of it, that, and the rest."""
    start, end = shown_span(content, match)
    words = match.words if match else ()
    spans = ((0, start), (start, end), (end, len(content)))
    return tuple(mark_words(content, words, first, last) for first, last in spans)


def question_of(words: tuple[WordMatch, ...], question: str) -> list[Segment]:
    """The question with the words marked that met one of the memory."""
    return mark_question(question, words)


def met_by(segment: Segment) -> str:
    """Which words a marked one met, and how near they are."""
    pairs = dict.fromkeys(f"“{visible(word.question)}”, {word.similarity:.2f}" for word in segment.words)
    return f"met {'; '.join(pairs)}"


def meets(segment: Segment) -> str:
    """The same for a word of the question."""
    pairs = dict.fromkeys(f"“{visible(word.memory)}”, {word.similarity:.2f}" for word in segment.words)
    return f"met {'; '.join(pairs)}"
