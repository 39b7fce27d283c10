"""Times that hang on an event: "since I joined", "before the wedding". The event is looked up in the store."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timedelta

from fivefold.retrieval.understand.subject import subject_words
from fivefold.stores.protocol import Reader
from fivefold.text.lexemes import lexemes
from fivefold.text.time_grammar import EARLIEST
from fivefold.values.filters import Filter
from fivefold.values.memory import Memory
from fivefold.values.query import Window

LOOKED_AT = 8
"""Memories with the words of the event that are looked at."""
AFTER = timedelta(days=90)
"""How long "right after" and "after" an event reach."""

_EVENT = (
    "move|wedding|marriage|operation|surgery|birth|divorce|separation|break-?up|accident|trip|holiday|vacation|exam"
    "|funeral|party|interview|graduation|conference|flood|fire|injury|launch|migration|release|merger|retirement"
    "|diagnosis|burglary|renovation|course|treatment|concert|marathon|race|visit|festival|appointment|pregnancy"
    "|promotion|outage|incident|kick-?off|off-?site|retreat|workshop|summit|engagement|acquisition|restructuring|reorg"
    "|lay-?offs?|audit|crash|strike|storm|earthquake|lockdown|election|internship|sabbatical|reunion|baptism|adoption"
    "|handover|deployment|rollout|upgrade|presentation|hearing|trial"
)
_NO_VERB = "what|who|where|when|how|which|did|do|does|have|has|is|and|or|please"
_ANCHOR = re.compile(
    r"(?<!look )(?<!looks )(?<!looked )(?<!looking )(?<!named )(?<!takes )(?<!took )"
    r"\b(?P<word>ever since|since|after|before)\s+(?P<event>"
    rf"(?:the|my|our|his|her|their|\w+['’]s)\s+(?:[\w-]+\s+){{0,2}}?(?:{_EVENT})\b(?:\s+(?:to|in|of|with)\s+[\w-]+)?"
    r"|(?P<clause>(?:i|we|he|she|they|my\s+\w+|our\s+\w+|(?-i:[A-Z])\w+)\s+(?:had\s+|was\s+|were\s+|got\s+)?"
    rf"(?!(?:{_NO_VERB})\b)[a-z]\w+)(?:\s+[\w'’-]+){{0,4}}"
    r"|(?:moving|leaving|joining|starting|quitting|buying|selling|marrying|getting|becoming)(?:\s+[\w'’-]+){0,3})",
    re.IGNORECASE,
)
_END = re.compile(rf"\s+(?:{_NO_VERB}|was|were)\b.*", re.IGNORECASE)
_GENERIC = "company firm team job group organisation organization place office business staff here"
"""Words that stand for a name: a memory about "joining Nordwind" is meant by "since I joined the company"."""
_KNOWN = re.compile(
    r"\b(?:you(?:['’]ve|\s+have)?\s+known\s+me|we\s+(?:started|last)|i\s+last|time\s+we)\b", re.IGNORECASE
)


def anchored_window(question: str, now: datetime, reader: Reader) -> Window | None:
    """The time since, after or before an event that one memory clearly states; nothing where none does."""
    match = _ANCHOR.search(question)
    if match is None or _KNOWN.search(match[0]):
        return None
    clause = match["clause"] or ""
    event = clause + _END.sub("", match["event"][len(clause) :])
    words = lexemes(" ".join(subject_words(event)))
    generic = set(lexemes(_GENERIC))
    own = [word for word in words if word not in generic]
    day = _day_of(words, now, reader) or (_day_of(own, now, reader) if own != words else None)
    if day is None:
        return None
    text = question[match.start() : match.start("event") + len(event)]
    if match["word"].casefold() == "before":
        return Window(EARLIEST, day, text)
    end = min(now, day + AFTER) if match["word"].casefold() == "after" else now
    return Window(day, end, text) if day < end else None


def _day_of(words: Sequence[str], now: datetime, reader: Reader) -> datetime | None:
    """When the event was: a day that the memory names, else the day it was said; the earliest that states it."""
    if not words:
        return None
    hits = reader.search.lexical(words, LOOKED_AT, Filter())
    memories = reader.memories.fetch([hit.row for hit in hits])
    stated = [item for item in memories.values() if item.event_at <= now and set(words) <= set(lexemes(item.content))]
    if not stated:
        return None
    first = min(stated, key=lambda item: (item.event_at, item.row))
    return _named_day(first, now, reader) or first.event_at


def _named_day(memory: Memory, now: datetime, reader: Reader) -> datetime | None:
    """The one past day that the memory names."""
    times = reader.memories.named_times([memory.row]).get(memory.row, ())
    return times[0][0] if len(times) == 1 and times[0][0] <= now else None
