"""Facts of a profile: the clauses of a text that say something lasting, each with its section and its weight."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from functools import cache

from fivefold.text.calendar_words import NOT_IN_ORDINAL
from fivefold.text.lexemes import IRREGULAR_PAST, given_names, late_pattern, phrase_lines, text_cache
from fivefold.text.names import KIN_ROLES, OTHER_ROLES
from fivefold.values.known import SECTIONS, FactSpan, Section
from fivefold.writing.extract.statements import is_assistant

MAX_FACTS = 24
"""Maximum number of facts read from one text: a whole book is not a profile."""

MAX_CLAUSE = 100
"""A longer sentence is read clause by clause."""

MAX_FACT = 180
"""Characters of a fact; of a longer clause it has the beginning."""

MIN_CLAUSE = 16
"""A shorter clause belongs to the one before it."""

_SENTENCE = late_pattern(
    r"(?<=[.!?…])(?<!\b[DM]r\.)(?<!\bMrs\.)(?<!\bMs\.)(?<!\bProf\.)(?<!\bSt\.)(?<!\bNo\.)(?<!\be\.g\.)(?<!\bMag\.)(?<!\bSr\.)"
    r"(?<!\bDra\.)(?<!\bSra\.)(?<!\bRef\.)(?<!\bvs\.)"
    rf"{NOT_IN_ORDINAL}[\"”’')\]]*\s+|(?<!\s)\s*\n+\s*"
)
_CLAUSE = late_pattern(r";\s+|(?<!\s)\s+[–—-]\s+|,\s+(?=(?:and|but|so|because|which|who|while|though|although|then)\b)")
_LEAD = late_pattern(
    r"(?:(?:(?:and|but|so|oh|also|plus|btw|right|ok|well|then|because|note|update)\b[,:]?|(?:yes|no)[,:])\s+)+", re.I
)
_WORD = late_pattern(r"[^\W\d_]+(?:['’-][^\W\d_]+)*|[=&]")
_CODE = late_pattern(r"\b(?=\w*\d)(?=\w*[A-Za-z])[\w-]{4,}\b|\d{4,}|\d[\d -]{5,}\d|(?<![\w.])[\w.]+@[\w.]+|\b\w+-\d+\b")
_NAME = late_pattern(r"(?<!^)(?<![.!?] )\b[A-ZÀ-Þ][\w’'-]+")
_REPLY = late_pattern(
    r"\b(?:you|your|I['’]ll|I['’]ve|shall I|would you|let me|glad|congratulations|noted|saved)\b", re.I
)
_PAST = frozenset((*IRREGULAR_PAST.split("|"), "had", "was", "were"))
_NUMBERED = late_pattern(r"\d")
_BEGINS = late_pattern(
    r"(?:I(?:['’]\w+)?|we|he|she|it|it['’]s|they|my|our|his|her|the|there|this|that|no|not|never|always|every"
    r"|[A-ZÀ-Þ]\w*)\b"
)
_FINE = late_pattern(
    r";\s+|(?<!\s)\s+(?:[–—-]\s+|\((?=\w{2,}[^)]{10,200}\)))|:\s+"
    r"|(?:,|(?<![\s,]))\s+(?=(?:but|because|so that|which|who|while|though|although|since when|where)\s)"
    r"|,\s+(?=(?:and|so|then|or)\s)"
    r"|,\s+(?=(?:[Ii]|[Ii]['’]\w+|we|we're|he|he's|she|she's|it|it's|they|they're|you|there|there's|that's|this|his|her|my"
    r"|our|their|the|an?|no|not|from|until|till|since|with|for|on|at|every|starts?|ends?|named|called)\b)"
)
_PART = late_pattern(
    r",\s+|:\s+|(?<!\s)\s+"
    r"(?=(?:and|but|because|so that|which|who|while|though|although|where|when|if|before|after|until)\s)"
)
_TELLING = frozenset(("who", "home", "work", "people", "health", "things", "habits", "tastes", "projects", "numeral"))
"""Groups of words of which a part of a line must have one, or a name or a figure."""

MIN_LINE = 3
"""Words of a line."""


@cache
def _sections_of() -> dict[str, tuple[str, ...]]:
    """The sections and other groups that a word belongs to."""
    groups: dict[str, tuple[str, ...]] = {}
    for name, lines in phrase_lines("fivefold.writing.extract", "data/facts.txt").items():
        for word in " ".join(lines).split():
            groups[word] = (*groups.get(word, ()), name)
    for word in (*KIN_ROLES, *OTHER_ROLES):
        if "people" not in groups.get(word, ()):
            groups[word] = (*groups.get(word, ()), "people")
    return groups


@cache
def weights_of(kind: str) -> dict[str, float]:
    """The fitted weights of the marks of a clause, of its words, or of the marks of a line among others."""
    rows = (line.split() for line in phrase_lines("fivefold.writing.extract", "data/fact_weights.txt")[kind])
    return {name: float(weight) for name, weight in rows}


@text_cache(256)
def clauses(text: str) -> tuple[tuple[int, int], ...]:
    """The sentences of a text, and of a long one its clauses, without what only leads into them."""
    return tuple(_clauses(text))


def _clauses(text: str) -> Iterator[tuple[int, int]]:
    for start, end in _split(text, 0, len(text), _SENTENCE):
        parts = [(start, end)] if end - start <= MAX_CLAUSE else _split(text, start, end, _CLAUSE)
        yield from filter(None, (_bare(text, *part) for part in parts))


def _bare(text: str, start: int, end: int) -> tuple[int, int] | None:
    """The span without what leads into it and the signs at its end; None if nothing is left."""
    lead = _LEAD.match(text, start, end)
    begin = lead.end() if lead and end - lead.end() >= MIN_CLAUSE else start
    stop = begin + len(text[begin:end].rstrip(" .;,!\n"))
    return (begin, stop) if stop > begin else None


def _split(text: str, start: int, end: int, breaks: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    """The parts between the breaks; one that is very short stays with its neighbour."""
    begin = start
    for match in breaks.finditer(text, start, end):
        if match.start() - begin >= MIN_CLAUSE and end - match.end() >= MIN_CLAUSE:
            yield begin, match.start()
            begin = match.end()
    if end > begin:
        yield begin, end


def lines(text: str) -> Iterator[tuple[int, int]]:
    """The clauses of a text, shorter than in `clauses`, without parts at their ends that tell nothing."""
    for start, end in _split(text, 0, len(text), _SENTENCE):
        for part in _split(text, start, end, _FINE):
            if bare := _bare(text, *part):
                yield _trimmed(text, *bare)


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """The span without the parts at its ends that have no name, no figure and no word of a section."""
    breaks = [(match.start(), match.end()) for match in _PART.finditer(text, start, end)]
    if not breaks:
        return start, end
    first, last = start, end
    while breaks and not _tells(text[breaks[-1][1] : last], inside=True):
        last = breaks.pop()[0]
    while breaks and _BEGINS.match(text, breaks[0][1]) and not _tells(text[first : breaks[0][0]], inside=first > start):
        first = breaks.pop(0)[1]
    return (first, last) if len(_WORD.findall(text, first, last)) >= MIN_LINE else (start, end)


def _tells(part: str, inside: bool) -> bool:
    """True if a part of a clause has a name, a figure or a word of a section; `inside` it a first capital is a name."""
    groups = _sections_of()
    if _NUMBERED.search(part) or _NAME.search(part) or (inside and part[:1].isupper() and part[1:2].islower()):
        return True
    return any(not _TELLING.isdisjoint(groups.get(word, ())) for word in words_of(part))


def words_of(clause: str) -> list[str]:
    if clause.isascii():
        return _WORD.findall(clause.lower())
    return [word.casefold().replace("’", "'") for word in _WORD.findall(clause)]


def features(
    text: str, start: int, end: int, words: Sequence[str], speaker: str | None, type: str, place: int
) -> dict[str, float]:
    """The marks of a clause that its weight is a sum of; `place` is its number in the text."""
    clause = text[start:end]
    groups = _sections_of()
    found: dict[str, float] = {}
    for word in words:
        for name in groups.get(word, ()):
            found[name] = 2.0 if name in found else 1.0
    unique = set(words)
    names = len(_NAME.findall(clause))
    numbered = _NUMBERED.search(clause) is not None
    code = (numbered or "@" in clause) and _CODE.search(clause) is not None
    own, by_assistant = not _OWN.isdisjoint(unique), is_assistant(speaker)
    found.update(
        {
            "given": not given_names().keys().isdisjoint(unique),
            "name": names > 0,
            "names": min(3, names),
            "code": code,
            "number": numbered and not code,
            "past": not _PAST.isdisjoint(unique) or any(len(word) > 4 and word.endswith("ed") for word in unique),
            "opens": place == 0,
            "own": own,
            "own_state": own and not _OURS.isdisjoint(unique) and not _HOLDS.isdisjoint(unique),
            "assistant": by_assistant,
            "reply": by_assistant and _REPLY.search(clause) is not None,
            "exclaims": text[end : end + 1] == "!",
            "commas": min(3, clause.count(",")),
            "quotes": not _QUOTES.isdisjoint(clause),
            "length": min(2.0, len(words) / 12),
            "later": min(1.0, place / 5),
            "text": min(2.0, len(text) / 200),
            "short": len(words) <= MIN_LINE,
            f"type_{type}": 1,
        }
    )
    return found


_OWN = frozenset(("i", "my", "i'm", "me", "we", "our", "user"))
_OURS = frozenset(("my", "our", "i'm"))
_HOLDS = frozenset(("is", "are", "has", "lives", "works", "i'm"))
_QUOTES = frozenset('"«»“”')


def facts(text: str, speaker: str | None, type: str = "fact") -> tuple[FactSpan, ...]:
    """The clauses of a text that may stand in a profile."""
    of_marks, of_words = weights_of("marks"), weights_of("words")
    found: list[FactSpan] = []
    for place, (start, end) in enumerate(lines(text)):
        if len(found) == MAX_FACTS:
            break
        if text[end : end + 1] == "?" or text[end - 1] == "?":
            continue
        words = words_of(text[start:end])
        marks = features(text, start, end, words, speaker, type, place)
        total = of_marks["bias"] + sum([of_marks.get(name, 0.0) * value for name, value in marks.items()])
        total += sum([of_words.get(word, 0.0) for word in set(words)])
        if (weight := 1 / (1 + math.exp(-total))) >= MIN_WEIGHT:
            found.append(FactSpan(start, _end(text, start, end), _section(marks), round(weight, 2)))
    return tuple(found)


MIN_WEIGHT = 0.05
"""Minimum chance of a fact that is stored; a pinned memory may show a less likely one."""


def _end(text: str, start: int, end: int) -> int:
    """The end of a fact: the end of its clause, or a word of a long one."""
    half = start + MAX_FACT // 2
    return end if end - start <= MAX_FACT else max(text.rfind(" ", half, start + MAX_FACT), half)


_PRIOR = {"avoid": 0.4, "who": 0.6, "open": 0.5, "decisions": 0.6, "commands": 0.3, "habits": 0.9, "projects": 0.7}
"""Sections whose words are common elsewhere count less."""


def _section(marks: dict[str, float]) -> Section:
    found = [name for name in SECTIONS if name in marks]
    if found:
        return max(found, key=lambda name: marks[name] * _PRIOR.get(name, 1.0))
    return "things" if marks.get("code") else "people" if marks.get("given") or marks.get("name") else "who"
