"""What was read out of a memory, as it is kept beside it."""

from __future__ import annotations

from fivefold.memory import FACETS, Extraction, Memory, Mention, Slot, Span
from fivefold.times import as_utc
from fivefold.values import Json


def kept(extraction: Extraction) -> Json:
    """What was read out of a memory, so that links and slots can be rebuilt without reading it again."""
    parts: Json = {}
    if extraction.mentions:
        parts["mentions"] = [[item.name, item.kind, item.count] for item in extraction.mentions]
    if extraction.slots:
        parts["slots"] = [[slot.subject, slot.attribute, slot.value] for slot in extraction.slots]
    if extraction.dates:
        parts["dates"] = [span.to_dict() for span in extraction.dates]
    if extraction.facets:
        parts["facets"] = dict(extraction.facets)
    if extraction.source != "rules":
        parts["source"] = extraction.source
    return parts


def restored(memory: Memory, parts: Json) -> Extraction:
    """The inverse of `kept`, with the parts that stand on the memory itself."""
    return Extraction(
        type=memory.type,
        predicate=memory.predicate,
        importance=memory.importance,
        memory_score=memory.memory_score,
        mentions=tuple(Mention(name, kind, count) for name, kind, count in parts.get("mentions", ())),
        slots=tuple(Slot(*parts) for parts in parts.get("slots", ())),
        dates=tuple(_span(item) for item in parts.get("dates", ())),
        facets={facet: parts["facets"][facet] for facet in FACETS if facet in parts.get("facets", {})},
        source=parts.get("source", "rules"),
    )


def _span(item: Json) -> Span:
    return Span(as_utc(item["start"])[0], as_utc(item["end"])[0], str(item["text"]))
