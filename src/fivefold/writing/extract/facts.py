"""Facts of a profile: the clauses of a text that say something lasting, each with its section and its weight."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from functools import cache

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
    r"(?<=[.!?…])(?<!\b[DM]r\.)(?<!\bMrs\.)(?<!\bMs\.)(?<!\bProf\.)(?<!\bSt\.)(?<!\bNo\.)(?<!\be\.g\.)(?<!\bMag\.)"
    r"[\"”’')\]]*\s+|\s*\n+\s*"
)
_CLAUSE = late_pattern(r";\s+|\s+[–—-]\s+|,\s+(?=(?:and|but|so|because|which|who|while|though|although|then)\b)")
_LEAD = late_pattern(
    r"(?:(?:and|but|so|oh|also|plus|btw|right|ok|well|then|yes|no|because|note|update)\b[,:]?\s+)+", re.I
)
_WORD = late_pattern(r"[^\W\d_]+(?:['’-][^\W\d_]+)*|[=&]")
_CODE = late_pattern(r"\b(?=\w*\d)(?=\w*[A-Za-z])[\w-]{4,}\b|\d{4,}|\d[\d -]{5,}\d|[\w.]+@[\w.]+|\b\w+-\d+\b")
_NAME = late_pattern(r"(?<!^)(?<![.!?] )\b[A-ZÀ-Þ][\w’'-]+")
_REPLY = late_pattern(
    r"\b(?:you|your|I['’]ll|I['’]ve|shall I|would you|let me|glad|congratulations|noted|saved)\b", re.I
)
_PAST = late_pattern(rf"\b(?:{IRREGULAR_PAST}|had|was|were|[a-z]{{3,}}ed)\b", re.I)
_NUMBERED = late_pattern(r"\d")


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
def _weights() -> dict[str, float]:
    rows = (line.split() for line in phrase_lines("fivefold.writing.extract", "data/fact_weights.txt")["weights"])
    return {name: float(weight) for name, weight in rows}


@text_cache(256)
def clauses(text: str) -> tuple[tuple[int, int], ...]:
    """The sentences of a text, and of a long one its clauses, without what only leads into them."""
    return tuple(_clauses(text))


def _clauses(text: str) -> Iterator[tuple[int, int]]:
    for start, end in _split(text, 0, len(text), _SENTENCE):
        parts = [(start, end)] if end - start <= MAX_CLAUSE else list(_split(text, start, end, _CLAUSE))
        for first, last in parts:
            lead = _LEAD.match(text, first, last)
            begin = lead.end() if lead and last - lead.end() >= MIN_CLAUSE else first
            stop = last
            while stop > begin and text[stop - 1] in " .;,!\n":
                stop -= 1
            if stop > begin:
                yield begin, stop


def _split(text: str, start: int, end: int, breaks: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    """The parts between the breaks; one that is very short stays with its neighbour."""
    begin = start
    for match in breaks.finditer(text, start, end):
        if match.start() - begin >= MIN_CLAUSE and end - match.end() >= MIN_CLAUSE:
            yield begin, match.start()
            begin = match.end()
    if end > begin:
        yield begin, end


def _words(clause: str) -> list[str]:
    if clause.isascii():
        return _WORD.findall(clause.lower())
    return [word.casefold().replace("’", "'") for word in _WORD.findall(clause)]


def features(clause: str, speaker: str | None, opens: bool) -> dict[str, float]:
    """The marks of a clause that its weight is a sum of."""
    groups = _sections_of()
    words = _words(clause)
    found: dict[str, float] = {}
    for word in words:
        for name in groups.get(word, ()):
            found[name] = 2.0 if name in found else 1.0
    if not given_names().keys().isdisjoint(words):
        found["given"] = 1.0
    if _NAME.search(clause):
        found["name"] = 1.0
    numbered = _NUMBERED.search(clause) is not None
    if (numbered or "@" in clause) and _CODE.search(clause):
        found["code"] = 1.0
    elif numbered:
        found["number"] = 1.0
    if _PAST.search(clause):
        found["past"] = 1.0
    if clause.endswith("?"):
        found["asks"] = 1.0
    if opens:
        found["opens"] = 1.0
    if not {"i", "my", "i'm", "me", "we", "our", "user"}.isdisjoint(words):
        found["own"] = 1.0
    if is_assistant(speaker) and _REPLY.search(clause):
        found["reply"] = 1.0
    found["length"] = min(2.0, len(words) / 12)
    if len(words) < 4:
        found["short"] = 1.0
    return found


def facts(text: str, speaker: str | None) -> tuple[FactSpan, ...]:
    """The clauses of a text that may stand in a profile."""
    weights = _weights()
    found: list[FactSpan] = []
    for place, (start, end) in enumerate(clauses(text)):
        if len(found) == MAX_FACTS:
            break
        marks = features(text[start:end], speaker, place == 0)
        total = weights["bias"] + sum(weights.get(name, 0.0) * value for name, value in marks.items())
        if marks.get("asks") or (weight := 1 / (1 + math.exp(-total))) < MIN_WEIGHT:
            continue
        found.append(FactSpan(start, _end(text, start, end), _section(marks), round(weight, 2)))
    return tuple(found)


MIN_WEIGHT = 0.05
"""Minimum chance of a fact that is stored; a pinned memory may show a less likely one."""


def _end(text: str, start: int, end: int) -> int:
    """Where a fact ends: with its clause, or behind a word of a long one."""
    half = start + MAX_FACT // 2
    return end if end - start <= MAX_FACT else max(text.rfind(" ", half, start + MAX_FACT), half)


_PRIOR = {"avoid": 0.4, "who": 0.6, "open": 0.5, "decisions": 0.6, "commands": 0.6, "habits": 0.9, "projects": 0.7}
"""Sections whose words are common elsewhere count less."""


def _section(marks: dict[str, float]) -> Section:
    found = [name for name in SECTIONS if name in marks]
    if found:
        return max(found, key=lambda name: marks[name] * _PRIOR.get(name, 1.0))
    return "things" if marks.get("code") else "people" if marks.get("given") or marks.get("name") else "who"
