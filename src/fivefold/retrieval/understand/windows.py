"""The time a question asks about: past by preference, future where its words or its tense say so."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, tzinfo

from fivefold.retrieval.understand.foreign import foreign_time, has_subject
from fivefold.retrieval.understand.words import phrases, subject_words
from fivefold.settings import Settings
from fivefold.stores.interface import Reader
from fivefold.text.lexemes import lexemes
from fivefold.text.patterns import lower_case
from fivefold.text.time_grammar import EARLIEST, Reach, find_window
from fivefold.values.filters import Filter
from fivefold.values.memory import Memory, Session
from fivefold.values.query import Window, Yesterday

# Times that hang on an event: "since I joined", "before the wedding". The event is looked up in the store.

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


# The running conversation and the one before it, by the log of sessions.

PAUSE = timedelta(hours=2)
"""After such a silence a conversation is over, and the next question begins another one."""


@dataclass(frozen=True, slots=True)
class Conversations:
    """The session that still runs at a time, if one does, and the one before it."""

    running: Session | None
    last: Session | None


def conversations(reader: Reader, now: datetime, session_id: str | None = None) -> Conversations:
    """The sessions by that time; the running one is the caller's, or one that ended a short while before."""
    sessions = reader.sessions.before(now, 2)
    if session_id is None and sessions and now - sessions[0].ended_at < PAUSE:
        session_id = sessions[0].id
    running = next((session for session in sessions if session.id == session_id), None)
    last = next((session for session in sessions if session.id != session_id), None)
    return Conversations(running, last)


def last_talk(reader: Reader, now: datetime, session_id: str | None = None) -> datetime | None:
    """When the last conversation before the running one ended (R8)."""
    last = conversations(reader, now, session_id).last
    return last.ended_at if last else None


_SINCE_LAST = re.compile(r"\bsince\b.{0,20}\blast\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Time:
    """The time of a question, and whether the question is about nothing else."""

    window: Window
    alone: bool = False


@dataclass(frozen=True, slots=True)
class Clock:
    """When and where one asks, in which conversation, and what "yesterday" means there."""

    now: datetime
    zone: tzinfo
    session_id: str | None = None
    yesterday: Yesterday = "day"


def time_of(question: str, language: str | None, clock: Clock, reader: Reader, settings: Settings) -> Time | None:
    """The one time the question asks about, if any."""
    now, zone = clock.now, clock.zone
    if language is not None:
        return _foreign(question, language, now, settings, zone)
    talk = last_talk(reader, now, clock.session_id) if _SINCE_LAST.search(question) else None
    window = find_window(question, now, zone, settings, talk, reach_of(question))
    if window is not None:
        alone = not subject_words(question, window.text)
        if clock.yesterday == "24 hours" and window.text.casefold() == "yesterday":
            window = replace(window, start=now - timedelta(days=1), end=now)
        return Time(window, alone)
    window = anchored_window(question, now, reader)
    return Time(window) if window else None  # a guess, which decides nothing


def reach_of(question: str) -> Reach:
    """Ahead where the question speaks of what is to come and not of what was."""
    text = lower_case(question)
    if phrases("past tense").search(text) or phrases("news").search(text):
        return "any"
    return "ahead" if phrases("ahead").search(text) or phrases("suggestion").search(text) else "any"


def _foreign(question: str, language: str, now: datetime, settings: Settings, zone: tzinfo) -> Time | None:
    time = foreign_time(question, language)
    if time is None:
        return None
    window = find_window(time.english, now, zone, settings, reach="ahead" if time.ahead else "any")
    if window is None:
        return None
    alone = not has_subject(question, language, time)
    return Time(replace(window, text=question[time.start : time.end]), alone)
