"""What is shown of a memory where it is one of several: all of a short text, and of a long one what met the question.

The words that met words of the question are kept apart, so that a view can mark them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from fivefold.values.recall_trace import Candidate, PassageMatch, WordMatch
from fivefold.values.vectors import Span

# One short reason why a memory came back, in words; the arithmetic is in the explanation.

SHOWN_WORDS = 3
"""How many words a reason names."""

SAME = 0.7
NEAR = 0.5
"""From which similarity on two words are the same in other forms, and from which they are near."""

ENDING = 3
"""Characters that a form of a word adds at most, such as "es" and "ing"."""

_BY_ROUTE = {
    "lexical": "has the same words",
    "graph": "is linked to whom or what is asked about",
    "temporal": "is from that time",
    "window": "is from that time",
    "parts": "answers a part of the question",
    "standing": "applies to what is asked for",
    "turns": "was said next to a turn that matches",
    "recency": "is recent",
    "frequency": "is used often",
    "associative": "comes to mind with what matches",
}
_OTHERWISE = "is close in meaning"
_SMALL = frozenset(
    "a about am an and any are as at be been but by can did do does for from had has have he her him his how i i'm "
    "i’m i'd i’d i've i’ve in is it its it's it’s me my no not of on or our she so that the their them there they this "
    "to us was we were what when where which who whom why will with you your".split()
)
"""Words that say nothing about why two texts belong together."""


def is_telling(match: WordMatch) -> bool:
    """Whether two words that met tell a person why: neither is a small word such as "I"."""
    return match.question.casefold() not in _SMALL and match.memory.casefold() not in _SMALL


def short_reason(candidate: Candidate) -> str:
    """The words that met, or what else brought it, in a few words."""
    matches = candidate.passage.words if candidate.passage else ()
    words = [match for match in matches if match.start >= 0 and is_telling(match)]
    time = _BY_ROUTE["window"] if any(item.route == "window" for item in candidate.evidence) else ""
    return "; ".join(filter(None, (_same(words), time))) or _near(words) or _route(candidate)


def _same(words: list[WordMatch]) -> str:
    """The words of the question that the memory has, as it writes them."""
    shown: dict[str, str] = {}
    for word in filter(_is_same, words):
        shown.setdefault(word.memory.casefold(), f"“{word.memory}”")
    return f"says {', '.join(list(shown.values())[:SHOWN_WORDS])}" if shown else ""


def _is_same(word: WordMatch) -> bool:
    """Whether both are forms of one word, which have the same first letter; "clock" is only near "time"."""
    said, asked = word.memory.casefold(), word.question.casefold()
    shorter, longer = sorted((said, asked), key=len)
    if longer.startswith(shorter) and len(longer) - len(shorter) <= ENDING:
        return True
    return word.similarity >= SAME and said[:1] == asked[:1]


def _near(words: list[WordMatch]) -> str:
    near = max((word for word in words if word.similarity >= NEAR), key=lambda word: word.similarity, default=None)
    return f"“{near.memory}” is near “{near.question}”" if near else ""


def _route(candidate: Candidate) -> str:
    best = max(candidate.evidence, key=lambda item: item.contribution, default=None)
    return _BY_ROUTE.get(best.route, _OTHERWISE) if best else _OTHERWISE


LONG = 1_000
"""Characters from which on a text is long: only a part of it is shown in lists."""

SHOWN_LONG = 800
"""Characters that are shown of a long text of which no passage has matched."""

NEAR_EDGE = 24
"""How far a cut moves to fall between two words."""

STRENGTHS = (-1.0, 0.5, 0.7)
"""The least similarity for a mark of each strength."""

ELLIPSIS = "…"

_SPACES = re.compile(r"\s+")
_TEXT = re.compile(r"\S")


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of a text, and the matches that it belongs to, the nearest first."""

    text: str
    words: tuple[WordMatch, ...] = ()

    @property
    def strength(self) -> int:
        """How near the nearest word of the question is: 3 is the same or nearly, 0 is none."""
        nearest = self.words[0].similarity if self.words else 0.0
        return sum(nearest >= least for least in STRENGTHS) if self.words else 0


def excerpt(content: str, match: PassageMatch | None, length: int) -> str:
    """The text on one line of about `length` characters: whole, or cut to where words met."""
    return "".join(segment.text for segment in marked_line(content, match, length))


