"""The sentences of a long memory that matter to a question, with enough around them to make sense."""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from itertools import pairwise

from fivefold.text.lexemes import lexemes
from fivefold.text.text_caches import text_cache
from fivefold.values.reading import Span
from fivefold.values.recall_trace import PassageMatch

MAX_SENTENCE = 300
"""Characters of a sentence; a longer one is cut into pieces between words."""

MIN_SENTENCE = 16
"""Characters of a sentence that can stand alone."""

WORD_VALUE = 0.5
"""What a word of the question is worth in a sentence, against 1 for a word that late interaction has matched."""

FOLLOWS_ON = 40
"""A sentence with fewer characters mostly needs the one before it."""

ELLIPSIS = "…"

_END = re.compile(r"(?<=[.!?。！？])[\"'”’)\]]*\s+|\n+")
_REFERS_BACK = re.compile(
    r"\s*(?:it|this|that|these|those|he|she|they|them|yes|no|so|then|but|and|also)\b", re.IGNORECASE
)


@text_cache(512)
def sentence_spans(content: str) -> list[Span]:
    """The sentences of a text, pieces of overlong ones counted as sentences."""
    edges = [0, *(found.end() for found in _END.finditer(content)), len(content)]
    spans: list[Span] = []
    for start, end in pairwise(_joined_edges(edges, content)):
        at = start
        while end - at > MAX_SENTENCE:
            space = content.rfind(" ", at + MAX_SENTENCE // 2, at + MAX_SENTENCE)
            cut = space + 1 if space > 0 else at + MAX_SENTENCE
            spans.append((at, cut))
            at = cut
        spans.append((at, end))
    return [span for span in spans if content[slice(*span)].strip()]


def _joined_edges(edges: Sequence[int], content: str) -> list[int]:
    """Without the edges behind scraps such as the number of a list's entry, which belong to what follows."""
    joined = [edges[0]]
    for edge in edges[1:]:
        if edge == len(content) or len(content[joined[-1] : edge].strip()) >= MIN_SENTENCE:
            joined.append(edge)
    return joined


def excerpt(content: str, match: PassageMatch | None, asked: Set[str], length: int) -> str:
    """At most about `length` characters: the sentences that matter most in their order, an ellipsis for each gap.

    The best sentence is always there, cut if it is longer than that.
    """
    if len(content) <= length:
        return content
    spans = sentence_spans(content)
    values = _values(content, spans, match, asked)
    order = sorted(range(len(spans)), key=lambda i: (-values[i], i))
    best = order[0]
    chosen, room = {best}, length - (spans[best][1] - spans[best][0])
    if room < 0:
        return _cut_sentence(content, spans[best], length)
    for i in _by_need(content, spans, values, order):
        size = spans[i][1] - spans[i][0]
        if i not in chosen and size <= room:
            chosen.add(i)
            room -= size
    return _joined(content, [spans[i] for i in sorted(chosen)])


def _values(content: str, spans: Sequence[Span], match: PassageMatch | None, asked: Set[str]) -> list[float]:
    """What each sentence is worth: the words of the question that it has or that late interaction met in it."""
    met = [word for word in match.words if word.start >= 0] if match is not None else []
    inside = (match.start, match.end) if match is not None else (0, 0)
    values = []
    for start, end in spans:
        value = sum(word.similarity for word in met if start <= word.start < end)
        value += WORD_VALUE * len(asked & set(lexemes(content[start:end]))) if asked else 0.0
        values.append(value + (0.1 if inside[0] <= start < inside[1] else 0.0))
    return values


def _by_need(content: str, spans: Sequence[Span], values: Sequence[float], order: Sequence[int]) -> list[int]:
    """What comes next: what the best sentence refers back to, the others that matter, then those beside the best."""
    best = order[0]
    refers = spans[best][1] - spans[best][0] < FOLLOWS_ON or _REFERS_BACK.match(content, spans[best][0]) is not None
    before = [best - 1] if refers and best > 0 else []
    beside = sorted(range(len(spans)), key=lambda i: (abs(i - best), i))
    return [*before, *(i for i in order[1:] if values[i] >= 1.0), *beside]


def _cut_sentence(content: str, span: Span, length: int) -> str:
    text = content[span[0] : span[0] + max(1, length)]
    space = text.rfind(" ")
    return _joined(content, [(span[0], span[0] + (space if space > len(text) // 2 else len(text)))])


def _joined(content: str, spans: Sequence[Span]) -> str:
    runs: list[Span] = []
    for start, end in spans:
        if runs and runs[-1][1] == start:
            runs[-1] = (runs[-1][0], end)
        else:
            runs.append((start, end))
    parts = [content[start:end].strip() for start, end in runs]
    text = f" {ELLIPSIS} ".join(parts)
    return (
        f"{ELLIPSIS + ' ' if runs[0][0] else ''}{text}{' ' + ELLIPSIS if runs[-1][1] < len(content.rstrip()) else ''}"
    )
