"""Stage 2, after the parse: which types of memory the question implies, by its words and the namespace (R2, R9)."""

from __future__ import annotations

from dataclasses import replace

from fivefold.retrieval.understand.cues import implied_types
from fivefold.settings import Settings
from fivefold.stores.protocol import Reader
from fivefold.values.query import Query
from fivefold.values.recall_trace import TypeHint


def optimize(query: Query, reader: Reader, settings: Settings) -> tuple[Query, tuple[TypeHint, ...]]:
    """The question with the types that narrow its search, and every hint with why it counts or is dropped."""
    hints = type_hints(query, reader, settings)
    return replace(query, type_hints=tuple(hint.type for hint in hints if hint.kept)), hints


def type_hints(query: Query, reader: Reader, settings: Settings) -> tuple[TypeHint, ...]:
    """A type that the namespace hardly has is no hint: its filter would only be dropped again (R9)."""
    least = max(1, settings.widen_below)
    hints = []
    for name in implied_types(query.cues):
        words = next(cue.text for cue in query.cues if cue.kind == "type" and cue.value == name)
        if reader.memories.has_type(name, least):
            hints.append(TypeHint(name, words, True, f"{words!r} implies it"))
        else:
            hints.append(TypeHint(name, words, False, f"fewer than {least} memories have this type"))
    return tuple(hints)