def marked_line(content: str, match: PassageMatch | None, length: int) -> list[Segment]:
    """The same with its words marked."""
    pieces = _shown(content, match, _window(content, match, length))
    return [Segment(_SPACES.sub(" ", piece.text), piece.words) for piece in pieces]


def marked_passage(content: str, match: PassageMatch | None) -> list[Segment]:
    """A short text whole, of a long one the passage that matched, in its own lines, words marked."""
    return _shown(content, match, shown_span(content, match), " ")


def mark_words(text: str, words: Iterable[WordMatch], start: int = 0, end: int | None = None) -> list[Segment]:
    """The characters from `start` to `end`, split where the span of a word begins or ends; spans may overlap.

    Small words such as "I" are not marked.
    """
    end = len(text) if end is None else end
    inside = [word for word in words if start <= word.start < word.end <= end and is_telling(word)]
    cuts = sorted({start, end, *(edge for word in inside for edge in (word.start, word.end))})
    return [
        Segment(text[first:last], _nearest_first(w for w in inside if w.start <= first and last <= w.end))
        for first, last in pairwise(cuts)
    ]


def mark_question(question: str, words: Sequence[WordMatch]) -> list[Segment]:
    """The question, with the words marked that met a word of a memory."""
    return mark_words(question, _in_question(question, words))


def shown_span(content: str, match: PassageMatch | None) -> Span:
    """The characters that are shown of a text: all where it is short, else the passage that matched."""
    if len(content) <= LONG:
        return 0, len(content)
    if match is not None and match.parts > 1:
        return match.start, match.end
    return _window(content, match, SHOWN_LONG)


def _shown(content: str, match: PassageMatch | None, span: Span, space: str = "") -> list[Segment]:
    """A part of the text without the space around it, with a sign where the text goes on."""
    text = content[slice(*span)]
    start, end = span[0] + len(text) - len(text.lstrip()), span[0] + len(text.rstrip())
    if start >= end:
        return []
    segments = mark_words(content, match.words if match else (), start, end)
    before = [Segment(ELLIPSIS + space)] if _TEXT.search(content, 0, start) else []
    after = [Segment(space + ELLIPSIS)] if _TEXT.search(content, end) else []
    return [*before, *segments, *after]


def _window(content: str, match: PassageMatch | None, length: int) -> Span:
    """About `length` characters: from the beginning of the passage, or around the words that met if they come later."""
    if len(content) <= 4 * length and len(" ".join(content.split())) <= length:
        return 0, len(content)
    room = max(1, length - 2 * len(ELLIPSIS))
    if match is None or not 0 <= match.start < len(content):
        return 0, _between_words(content, room, -1)
    first, last = _best_words(match, room)
    if last <= match.start + room:
        return match.start, _between_words(content, match.start + room, -1)
    start = max(match.start, min(first - (room - (last - first)) // 2, len(content) - room))
    return min(first, _between_words(content, start, 1)), _between_words(content, start + room, -1, least=last)


def _best_words(match: PassageMatch, room: int) -> Span:
    """The stretch of at most `room` characters in which most was met; the beginning of the passage without any word."""
    inside = sorted((word for word in match.words if word.start >= 0), key=lambda word: word.start)
    best, most = (match.start, match.start), 0.0
    for leftmost in inside:
        near = [word for word in inside if word.start >= leftmost.start and word.end <= leftmost.start + room]
        total = sum(word.similarity for word in near)
        if total > most:
            best, most = (leftmost.start, max(word.end for word in near)), total
    return best


def _between_words(content: str, place: int, step: int, least: int = 0) -> int:
    """The nearest place between two words, a little before (−1) or after (1); the place itself if there is none."""
    if not 0 < place < len(content):
        return max(0, min(place, len(content)))
    for at in range(place, place + step * NEAR_EDGE, step):
        if least < at < len(content) and (content[at].isspace() or content[at - 1].isspace()):
            return at
    return place


def _nearest_first(words: Iterable[WordMatch]) -> tuple[WordMatch, ...]:
    return tuple(sorted(words, key=lambda word: -word.similarity))


def _in_question(question: str, words: Sequence[WordMatch]) -> Iterator[WordMatch]:
    """Each match at the places of the question where its word stands."""
    for word in words:
        for found in re.finditer(rf"(?<![^\W_]){re.escape(word.question)}(?![^\W_])", question):
            yield WordMatch(word.question, word.memory, word.similarity, found.start(), found.end())
