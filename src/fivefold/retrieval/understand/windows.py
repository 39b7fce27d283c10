"""The time a question asks about: past by preference, future where its words or its tense say so."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, tzinfo

from fivefold.retrieval.understand.anchors import anchored_window
from fivefold.retrieval.understand.conversations import last_talk
from fivefold.retrieval.understand.demand_words import phrases
from fivefold.retrieval.understand.foreign import foreign_time, has_subject
from fivefold.retrieval.understand.subject import subject_words
from fivefold.settings import Settings
from fivefold.stores.protocol import Reader
from fivefold.text.phrases import lower_case
from fivefold.text.time_grammar import Reach, find_window
from fivefold.values.query import Window, Yesterday

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
