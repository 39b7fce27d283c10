"""The extractor that needs no model: everything it says follows from the wording."""

from __future__ import annotations

from datetime import UTC, timezone, tzinfo

from fivefold.text.names import mentions
from fivefold.text.time_grammar.dates import dates_in
from fivefold.values.extraction import Extraction
from fivefold.values.limits import MAX_EXTRACTED, MAX_NAME
from fivefold.values.memory import Record
from fivefold.values.times import utc_now
from fivefold.writing.extract import importance
from fivefold.writing.extract.kinds import facets_of, type_of
from fivefold.writing.extract.perspective import is_assistant
from fivefold.writing.extract.relations import relations
from fivefold.writing.extract.statements import predicate_of, refers_back, statements


class Rules:
    """Reads entities, type, statements, dates, facets and importance out of a record, offline."""

    name = "rules"

    def extract(self, record: Record) -> Extraction:
        text = beginning(record.content)
        mentioned = mentions(text, record.speaker)
        facts = statements(text, record.speaker)
        by_user = _by_user(record)
        kind = record.type or type_of(text, by_user)
        return Extraction(
            type=kind,
            predicate=record.predicate or predicate_of(facts),
            importance=importance.importance(text, kind, mentioned, bool(facts)),
            memory_score=importance.memory_score(text, mentioned),
            mentions=mentioned,
            statements=facts,
            relations=relations(text, record.speaker),
            dates=dates_in(text, record.event_at or utc_now(), _zone(record)),
            facets=facets_of(text, by_user),
            refers_back=refers_back(text),
        )


def _by_user(record: Record) -> str | None:
    """The part of a record that the user says, or None if nobody else speaks in it."""
    if record.assistant_text:
        return beginning(record.user_text or "")
    return "" if is_assistant(record.speaker) else None


def _zone(record: Record) -> tzinfo:
    return UTC if record.utc_offset is None else timezone(record.utc_offset)


def beginning(content: str) -> str:
    """What is read of a long text, to the end of a word: names of a whole book would be linked to each other."""
    if len(content) <= MAX_EXTRACTED:
        return content
    end = content.rfind(" ", MAX_EXTRACTED - MAX_NAME, MAX_EXTRACTED)
    return content[: end if end > 0 else MAX_EXTRACTED]
