"""Typing errors of a question, mended: a word that nobody knows becomes the nearest word that is known.

Known are the words of the namespace, the common words that the models read whole, and names. Identifiers, numbers and
what stands in quotes stay as they are.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from itertools import accumulate, pairwise

from fivefold.models.bert import whole_words
from fivefold.stores.interface import Reader
from fivefold.text.calendar_words import MONTH_NAMES, WEEKDAY_NAMES
from fivefold.text.lexemes import lexemes, stop_words
from fivefold.values.query import EntityRef

# How many typing errors lie between two words: letters left out, put in, taken for another, or swapped.


def edit_distance(one: str, other: str, most: int) -> int:
    """The number of errors, two neighbours swapped counting as one (Damerau–Levenshtein); above `most`, most + 1."""
    if abs(len(one) - len(other)) > most:
        return most + 1
    older: list[int] = []
    row = list(range(len(other) + 1))
    for at, letter in enumerate(one, 1):
        older, before, row = row, older, [at, *([0] * len(other))]
        for place, counterpart in enumerate(other, 1):
            row[place] = min(older[place] + 1, row[place - 1] + 1, older[place - 1] + (letter != counterpart))
            swapped = place > 1 and at > 1 and letter == other[place - 2] and one[at - 2] == counterpart
            if swapped:
                row[place] = min(row[place], before[place - 2] + 1)
        if min(row) > most:
            return most + 1
    return min(row[-1], most + 1)


def letters_of(word: str) -> int:
    """The set of a word's letters as bits: words that differ in many of them are far apart."""
    bits = 0
    for letter in word:
        bits |= 1 << (ord(letter) & 31)
    return bits


LOOKED_UP = 5_000
"""Lexemes of the namespace that begin like the word and are compared with it, those of most memories first."""
MOST_WORDS = 60
"""Words of a question that are looked at; a longer text is no typed question."""
PLAIN = 5
"""Up to this length only swapped letters make a common word out of one that nobody said."""
LONG = 7
"""From this length on a word of the namespace may be two errors away, below it one."""

_WORD = re.compile(r"(?<![\w@#/\\.'’&+-])[A-Za-z]{3,24}(?![\w@#/\\+&]|[.-]\w)")
_OPENING = re.compile(r"[\"“«`]|(?<!\w)'")
_CLOSING = {'"': '"', "“": "”", "«": "»", "`": "`", "'": "'"}
_ENDINGS = {"s": 3, "es": 3, "d": 3, "ed": 3, "ing": 3, "er": 5, "ers": 5, "ly": 5, "ness": 4}
"""Endings of known words, each with the fewest letters that stand before it."""
_SOUNDS = ("aeiouy", "cskzx", "bpdt", "vfw", "mn", "gj")
"""Letters that are taken for each other."""
_CALENDAR = frozenset((*MONTH_NAMES, *WEEKDAY_NAMES, "yesterday", "tomorrow", "weekend"))


