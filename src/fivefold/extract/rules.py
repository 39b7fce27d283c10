"""The extractor that needs no model: everything it says follows from the wording."""

from __future__ import annotations

from fivefold.extract import worth
from fivefold.extract.dates import dates_in
from fivefold.extract.kinds import facets_of, type_of
from fivefold.extract.names import mentions
from fivefold.extract.relations import relations
from fivefold.extract.slots import predicate_of, refers_back, slots
from fivefold.memory import Extraction, Record
from fivefold.times import utc_now


class Rules:
    """Reads entities, type, statements, dates, facets and worth out of a record, offline."""

    name = "rules"

    def extract(self, record: Record) -> Extraction:
        text = record.content
        named = mentions(text, record.speaker)
        stated = slots(text, record.speaker)
        kind = record.type or type_of(text)
        return Extraction(
            type=kind,
            predicate=record.predicate or predicate_of(stated),
            importance=worth.importance(text, kind, named, bool(stated)),
            memory_score=worth.memory_score(text, named),
            mentions=named,
            slots=stated,
            relations=relations(text, record.speaker),
            dates=dates_in(text, record.event_at or utc_now()),
            facets=facets_of(text),
            refers_back=refers_back(text),
        )
