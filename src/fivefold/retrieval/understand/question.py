"""A question becomes a Query: whom, when and what it asks about, as far as that can be read out of it (R1)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from fivefold.retrieval.understand.coreference import refer_back
from fivefold.retrieval.understand.cues import find_cues, implied_types, main_intent
from fivefold.retrieval.understand.demands import find_demands
from fivefold.retrieval.understand.entities import resolve
from fivefold.retrieval.understand.foreign import language_of
from fivefold.retrieval.understand.windows import time_of
from fivefold.settings import Settings
from fivefold.stores.protocol import Reader
from fivefold.text.lexemes import lexemes
from fivefold.values.query import Query


def understand(question: str, now: datetime, history: Sequence[str], reader: Reader, settings: Settings) -> Query:
    """The question with its lexemes, entities, window, intent, types and demands. It never fails on any text."""
    resolved = resolve(question, reader)
    cues = find_cues(question)
    language = language_of(question)
    time = time_of(question, language, now, reader, settings)
    return Query(
        text=question,
        now=now,
        lexemes=tuple(dict.fromkeys(lexemes(question))),
        history=tuple(history),
        window=time.window if time else None,
        entities=(*resolved, *refer_back(question, history, resolved, reader)),
        intent=main_intent(cues),
        type_hints=tuple(
            name for name in implied_types(cues) if reader.memories.has_type(name, max(1, settings.widen_below))
        ),
        cues=cues,
        demands=find_demands(question, time, language),
    )
