"""The sentences of a long memory that matter to a question, with enough around them to make sense."""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from functools import cached_property
from itertools import pairwise

from fivefold.retrieval.stages.selection import words_of
from fivefold.text.calendar_words import NOT_IN_ORDINAL
from fivefold.text.lexemes import text_cache
from fivefold.values.recall_trace import PassageMatch
from fivefold.values.vectors import Span

MAX_SENTENCE = 300
"""Characters of a sentence; a longer one is cut into pieces between words."""

MIN_SENTENCE = 16
"""Characters of a sentence that can stand alone, and of the beginning of one that is worth to be shown."""

WORD_VALUE = 0.5
"""Value of a word of the question in a sentence, against 1 for a word that late interaction has matched."""

PASSAGE_VALUE = 0.1
"""Additional value of a sentence of the passage that matched."""

CLEAR_VALUE = 2 * WORD_VALUE
"""A sentence with so much of the question, and more of it than all others, is the best without a look at meanings."""

FOLLOWS_ON = 40
"""A sentence with fewer characters mostly needs the one before it."""

MIN_CLAUSE = 24
"""Characters of a clause of a sentence."""

MAX_READ = 40_000
"""Characters of a memory whose sentences are compared with the question; the rest of a longer one is not read."""

ELLIPSIS = "…"

_END = re.compile(rf"[.!?]{NOT_IN_ORDINAL}[\"'”’)\]]*\s+|[。！？][」』”’）]*\s*|\n+")
_CLAUSE_END = re.compile(r"[,;:]\s+|\s[–—-]\s|\s(?=(?:and|but|because|so|which|who|while|though|when|where)\s)")
_TELLING = re.compile(r"\d+|(?<![.!?] )(?<!^)\b[A-ZÀ-Þ]\w+")
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
    """Without the edges of scraps such as the number of a list's entry: they belong to what follows, or to the end."""
    joined = [edges[0]]
    for edge in edges[1:]:
        if len(content[joined[-1] : edge].strip()) >= MIN_SENTENCE:
            joined.append(edge)
    return [*(joined[:-1] if len(joined) > 1 else joined), edges[-1]]


def _clauses(content: str) -> list[Span]:
    """The clauses of its sentences; a short one belongs to the one before it."""
    spans: list[Span] = []
    for start, end in sentence_spans(content):
        edges = [start]
        for found in _CLAUSE_END.finditer(content, start, end):
            if found.end() - edges[-1] >= MIN_CLAUSE <= end - found.end():
                edges.append(found.end())
        spans += pairwise([*edges, end])
    return spans


def excerpt(content: str, match: PassageMatch | None, asked: Set[str], length: int) -> str:
    """At most about `length` characters: the sentences that matter most in their order, an ellipsis for each gap."""
    return Excerpts(content, match, asked).text(length)


