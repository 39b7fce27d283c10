"""The agenda: what memories name a day for, by that day; what was moved or cancelled since is left out."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo

from fivefold.namespace import Namespace
from fivefold.retrieval.known import one_line
from fivefold.stores.interface import Reader
from fivefold.text.calendar_words import MONTH_NAMES, WEEKDAY_NAMES
from fivefold.text.lexemes import late_pattern, lexemes, text_cache
from fivefold.values.entities import Span
from fivefold.values.filters import EVERYTHING
from fivefold.values.known import HIDDEN, Agenda, Fact
from fivefold.values.memory import Memory, origin_of
from fivefold.values.times import DAY_MICROS, in_zone
from fivefold.writing.extract.facts import clauses

MAX_DATED = 300
"""Memories that are read for an agenda."""

AT_ONCE = 40
"""Dates whose later memories are read in one go; those after the last one that is shown are not."""

MAX_STRETCH = 32 * DAY_MICROS
"""A longer stretch of time is not a date of an agenda: 'next year'."""

MAX_OVERDUE = timedelta(days=14)
"""For how long something is overdue that was due and that nothing says is done."""

REPEATS_AHEAD = timedelta(days=7)
"""Time ahead for which weekly events are listed."""

MIN_CHANCE = 0.1
"""From this chance on a later memory is asked whether it moves a date."""

RARE_COUNT = 4
"""A word that so many of the memories around the dates have says what is dated."""

MAX_LATER = 30
"""Memories that share words with one that is dated, and may move or cancel it."""

_MOVES = late_pattern(
    r"\b(?:mov(?:ed?|es|ing)|pushed|postponed|put (?:off|back|forward|(?:\w+ ){1,3}off)"
    r"|brought forward|delayed|rescheduled|shifted|changed|swapped|switched|instead|now (?:on|it['’]?s|at|the)|is now"
    r"|are now|not the|new (?:date|time)|different day|slipped|earlier|later than|final)\b",
    re.I,
)
_CANCELS = late_pattern(
    r"\b(?:cancel+(?:ed|ing|s)?|call(?:ed|ing)? (?:[\w'’]+ ){0,6}off|scrapped|shelved|off the table|on hold|rained off"
    r"|not (?:coming|happening|going ahead|any ?more)|isn['’]?t (?:happening|going ahead)|until further notice"
    r"|fell through|won['’]?t (?:happen|come|go|make|take place)|can['’]?t (?:come|make)|without me|without us"
    r"|said no|over and done|money back|refund(?:ed)?|ha(?:s|ve|d) to wait|did(?:n['’]?t| not) work out"
    r"|(?:sold|gave|passed) (?:away |on )?(?:my|our|the) (?:\w+ )?(?:tickets?|place|seats?|spot|entry|slot)"
    r"|(?:is|are|it['’]s|that['’]s) (?:now |all )?off(?=\s*(?:$|[,.;!–-]|now|then|because|since|this|until)))\b",
    re.I,
)
"""Words that cancel the thing that their clause names."""
_CANCELS_NEXT = late_pattern(
    r"\b(?:no(?:t any)?|without(?: the)?|skip(?:ped|ping|s)?|drop(?:ped|ping|s)?|g[ai]ve(?:n)? up(?: on)?"
    r"|decided against|(?:no longer|don['’]?t|not) (?:need|want|have to|go(?:ing)?|do(?:ing)?|coming)(?: to| for| on)?"
    r"|(?:am|are|I['’]m|we['’]re|want|pull\w*|back\w*|dropp?\w*) out of|with(?:drew|drawn|drawing) from|declined"
    r"|(?:takes?|took|taken|covers?|covering)(?: over)? (?:my|our))\s+(?P<what>(?:"
    r"(?!(?:at|in|of|for|before|on|from|with|to|after|because|when|if|is|are|we|I|he|she|they)\b)"
    r"[\w’'-]+[^\w,.;:!?]+){0,3}[\w’'-]+)",
    re.I,
)
"""Words that cancel the thing that stands right behind them."""
_DUE = late_pattern(
    r"\b(?:due|deadline|must|needs? to|have to|pay|renew|return(?:ed)? by|back by|expires?|hand in|submit"
    r"|by (?:the )?\d)\b",
    re.I,
)
_DONE = late_pattern(
    r"\b(?:done|paid|sent|submitted|finished|handed in|returned|sorted|renewed|passed|went (?:well|fine|ok)|collected"
    r"|picked up|was|were|had|got)\b",
    re.I,
)
_NOT_BEFORE = late_pattern(r"\b(?:not|no longer|instead of)(?: (?:the|on|in|for|from))*\s*$", re.I)
_NOT_AT_ALL = late_pattern(r"\b(?:not|no longer|instead of)\b", re.I)
_NOT_DONE = late_pattern(
    r"\b(?:would(?:['’]ve)?|was to|were to|should have) (?:be|been|have been)\b.{0,60}\bbut\b"
    r"|\b(?:do(?:es)?n['’]?t|won['’]?t|can['’]?t|not) (?:visit|come|go|happen|take place|work|train|meet)\b",
    re.I,
)
_DAYS = {name[:3]: place for place, name in enumerate(WEEKDAY_NAMES)}
_DAY_WORD = rf"(?:{'|'.join(WEEKDAY_NAMES)}|mon|tues?|weds?|thu(?:rs)?|fri|sat|sun)"
_WEEKDAY = late_pattern(rf"(?:on |next |this )?{_DAY_WORD}\.?", re.I)
_WEEKLY = late_pattern(
    rf"\b(?:every|each|always on) (?P<every>{_DAY_WORD})\b(?! \d)|\b(?P<plural>(?:{'|'.join(WEEKDAY_NAMES)})s)\b"
    rf"|\b(?P<weekly>weekly|once a week)[^.;]{{0,30}}?(?P<on>{_DAY_WORD})\b",
    re.I,
)
_MOVING_HOUSE = late_pattern(
    r"\b(?:moving (?:day|in|house|on)|the move|we['’]?(?:re)? mov(?:e|ing)|removal \w+)\b", re.I
)
_BIRTHDAY = late_pattern(r"\b(?:birthday|born on|bday|turns \d+ on)\b", re.I)
_DATE_WORDS = late_pattern(r"\b(?:\d[\d.:/-]*(?:st|nd|rd|th|am|pm)?|[ap]m|o['’]clock)\b", re.I)
_STOP = frozenset(
    "mon tue tues wed weds thu thur fri sat sun jan feb mar apr may jun jul aug sep sept oct nov dec today tomorrow "
    "tmrw move goe cancel new now chang instead date time day week next last back get got come go one first still "
    "final note user book later earlier due from until till half one two three four five six seven eight nine ten "
    "eleven twelve morning evening afternoon night noon year month place".split()
).union(stem for name in (*WEEKDAY_NAMES, *MONTH_NAMES) for stem in lexemes(name))


_Later = tuple[Memory, "list[_Item] | None"]


@dataclass(frozen=True, slots=True)
class _Item:
    """A dated clause: the memory, its day, its text, and the words that say what it is."""

    memory: Memory
    span: Span
    text: str
    words: frozenset[str]
    denied: bool = False
    """True if the text says that it is not on that day."""


def agenda(namespace: Namespace, start: datetime, end: datetime | None, limit: int, secrets: bool) -> Agenda:
    """The dated facts in the window, and the overdue ones at its start; `limit` is their maximum number."""
    reader, zone = namespace.reader, namespace.settings.zone
    last = end or datetime.max.replace(tzinfo=start.tzinfo)
    items = [
        item
        for item in _items(reader, start - MAX_OVERDUE, last)
        if item.span.start >= start or (item.span.end > start and _days(item.span) > 1) or _is_overdue(item, start)
    ]
    kept: list[Fact] = []
    moved: list[Fact] = []
    seen: list[_Item] = []
    for place, item in enumerate(items):
        if place % AT_ONCE == 0:
            if len(kept) >= limit:
                break
            later, common = _later_memories(reader, items[place : place + AT_ONCE])
        others = later[item.memory.row]
        gone = item.denied or item.memory.superseded_by is not None
        gone = gone or any(_moves(memory, item, dates, common) for memory, dates in others)
        if not gone and _is_told_again(item, seen):
            continue
        overdue = item.span.start < start and item.span.end <= start
        if overdue and any(_DONE.search(memory.content) for memory, _ in others):
            continue
        (moved if gone else kept).append(_fact(item, secrets, overdue))
        if not gone:
            seen.append(item)
    kept += _repeating(reader, start, min(last, start + REPEATS_AHEAD), last, zone, secrets, seen)
    kept.sort(key=lambda fact: (fact.start or start, fact.since))
    return Agenda(start=start, end=end, facts=tuple(kept[:limit]), moved=tuple(moved[:limit]))


def _days(span: Span) -> float:
    return (span.end - span.start) / timedelta(days=1)


def _items(reader: Reader, start: datetime, end: datetime) -> list[_Item]:
    """The dated clauses of the window that were said before their day, in the order of the days."""
    rows = reader.facts.dated(start, end, MAX_STRETCH, MAX_DATED)
    items = []
    for memory, extraction in reader.memories.with_extractions(rows):
        over = memory.superseded_by is None and not memory.is_current(start)
        if memory.kind == "session" or HIDDEN in memory.tags or over:
            continue
        spans = [span for span in extraction.dates if start <= span.start < end and _days(span) <= 32]
        items += [item for item in _of_memory(memory, spans) if memory.event_at < item.span.end]
    return sorted(items, key=lambda item: (item.span.start, item.memory.event_at, item.memory.row))


def _of_memory(memory: Memory, spans: Sequence[Span]) -> Iterator[_Item]:
    """Each date with the text that says what it is for; a weekday beside a date is one with it."""
    text, last = memory.content, 0
    parts = list(clauses(text))
    for place, span in enumerate(spans):
        if _WEEKDAY.fullmatch(span.text) and _is_followed(text, span, spans[place + 1 :]):
            continue  # "Fri 22 May" is one day
        at = text.casefold().find(span.text.casefold(), last)
        at = at if at >= 0 else max(0, text.casefold().find(span.text.casefold()))
        last = at + len(span.text)
        number = next((i for i, (begin, stop) in enumerate(parts) if begin <= at < stop), None)
        if number is None:
            continue
        begin, stop = parts[number]
        several = sum(begin <= text.casefold().find(each.text.casefold(), begin) < stop for each in spans)
        first, end = _part(text, begin, stop, at, last) if several > 1 else (begin, stop)
        words = _words(text[first:end])
        while len(words) < MIN_WORDS and number > 0:  # "it's Thursday the 18th": what it is stands before
            number -= 1
            begin = first = parts[number][0]
            words |= _words(text[slice(*parts[number])])
        if several < LIST:
            whole = len(text) <= MAX_WHOLE and _CANCELS.search(text) is None
            first, end = (0, len(text)) if whole else (begin, stop)
        words -= frozenset(lexemes(span.text))
        if words:
            denied = _NOT_BEFORE.search(text, begin, at) or _NOT_DONE.search(text, begin, stop)
            yield _Item(memory, span, text[first:end].strip(), words, denied is not None)


MIN_WORDS = 2
"""Words that say what is dated; with fewer, the clause before is read along."""

LIST = 3
"""So many dates of one sentence are a list, of which each has its own line."""

MAX_WHOLE = 180
"""Characters of a memory that stands whole in an agenda."""


def _is_followed(text: str, span: Span, after: Sequence[Span]) -> bool:
    """True if the next date stands right behind a weekday."""
    return bool(after) and re.search(rf"{re.escape(span.text)},? (?:the )?{re.escape(after[0].text)}", text) is not None


def _part(text: str, begin: int, stop: int, at: int, end: int) -> tuple[int, int]:
    """The part of a list of dates that one of them stands in, if that says anything besides the date."""
    first = max(text.rfind(sign, begin, at) for sign in (", ", ": ", " and ", "; ")) + 1
    ends = [place for sign in (", ", "; ", " and ") if (place := text.find(sign, end, stop)) >= 0]
    part = max(begin, first), min(ends, default=stop)
    while part[0] < part[1] and text[part[0]] in " ,:;":
        part = part[0] + 1, part[1]
    return part if _words(text[slice(*part)]) else (begin, stop)


@text_cache(2048)
def _words(text: str) -> frozenset[str]:
    """The words that say what is dated, without those that say when."""
    plain = _DATE_WORDS.sub(" ", text)
    words = [word for word in lexemes(plain) if word not in _STOP and len(word) > 2 and not word.isdigit()]
    return frozenset([*words, "moving-day"] if _MOVING_HOUSE.search(text) else words)


def _is_overdue(item: _Item, start: datetime) -> bool:
    return item.span.start < start and _DUE.search(item.text) is not None


def _later_memories(reader: Reader, items: Sequence[_Item]) -> tuple[dict[int, list[_Later]], Counter[str]]:
    """By the row of each dated memory, those said after it, with their own dates if they may move or cancel something.

    Also how many of all these have each word.
    """
    words: dict[int, set[str]] = {}
    for item in items:
        words.setdefault(item.memory.row, set()).update(item.words)
    found: dict[int, set[int]] = {row: set() for row in words}
    for link in reader.memories.successions(sorted(words)):
        if link.chance >= MIN_CHANCE and link.older in found:
            found[link.older].add(link.newer)
    for row, own in words.items():
        found[row].update(hit.row for hit in reader.search.lexical(sorted(own), MAX_LATER, EVERYTHING) if hit.row > row)
    read = reader.memories.fetch(sorted({row for rows in found.values() for row in rows}))
    marked = [row for row, memory in read.items() if _says_a_change(memory.content)]
    dates = {memory.row: extraction.dates for memory, extraction in reader.memories.with_extractions(marked)}
    later: dict[int, _Later] = {
        row: (memory, list(_of_memory(memory, dates[row])) if row in dates else None) for row, memory in read.items()
    }
    common = Counter(word for memory in read.values() for word in _words(memory.content))
    said_at = {item.memory.row: item.memory.event_at for item in items}
    after = {
        row: [later[other] for other in sorted(others) if other in later and read[other].event_at >= said_at[row]]
        for row, others in found.items()
    }
    return after, common


@text_cache(2048)
def _says_a_change(text: str) -> bool:
    """True if something in a text moves, cancels or denies a date."""
    return any(mark.search(text) for mark in (_MOVES, _CANCELS, _CANCELS_NEXT, _NOT_DONE, _NOT_AT_ALL))


def _moves(later: Memory, item: _Item, dated: Sequence[_Item] | None, common: Counter[str]) -> bool:
    """True if a later memory gives the same thing another day, or says that it does not happen."""
    if dated is None or later.kind == "session" or HIDDEN in later.tags:
        return False
    days = [other for other in dated if _same_thing(item.words & other.words, item, common)]
    same = [other for other in days if abs(other.span.start - item.span.start) < timedelta(days=1)]
    if same:
        return any(other.denied or "instead" in other.text.casefold() for other in same)
    if days and _MOVES.search(later.content):
        return True
    for start, end in clauses(later.content):
        text = later.content[start:end]
        if later.content[end : end + 1] != "?" and _same_thing(item.words & _words(text), item, common):
            nearby = (
                _words(match["what"]) for match in _CANCELS_NEXT.finditer(text) if not match["what"].endswith("yet")
            )
            if _CANCELS.search(text) or any(item.words & words for words in nearby):
                return True
    return False


def _same_thing(shared: frozenset[str], item: _Item, common: Counter[str]) -> bool:
    """True if two texts share two words of what is dated, or one that few others have."""
    return len(shared) >= 2 or any(common[word] <= RARE_COUNT for word in shared)


def _is_told_again(item: _Item, seen: Sequence[_Item]) -> bool:
    """True if the same day has a line with most of the same words."""
    for other in seen:
        if other.span.start.date() == item.span.start.date():
            shared = len(item.words & other.words)
            if shared >= 0.6 * min(len(item.words), len(other.words)) and shared >= 1:
                return True
    return False


def _fact(item: _Item, secrets: bool, overdue: bool = False) -> Fact:
    return Fact(
        text=one_line(item.text, secrets),
        section="projects",
        sources=(item.memory.id,),
        since=item.memory.event_at,
        chance=1.0 if origin_of(item.memory.speaker) == "user" else 0.9,
        pinned=item.memory.pinned,
        start=item.span.start,
        end=item.span.end,
        overdue=overdue,
    )


def _repeating(
    reader: Reader, start: datetime, soon: datetime, end: datetime, zone: tzinfo, secrets: bool, dated: Sequence[_Item]
) -> Iterator[Fact]:
    """Weekly events, on their next day, and birthdays of earlier years."""
    latest: dict[frozenset[str], tuple[Memory, str, int]] = {}
    words = [word for name in WEEKDAY_NAMES for word in lexemes(f"{name}s")]
    rows = [hit.row for hit in reader.search.lexical([*words, *lexemes("every weekly")], MAX_DATED, EVERYTHING)]
    memories = sorted(reader.memories.fetch(rows).values(), key=lambda memory: memory.event_at)
    for memory in memories:
        if memory.superseded_by or memory.kind == "session" or HIDDEN in memory.tags or memory.event_at > start:
            continue
        if _WEEKLY.search(memory.content) is None:
            continue
        for first, last in clauses(memory.content):
            text = memory.content[first:last]
            for day in sorted(set(_weekdays(text))):
                what = _words(text)
                for known in [
                    known
                    for known in latest
                    if len(known & what) >= min(2, len(what)) and latest[known][0] is not memory
                ]:
                    del latest[known]
                latest[what | {str(day)}] = (memory, text, day)
    local = in_zone(start, zone)
    for memory, text, day in latest.values():
        at = (local + timedelta(days=(day - local.weekday()) % 7)).replace(hour=0, minute=0, second=0, microsecond=0)
        if at < soon:
            yield _repeated(memory, text, at, f"every {WEEKDAY_NAMES[day]}", secrets)
    yield from _birthdays(reader, start, end, secrets, dated)


def _weekdays(text: str) -> Iterator[int]:
    for match in _WEEKLY.finditer(text):
        yield _DAYS[(match["every"] or match["plural"] or match["on"])[:3].casefold()]


def _birthdays(reader: Reader, start: datetime, end: datetime, secrets: bool, dated: Sequence[_Item]) -> Iterator[Fact]:
    rows = [hit.row for hit in reader.search.lexical(lexemes("birthday born"), MAX_LATER, EVERYTHING)]
    for memory, extraction in reader.memories.with_extractions(rows):
        if memory.superseded_by or memory.kind == "session" or HIDDEN in memory.tags:
            continue
        for item in _of_memory(memory, [span for span in extraction.dates if _days(span) <= 1]):
            if not _BIRTHDAY.search(item.text) or item.span.start >= start:
                continue
            at = _anniversary(item.span.start, start)
            if at < end and not any(
                item.words & other.words and other.span.start.date() == at.date() for other in dated
            ):
                yield _repeated(memory, item.text, at, "every year", secrets)


def _anniversary(day: datetime, start: datetime) -> datetime:
    """The first time from `start` on that has the same day of the year."""
    for year in (start.year, start.year + 1):
        try:
            at = day.replace(year=year)
        except ValueError:
            at = day.replace(year=year, day=28)
        if at >= start - timedelta(days=1):
            break
    return at


def _repeated(memory: Memory, text: str, at: datetime, how: str, secrets: bool) -> Fact:
    return Fact(
        text=one_line(text, secrets),
        section="habits",
        sources=(memory.id,),
        since=memory.event_at,
        pinned=memory.pinned,
        start=at,
        end=at + timedelta(days=1),
        repeats=how,
    )
