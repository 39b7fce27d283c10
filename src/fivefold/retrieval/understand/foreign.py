"""Questions in German, Spanish, French, Italian and Portuguese, as far as small tables reach (`data/foreign.txt`)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

from fivefold.retrieval.understand.spelling import Change, Mended
from fivefold.text.calendar_words import MONTH_NAMES, WEEKDAY_NAMES
from fivefold.text.languages import LANGUAGES, Piece, gloss
from fivefold.text.lexemes import bare
from fivefold.values.query import DemandKind, EntityRef

_KINDS: dict[str, DemandKind] = {
    "now": "current",
    "past": "past",
    "count": "count",
    "list": "list",
    "negation": "negation",
    "suggestion": "suggestion",
}
_PHRASES = (*_KINDS, "present", "perfect", "ahead")
_WORD = re.compile(r"[^\W\d_]+")
_CALENDAR = re.compile(r"\{(weekday|month|n|day)\}")


@dataclass(frozen=True, slots=True)
class ForeignTime:
    """A time in another language: its English words, and where it stands."""

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
    """Whether the question is about anything besides its time."""
    rest = bare(f"{question[: time.start]} {question[time.end :]}")
    return not _languages()[name].empty.issuperset(_WORD.findall(rest))


def _in_english(template: str, match: re.Match[str], language: _Language) -> str:
    found = {key: value for key, value in match.groupdict().items() if value}
    if "weekday" in found:
        found["weekday"] = WEEKDAY_NAMES[_index(language.calendar["weekdays"], found["weekday"])].title()
    if "month" in found:
        found["month"] = MONTH_NAMES[_index(language.calendar["months"], found["month"])].title()
    if "n" in found and not found["n"].isdigit():
        found["n"] = str(_index(language.calendar["numbers"], found["n"]) + 1)
    return _CALENDAR.sub(lambda name: found[name[1]], template)


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

    return _CALENDAR.sub(part, pattern)


# A question in another language, in English words, each of which knows its place in the question.


def translated(question: str, language: str, names: Sequence[EntityRef]) -> tuple[Mended, str]:
    """The question in English words, and further words to search for; names that the store knows stay as they are."""
    found = gloss(question, language, [ref.text for ref in names if ref.text[:1].isupper()])
    return Mended(found.text, tuple(_changes(found.pieces))), " ".join(found.further)


def _changes(pieces: Sequence[Piece]) -> Iterator[Change]:
    """Each word by its gloss, and what stands between two words by a space."""
    before = 0
    for piece in pieces:
        yield Change(before, piece.start, " " if before else "")
        yield Change(piece.start, piece.end, piece.english)
        before = piece.end
