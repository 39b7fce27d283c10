"""The time a question asks about: past by preference, future where its words or its tense say so."""

from __future__ import annotations

import re
from datetime import datetime

from fivefold.retrieval.understand.conversations import last_talk
from fivefold.retrieval.understand.demand_words import lower_case, phrases
from fivefold.settings import Settings
from fivefold.stores.protocol import Reader
from fivefold.text.time_grammar import Reach, find_window
from fivefold.values.query import Window

_SINCE_LAST = re.compile(r"\bsince\b.{0,20}\blast\b", re.IGNORECASE)


def window_of(question: str, now: datetime, reader: Reader, settings: Settings) -> Window | None:
    """The one window of the question, if it has any."""
    talk = last_talk(reader, now) if _SINCE_LAST.search(question) else None
    return find_window(question, now, settings.zone, settings, talk, reach_of(question))


def reach_of(question: str) -> Reach:
    """Ahead where the question speaks of what is to come and not of what was."""
    text = lower_case(question)
    if phrases("past tense").search(text) or phrases("news").search(text):
        return "any"
    return "ahead" if phrases("ahead").search(text) or phrases("suggestion").search(text) else "any"
