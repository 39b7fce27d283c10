"""A question becomes a Query: whom, when and what it asks about, as far as that can be read out of it (R1)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

from fivefold.retrieval.understand.coreference import refer_back
from fivefold.retrieval.understand.cues import find_cues, implied_types, main_intent
from fivefold.retrieval.understand.entities import resolve
from fivefold.settings import Settings
from fivefold.stores.protocol import Reader
from fivefold.text.lexemes import lexemes
from fivefold.text.time_grammar import find_window
from fivefold.values.query import Query

_LAST_TALK = re.compile(r"\bsince\b.{0,20}\blast\b", re.IGNORECASE)


def understand(question: str, now: datetime, history: Sequence[str], reader: Reader, settings: Settings) -> Query:
    """The question with its lexemes, entities, window, intent and implied types. It never fails on any text."""
    resolved = resolve(question, reader)
    cues = find_cues(question)
    last_talk = reader.sessions.last_end(now) if _LAST_TALK.search(question) else None
    return Query(
        text=question,
        now=now,
        lexemes=tuple(dict.fromkeys(lexemes(question))),
        history=tuple(history),
        window=find_window(question, now, settings.zone, settings, last_talk),
        entities=(*resolved, *refer_back(question, history, resolved, reader)),
        intent=main_intent(cues),
        type_hints=tuple(
            name for name in implied_types(cues) if reader.memories.has_type(name, max(1, settings.widen_below))
        ),
        cues=cues,
    )
