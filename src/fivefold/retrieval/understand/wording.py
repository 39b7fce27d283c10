"""Questions in German, Spanish, French, Italian and Portuguese, as far as small tables reach (`data/foreign.txt`)."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from itertools import accumulate, pairwise

from fivefold.models.bert import whole_words
from fivefold.retrieval.understand.entities import OWN_NAME
from fivefold.stores.interface import Reader
from fivefold.text.calendar_words import MONTH_NAMES, WEEKDAY_NAMES
from fivefold.text.languages import LANGUAGES, Piece, gloss
from fivefold.text.lexemes import bare, given_names, lexemes, stop_words
from fivefold.text.names import Change, in_first_person
from fivefold.values.query import DemandKind, EntityRef

# Typing errors of a question, mended: a word that nobody knows becomes the nearest word that is known.

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
"""Lexemes of the namespace that begin like the word and are compared with it, the most frequent first."""
MAX_WORDS = 60
"""Words of a question that are looked at; a longer text is not a typed question."""
MAX_PLAIN_LENGTH = 5
"""Up to this length only swapped letters make a common word out of one that nobody said."""
MIN_LONG_LENGTH = 7
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
class Rewording:
    """The question in other words, each of which knows its place: typing errors mended, or translated."""

    text: str
    changes: tuple[Change, ...] = ()
    before: Rewording | None = None
    """The rewording that this one changes further."""

    def origin(self, start: int, end: int) -> tuple[int, int]:
        """The place in the question of a stretch of the mended text."""
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
        return self.before.origin(begin, finish) if self.before else (begin, finish)


def mend(question: str, resolved: Sequence[EntityRef], reader: Reader) -> Rewording:
    """The question as it was meant; names that are resolved stay."""
    kept = [(ref.start, ref.start + len(ref.text)) for ref in resolved]
    kept += _quoted(question)
    kept.sort()
    starts, reach = [start for start, _ in kept], list(accumulate((end for _, end in kept), max))

    def stays(match: re.Match[str]) -> bool:
        """True if anything that stays overlaps the word."""
        before = bisect_left(starts, match.end())
        return before > 0 and reach[before - 1] > match.start()

    words = [match for match in _WORD.finditer(question) if not stays(match)]
    if len(words) > MAX_WORDS:
        return Rewording(question)
    changes = [Change(*word.span(), text) for word in words if (text := _meant(word, reader))]
    changes += _joined(question, words, reader)
    return _apply(question, sorted(changes, key=lambda change: change.start))


def _quoted(text: str) -> Iterator[tuple[int, int]]:
    """The text in quotation marks. A mark that nothing closes is not tried again, so that the time is linear."""
    if not any(mark in text for mark in _CLOSING):
        return
    at, unclosed = 0, set[str]()
    for opening in _OPENING.finditer(text):
        mark = opening[0]
        if opening.start() < at or mark in unclosed:
            continue
        end = text.find(_CLOSING[mark], opening.end())
        if end < 0:
            unclosed.add(mark)
        elif mark != "'" or not re.match(r"\w", text[end + 1 : end + 2]):
            at = end + 1
            yield opening.start(), at


def _apply(question: str, changes: Sequence[Change]) -> Rewording:
    pieces, at, applied = [], 0, []
    for change in changes:
        if change.start >= at:
            pieces += [question[at : change.start], change.text]
            at = change.end
            applied.append(change)
    return Rewording("".join((*pieces, question[at:])), tuple(applied))


def _meant(match: re.Match[str], reader: Reader) -> str:
    """The word that was meant, or nothing if the typed one is fine."""
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
    """True if the models know the word, or one that it is formed from; without their words every one passes."""
    words = whole_words()
    if not words or word in words or word in stop_words() or word in _newer_words():
        return True
    stems = (
        word[: -len(end)] for end, fewest in _ENDINGS.items() if word.endswith(end) and len(word) - len(end) >= fewest
    )
    return any(stem in words or f"{stem}e" in words or (stem[-1] == stem[-2] and stem[:-1] in words) for stem in stems)


def _near(word: str, terms: Sequence[str], named: bool) -> Iterator[tuple[int, int, int, int, str]]:
    """Words near enough, each with its errors, its group, how odd the error is, and its rank.

    Words of the namespace come first. A common word that the namespace lacks needs a plain slip of the
    fingers: a rare word is more often right than wrong.
    """
    letters, known, most = letters_of(word), set(terms), 1 if len(word) < MIN_LONG_LENGTH else 2
    for rank, (other, others) in enumerate(_alike(word)):
        if (letters ^ others).bit_count() <= 2 and edit_distance(word, other, 1) == 1:
            said = other in _CALENDAR or not known.isdisjoint(lexemes(other))
            oddness = _oddness(word, other)
            if oddness <= 2 if said else not named and oddness <= (len(word) > MAX_PLAIN_LENGTH):
                yield 1, 0 if said else 2, oddness, rank, other
    for rank, term in enumerate(terms):
        if abs(len(term) - len(word)) > most or len(term) < 4 or word.startswith(term):
            continue
        if (letters ^ letters_of(term)).bit_count() <= 2 * most and (errors := edit_distance(word, term, most)) <= most:
            yield errors, 1, _oddness(word, term), rank, term


def _oddness(typed: str, meant: str) -> int:
    """The rarity of such an error: 0 for letters swapped, 1 for one more or less, 2 for a like sound, 3 for the
    rest."""
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
    return found + [other for length in (-1, 0, 1) for other in _beginning_with(word[0]).get(len(word) + length, ())]


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
        and len(first[0] + second[0]) >= MIN_LONG_LENGTH
    }
    if not pairs:
        return []
    names = {item.alias: item.name for item in reader.graph.find_aliases(sorted(pairs)) if item.kind != "topic"}
    return [Change(*pairs[alias], name) for alias, name in names.items()]


@cache
def _beginning_with(letter: str) -> dict[int, list[tuple[str, int]]]:
    """The common words with that first letter by their length, the more common first, each with its letters.

    Made for one letter at a time, since the first question with a slip of the fingers waits for it.
    """
    lengths: dict[int, list[tuple[str, int]]] = {}
    for word in whole_words():
        if word[0] == letter:
            lengths.setdefault(len(word), []).append((word, letters_of(word)))
    return lengths


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


# The user by name, in the first person: "where does Marit live" asks what "where do I live" asks.

_ASKS_AS_USER = re.compile(r"\b(?:i|my|mine|we|our|ours|myself)\b", re.IGNORECASE)
_ASKS_POLITELY = re.compile(r"\bi(?:['’]d| would)? (?:like|want|need|wonder|was wondering)\b", re.IGNORECASE)


def asked_by_user(question: Rewording, refs: Sequence[EntityRef]) -> Rewording:
    """The question in the first person if it names the user; as it is if somebody else asks in the first person."""
    own = [ref for ref in refs if ref.via == OWN_NAME]
    if not own or _ASKS_AS_USER.search(_ASKS_POLITELY.sub(" ", question.text)):
        return question
    spans = [(ref.start, ref.start + len(ref.text)) for ref in own]
    others = [ref.start for ref in refs if ref.via == "name" and ref.text[:1].isupper()]
    gender = given_names().get(own[0].name.split(" ", 1)[0].casefold())
    changes = in_first_person(question.text, spans, others, None if gender == "n" else gender)
    changes.sort(key=lambda change: change.start)
    if changes[0].start == 0 and question.text[0].isupper():
        changes[0] = replace(changes[0], text=changes[0].text[0].upper() + changes[0].text[1:])
    return replace(_apply(question.text, changes), before=question)


_KINDS: dict[str, DemandKind] = {
    "now": "current",
    "past": "past",
    "count": "count",
    "list": "list",
    "negation": "negation",
    "suggestion": "suggestion",
}
_PHRASES = (*_KINDS, "present", "perfect", "ahead")
_FOREIGN_WORD = re.compile(r"[^\W\d_]+")
_FOREIGN_CALENDAR = re.compile(r"\{(weekday|month|n|day)\}")


@dataclass(frozen=True, slots=True)
class ForeignTime:
    """A time in another language: its English words, and its place."""

    english: str
    start: int
    end: int
    ahead: bool


@dataclass(frozen=True, slots=True)
class _Language:
    empty: frozenset[str]
    calendar: Mapping[str, tuple[str, ...]]
    times: tuple[tuple[re.Pattern[str], str], ...]
    phrases: Mapping[str, re.Pattern[str]]


def foreign_time(question: str, name: str) -> ForeignTime | None:
    """The first time that the tables of the language know, those with more words before those with fewer."""
    language, text = _languages()[name], bare(question)
    for pattern, english in language.times:
        match = pattern.search(text)
        if match:
            phrases = language.phrases
            ahead = phrases["ahead"].search(text) is not None and not phrases["perfect"].search(text)
            return ForeignTime(_in_english(english, match, language), match.start(), match.end(), ahead)
    return None


def foreign_demands(question: str, name: str) -> Iterator[tuple[DemandKind, re.Match[str] | None]]:
    """The demands that the tables of the language know; the present tense asks for what holds now."""
    phrases, text = _languages()[name].phrases, bare(question)
    matches = {key: phrases[key].search(text) for key in (*_KINDS, "present", "perfect")}
    if matches["now"] and matches["past"]:
        matches["past"] = None
    yield from ((kind, matches[key]) for key, kind in _KINDS.items() if matches[key])
    if matches["present"] and not any(matches[key] for key in ("now", "past", "perfect", "suggestion")):
        yield "current", None


def has_subject(question: str, name: str, time: ForeignTime) -> bool:
    """True if the question is about anything besides its time."""
    rest = bare(f"{question[: time.start]} {question[time.end :]}")
    return not _languages()[name].empty.issuperset(_FOREIGN_WORD.findall(rest))


def _in_english(template: str, match: re.Match[str], language: _Language) -> str:
    found = {key: value for key, value in match.groupdict().items() if value}
    if "weekday" in found:
        found["weekday"] = WEEKDAY_NAMES[_index(language.calendar["weekdays"], found["weekday"])].title()
    if "month" in found:
        found["month"] = MONTH_NAMES[_index(language.calendar["months"], found["month"])].title()
    if "n" in found and not found["n"].isdigit():
        found["n"] = str(_index(language.calendar["numbers"], found["n"]) + 1)
    return _FOREIGN_CALENDAR.sub(lambda name: found[name[1]], template)


def _index(patterns: tuple[str, ...], word: str) -> int:
    return next(at for at, pattern in enumerate(patterns) if re.fullmatch(pattern, word))


@cache
def _languages() -> dict[str, _Language]:
    sections: dict[str, list[str]] = {}
    lines: list[str] = []
    text = resources.files("fivefold.retrieval.understand").joinpath("data/foreign.txt").read_text("utf-8")
    for line in filter(None, text.splitlines()):
        if line.startswith("["):
            lines = sections.setdefault(line[1:-1], [])
        elif not line.startswith("#"):
            lines.append(line)
    return {name: _language(name, sections) for name in LANGUAGES}


def _language(name: str, sections: Mapping[str, list[str]]) -> _Language:
    calendar = {key: tuple(sections[f"{name} {key}"][0].split()) for key in ("weekdays", "months", "numbers")}
    parts = {
        "weekday": "|".join(calendar["weekdays"]),
        "month": "|".join(calendar["months"]),
        "n": rf"\d{{1,3}}|{'|'.join(calendar['numbers'])}",
        "day": r"\d{1,2}",
    }
    pairs = [line.split(" = ") for line in sections[f"{name} times"]]
    phrases = {key: re.compile(rf"\b(?:{'|'.join(sections[f'{name} {key}'])})\b") for key in _PHRASES}
    return _Language(
        frozenset(" ".join((*sections[f"{name} words"], *sections[f"{name} empty"])).split()),
        calendar,
        tuple((re.compile(rf"\b(?:{_with_calendar(pattern, parts)})(?!\w)"), english) for pattern, english in pairs),
        phrases,
    )


def _with_calendar(pattern: str, parts: Mapping[str, str]) -> str:
    """The pattern with each part of the calendar in its place; only its first place has the name."""
    named: set[str] = set()

    def part(match: re.Match[str]) -> str:
        name = match[1]
        if name in named:
            return f"(?:{parts[name]})"
        named.add(name)
        return f"(?P<{name}>{parts[name]})"

    return _FOREIGN_CALENDAR.sub(part, pattern)


# A question in another language, in English words, each of which knows its place in the question.


def translated(question: str, language: str, names: Sequence[EntityRef]) -> tuple[Rewording, str]:
    """The question in English words, and further words to search for; names that the store knows stay as they are."""
    found = gloss(question, language, [ref.text for ref in names if ref.text[:1].isupper()])
    return Rewording(found.text, tuple(_changes(found.pieces))), " ".join(found.further)


def _changes(pieces: Sequence[Piece]) -> Iterator[Change]:
    """Each word by its gloss, and what stands between two words by a space."""
    before = 0
    for piece in pieces:
        yield Change(before, piece.start, " " if before else "")
        yield Change(piece.start, piece.end, piece.english)
        before = piece.end