class Excerpts:
    """The excerpts of one memory, of any length; its sentences are compared with the question once."""

    def __init__(
        self, content: str, match: PassageMatch | None = None, asked: Set[str] = frozenset(), brief: bool = False
    ) -> None:
        self.content: str = content
        self._match, self._asked, self._brief = match, asked, brief

    def text(self, length: int, fill: bool = False) -> str:
        """At most about `length` characters: the sentences that matter most in their order, an ellipsis for each gap.

        The best sentence is always there, cut if it is longer than that. With `fill`, the beginning of one sentence
        more takes the room that is left.
        """
        if len(self.content) <= length:
            return self.content
        best, *others = self._by_need if fill or not self._brief else self._by_need[: self._needed]
        room = length - _size(best)
        if room < 0:
            return self._joined([self._cut(best, length)])
        chosen, left = [best], list[Span]()
        for span in others:
            if _size(span) <= room:
                chosen.append(span)
                room -= _size(span)
            else:
                left.append(span)
        if fill and left and room >= MIN_SENTENCE:
            chosen.append(self._cut(left[0], room))
        return self._joined(sorted(chosen))

    @cached_property
    def _by_need(self) -> list[Span]:
        """All sentences in the order in which they come in.

        The best is followed by what it refers back to, by the others that matter, then by those beside it.
        """
        spans, values = self._spans, self._values
        order = sorted(range(len(spans)), key=lambda i: (-values[i], i))
        best = order[0]
        refers = _size(spans[best]) < FOLLOWS_ON or _REFERS_BACK.match(self.content, spans[best][0]) is not None
        before = [best - 1] if refers and best > 0 else []
        beside = sorted(range(len(spans)), key=lambda i: (abs(i - best), i))
        matter = dict.fromkeys([best, *before, *(i for i in order if values[i] >= 1.0)])
        self._needed = len(matter)
        return [spans[i] for i in dict.fromkeys([*matter, *beside])]

    @cached_property
    def _read(self) -> tuple[int, str]:
        """The text that is compared with the question, and its beginning: of a very long text the part that matched."""
        if len(self.content) <= MAX_READ:
            return 0, self.content
        start = max(0, self._match.start - MAX_READ // 2) if self._match is not None else 0
        return start, self.content[start : start + MAX_READ]

    @cached_property
    def _spans(self) -> list[Span]:
        offset, text = self._read
        spans = [(offset + start, offset + end) for start, end in (_clauses if self._brief else sentence_spans)(text)]
        return spans or [(0, min(MAX_SENTENCE, len(self.content)))]

    @cached_property
    def _values(self) -> list[float]:
        """The value of each sentence: by the words of the question that it has or that late interaction met in it."""
        values = [0.0] * len(self._spans)
        if self._asked:
            for i, (start, end) in enumerate(self._spans):
                values[i] = WORD_VALUE * len(self._asked & words_of(self.content[start:end]))
                if self._brief:
                    values[i] += min(0.4, 0.2 * len(_TELLING.findall(self.content, start, end)))
        if (match := self._match) is None:
            return values
        best = max(values)
        clear = len(values) == 1 or (best >= CLEAR_VALUE and values.count(best) == 1)
        met = () if clear else match.words  # finding these words takes time
        for i, (start, end) in enumerate(self._spans):
            values[i] += sum(word.similarity for word in met if start <= word.start < end)
            values[i] += PASSAGE_VALUE if match.start <= start < match.end else 0.0
        return values

    def _cut(self, span: Span, length: int) -> Span:
        """A part of a sentence, between words: its beginning, or the matched words if they come later."""
        start, length = span[0], max(1, length)
        met = [(word.start, word.end) for word in self._match.words] if self._match is not None else []
        inside = [(first, last) for first, last in met if span[0] <= first and last <= span[1]]
        if inside and max(last for _, last in inside) > start + length:
            first, last = min(first for first, _ in inside), max(last for _, last in inside)
            start = min(first, last - length)
            space = self.content.find(" ", start, first)
            start = space + 1 if space >= 0 else first
        end = min(span[1], start + length)
        space = self.content.rfind(" ", start, end)
        within = end < span[1] and self.content[end - 1].isalnum() and self.content[end].isalnum()
        return start, space if within and space > start + length // 2 else end

    def _joined(self, spans: Sequence[Span]) -> str:
        """The texts of the spans, with an ellipsis for each gap before, between and after them.

        A brief excerpt has none at its ends, unless one is inside a clause.
        """
        runs: list[Span] = []
        for start, end in spans:  # those that follow each other without a gap are one
            joined = runs.pop() if runs and runs[-1][1] == start else (start, end)
            runs.append((joined[0], end))
        text = f" {ELLIPSIS} ".join(self.content[start:end].strip() for start, end in runs)
        whole = {edge for span in self._spans for edge in span} if self._brief else set()
        first, last = runs[0][0], runs[-1][1]
        before = f"{ELLIPSIS} " if first not in whole and self.content[:first].strip() else ""
        after = f" {ELLIPSIS}" if last not in whole and self.content[last:].strip() else ""
        return f"{before}{text.rstrip(',;:–—- ') if last in whole else text}{after}"


def _size(span: Span) -> int:
    return span[1] - span[0]
