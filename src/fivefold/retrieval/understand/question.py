"""A question becomes a Query: whom, when and what it asks about, as far as that can be read out of it (R1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from fivefold.retrieval.understand.coreference import refer_back
from fivefold.retrieval.understand.cues import find_cues, main_intent
from fivefold.retrieval.understand.demands import find_demands
from fivefold.retrieval.understand.entities import resolve
from fivefold.retrieval.understand.follow_up import written_out
from fivefold.retrieval.understand.parts import question_parts
from fivefold.retrieval.understand.spelling import Mended, mend
from fivefold.retrieval.understand.translation import translated
from fivefold.retrieval.understand.windows import Clock, time_of
from fivefold.settings import Settings
from fivefold.stores.protocol import Reader
from fivefold.text.languages import language_of
from fivefold.text.lexemes import lexemes
from fivefold.values.demands import Demand
from fivefold.values.query import Cue, EntityRef, NamePrior, Query
from fivefold.values.times import in_zone

Part = TypeVar("Part", EntityRef, Demand, Cue)


def understand(
    question: str,
    clock: Clock,
    history: Sequence[str],
    reader: Reader,
    settings: Settings,
    name_prior: NamePrior = "memories",
) -> Query:
    """The question with its words, entities, window, intent and demands. It never fails on any text.

    Types of memory are implied later, by the optimizer (R1).
    """
    language = language_of(question)
    resolved = resolve(question, reader, name_prior)
    mended, further = translated(question, language, resolved) if language else (mend(question, resolved, reader), "")
    if mended.changes:
        resolved = resolve(mended.text, reader, name_prior)
    asked = question if language else mended.text
    referring = refer_back(mended.text, history, resolved, reader)
    reading = written_out(mended.text, referring, history)
    time = time_of(asked, language, clock, reader, settings)
    cues = find_cues(mended.text if language else question)
    demands = find_demands(asked, time, language)
    return Query(
        text=question,
        now=in_zone(clock.now, clock.zone),
        lexemes=_lexemes(question, reading, further),
        history=tuple(history),
        window=time.window if time else None,
        entities=tuple(_in_place(ref, question, mended) for ref in (*resolved, *referring)),
        intent=main_intent(cues),
        cues=tuple(_in_place(cue, question, mended) for cue in cues) if language else cues,
        demands=demands if language else tuple(_in_place(demand, question, mended) for demand in demands),
        reading=reading if reading != question else "",
        parts=() if language else question_parts(asked),
    )


def _lexemes(question: str, reading: str, further: str) -> tuple[str, ...]:
    """Those of the question as it was asked and as it is read, and those of further words."""
    words = [lexemes(text) for text in (question, reading, further)] if reading != question else [lexemes(question)]
    return tuple(dict.fromkeys(lexeme for found in words for lexeme in found))


def _in_place(part: Part, question: str, mended: Mended) -> Part:
    """The part with its words as they stand in the question."""
    if not mended.changes or not part.text:
        return part
    start, end = mended.origin(part.start, part.start + len(part.text))
    return replace(part, text=question[start:end], start=start)
