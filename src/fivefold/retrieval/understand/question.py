"""A question becomes a Query: whom, when and what it asks about, as far as that can be read out of it (R1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import TypeVar

from fivefold.retrieval.understand.coreference import refer_back
from fivefold.retrieval.understand.cues import find_cues, implied_types, main_intent
from fivefold.retrieval.understand.demands import find_demands
from fivefold.retrieval.understand.entities import resolve
from fivefold.retrieval.understand.follow_up import written_out
from fivefold.retrieval.understand.foreign import language_of
from fivefold.retrieval.understand.spelling import Mended, mend
from fivefold.retrieval.understand.windows import time_of
from fivefold.settings import Settings
from fivefold.stores.protocol import Reader
from fivefold.text.lexemes import lexemes
from fivefold.values.demands import Demand
from fivefold.values.query import EntityRef, Query

Part = TypeVar("Part", EntityRef, Demand)


def understand(question: str, now: datetime, history: Sequence[str], reader: Reader, settings: Settings) -> Query:
    """The question with its words, entities, window, intent, types and demands. It never fails on any text."""
    language = language_of(question)
    resolved = resolve(question, reader)
    mended = Mended(question) if language else mend(question, resolved, reader)
    if mended.changes:
        resolved = resolve(mended.text, reader)
    referring = refer_back(mended.text, history, resolved, reader)
    reading = written_out(mended.text, referring, history)
    time = time_of(mended.text, language, now, reader, settings)
    cues = find_cues(question)
    return Query(
        text=question,
        now=now,
        lexemes=tuple(dict.fromkeys((*lexemes(question), *(lexemes(reading) if reading != question else ())))),
        history=tuple(history),
        window=time.window if time else None,
        entities=tuple(_in_place(ref, question, mended) for ref in (*resolved, *referring)),
        intent=main_intent(cues),
        type_hints=tuple(
            name for name in implied_types(cues) if reader.memories.has_type(name, max(1, settings.widen_below))
        ),
        cues=cues,
        demands=tuple(_in_place(demand, question, mended) for demand in find_demands(mended.text, time, language)),
        reading=reading if reading != question else "",
    )


def _in_place(part: Part, question: str, mended: Mended) -> Part:
    """The part with its words as they stand in the question."""
    if not mended.changes or not part.text:
        return part
    start, end = mended.origin(part.start, part.start + len(part.text))
    return replace(part, text=question[start:end], start=start)