@dataclass(frozen=True, slots=True)
class Change:
    """A stretch of the question and what was meant."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Mended:
    """The question with its typing errors mended."""

    text: str
    changes: tuple[Change, ...] = ()

    def origin(self, start: int, end: int) -> tuple[int, int]:
        """Where a stretch of the mended text stands in the question."""
        shift = 0
        begin, finish = start, end
        for change in self.changes:
            place, width = change.start + shift, len(change.text)
            grown = width - (change.end - change.start)
            if place + width <= start:
                begin -= grown
            elif place < start:
                begin = change.start
            if place + width <= end:
                finish -= grown
            elif place < end:
                finish = change.end
            shift += grown
        return begin, finish


def mend(question: str, resolved: Sequence[EntityRef], reader: Reader) -> Mended:
    """The question as it was meant; names that are resolved stay."""
    kept = [(ref.start, ref.start + len(ref.text)) for ref in resolved]
    kept += _quoted(question)
    starts, reach = _cover(kept)
    words = [match for match in _WORD.finditer(question) if not _is_covered(match.span(), starts, reach)]
    if len(words) > MOST_WORDS:
        return Mended(question)
    changes = [Change(*word.span(), text) for word in words if (text := _meant(word, reader))]
    changes += _joined(question, words, reader)
    return _apply(question, sorted(changes, key=lambda change: change.start))


def _quoted(text: str) -> Iterator[tuple[int, int]]:
    """What stands in quotation marks. A mark that nothing closes is not tried again, so that the time is linear."""
    at, unclosed = 0, set[str]()
    for opening in _OPENING.finditer(text):
        mark = opening[0]
        if opening.start() < at or mark in unclosed:
            continue
        end = text.find(_CLOSING[mark], opening.end())
        if end < 0:
            unclosed.add(mark)
        elif mark != "'" or not _is_letter(text[end + 1 : end + 2]):
            at = end + 1
            yield opening.start(), at


def _is_letter(sign: str) -> bool:
    return sign.isalnum() or sign == "_"


def _cover(spans: Iterable[tuple[int, int]]) -> tuple[list[int], list[int]]:
    """Where the spans begin, in order, and how far those up to each reach."""
    ordered = sorted(spans)
    return [start for start, _ in ordered], list(accumulate((end for _, end in ordered), max))


def _is_covered(span: tuple[int, int], starts: list[int], reach: list[int]) -> bool:
    """Whether any span overlaps this one."""
    before = bisect_left(starts, span[1])
    return before > 0 and reach[before - 1] > span[0]


def _apply(question: str, changes: Sequence[Change]) -> Mended:
    pieces, at, applied = [], 0, []
    for change in changes:
        if change.start >= at:
            pieces += [question[at : change.start], change.text]
            at = change.end
            applied.append(change)
    return Mended("".join((*pieces, question[at:])), tuple(applied))


def _meant(match: re.Match[str], reader: Reader) -> str:
    """What a word was meant to be, or nothing where it is fine as it is."""
    typed = match[0]
    word = typed.lower()
    if word in _slips() and typed == word:
        return _slips()[word]
    if is_common(word) or len(word) < 4 or not (typed.islower() or typed.istitle()):
        return ""
    if reader.search.latest_with(lexemes(word), 1):
        return ""
    terms = reader.search.vocabulary(LOOKED_UP, prefix=word[0])
    named = typed.istitle() and match.start() > 0
    best = min(_near(word, terms, named), default=None)
    meant = best[-1] if best else _apart(word, reader)
    return meant.capitalize() if typed.istitle() else meant


def is_common(word: str) -> bool:
    """Whether the models know the word, or one that it is formed from; without their words every one passes."""
    words = whole_words()
    if not words or word in words or word in stop_words() or word in _newer_words():
        return True
    stems = (
        word[: -len(end)] for end, fewest in _ENDINGS.items() if word.endswith(end) and len(word) - len(end) >= fewest
    )
    return any(stem in words or f"{stem}e" in words or (stem[-1] == stem[-2] and stem[:-1] in words) for stem in stems)


def _near(word: str, terms: Sequence[str], named: bool) -> Iterator[tuple[int, int, int, int, str]]:
    """Words near enough, each with its errors, its group, how odd the error is, and its rank.

    What was said in the namespace comes first. A common word that was not said is meant only after a plain slip of the
    fingers: a rare word is more often right than wrong.
    """
    letters, known, most = letters_of(word), set(terms), 1 if len(word) < LONG else 2
    for rank, (other, others) in enumerate(_alike(word)):
        if (letters ^ others).bit_count() <= 2 and edit_distance(word, other, 1) == 1:
            said = other in _CALENDAR or not known.isdisjoint(lexemes(other))
            oddness = _oddness(word, other)
            if oddness <= 2 if said else not named and oddness <= (len(word) > PLAIN):
                yield 1, 0 if said else 2, oddness, rank, other
    for rank, term in enumerate(terms):
        if abs(len(term) - len(word)) > most or len(term) < 4 or word.startswith(term):
            continue
        if (letters ^ letters_of(term)).bit_count() <= 2 * most and (errors := edit_distance(word, term, most)) <= most:
            yield errors, 1, _oddness(word, term), rank, term


def _oddness(typed: str, meant: str) -> int:
    """How seldom that happens: 0 for letters swapped, 1 for one more or less, 2 for a like sound, 3 for the rest."""
    if len(typed) != len(meant):
        return 1
    wrong = [(one, other) for one, other in zip(typed, meant, strict=True) if one != other]
    if len(wrong) == 2 and wrong[0] == wrong[1][::-1]:
        return 0
    return 2 if all(any(one in like and other in like for like in _SOUNDS) for one, other in wrong) else 3


def _alike(word: str) -> list[tuple[str, int]]:
    """The common words of like length that begin alike, or with their first letters swapped; each with its letters."""
    swapped = word[1] + word[0] + word[2:]
    found = [(swapped, letters_of(swapped))] if swapped in whole_words() else []
    return found + [other for length in (-1, 0, 1) for other in _by_shape().get((word[0], len(word) + length), ())]


def _apart(word: str, reader: Reader) -> str:
    """Two words of the namespace that were written as one."""
    for cut in range(3, len(word) - 2):
        parts = (word[:cut], word[cut:])
        if all(is_common(part) and reader.search.latest_with(lexemes(part), 1) for part in parts):
            return " ".join(parts)
    return ""


def _joined(question: str, words: Sequence[re.Match[str]], reader: Reader) -> list[Change]:
    """Names that were written as two words: 'led better' for Ledbetter."""
    pairs = {
        (first[0] + second[0]).lower(): (first.start(), second.end())
        for first, second in pairwise(words)
        if question[first.end() : second.start()] == " "
        and not {first[0].lower(), second[0].lower()} & stop_words()
        and len(first[0] + second[0]) >= LONG
    }
    if not pairs:
        return []
    names = {item.alias: item.name for item in reader.graph.find_aliases(sorted(pairs)) if item.kind != "topic"}
    return [Change(*pairs[alias], name) for alias, name in names.items()]


@cache
def _by_shape() -> dict[tuple[str, int], list[tuple[str, int]]]:
    """The common words by their first letter and their length, the more common first."""
    shapes: dict[tuple[str, int], list[tuple[str, int]]] = {}
    for word in whole_words():
        shapes.setdefault((word[0], len(word)), []).append((word, letters_of(word)))
    return shapes


@cache
def _slips() -> dict[str, str]:
    return dict(line.split() for line in _lines("slips.txt"))


@cache
def _newer_words() -> frozenset[str]:
    """Words that the models' list lacks."""
    return frozenset(word for line in _lines("newer_words.txt") for word in line.split())


def _lines(name: str) -> list[str]:
    text = resources.files("fivefold.retrieval.understand").joinpath(f"data/{name}").read_text("utf-8")
    return [line for line in text.splitlines() if line and not line.startswith("#")]
