"""Stage 2, after the parse: which types of memory the question implies, by its words and the namespace (R2, R9)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

from fivefold.retrieval.understand.cues import implied_types
from fivefold.settings import Settings
from fivefold.stores.protocol import TYPE_VOCABULARY, Reader
from fivefold.text.lexemes import lexemes
from fivefold.values.query import Query
from fivefold.values.recall_trace import TypeHint
from fivefold.writing.type_vocabulary import WordDensity, load_type_vocabulary


def optimize(
    query: Query, reader: Reader, settings: Settings, type_density: float = 0.0
) -> tuple[Query, tuple[TypeHint, ...]]:
    """The question with the types that narrow its search, and every hint with why it counts or is dropped."""
    hints = type_hints(query, reader, settings, type_density)
    return replace(query, type_hints=tuple(hint.type for hint in hints if hint.kept)), hints


def type_hints(query: Query, reader: Reader, settings: Settings, type_density: float = 0.0) -> tuple[TypeHint, ...]:
    """A type counts if the namespace has enough of it, and its memories speak of what is asked.

    Otherwise its filter would only be dropped again (R9), or leave out the answer.
    """
    least = max(1, settings.widen_below)
    stored = cache(lambda: load_type_vocabulary(reader.namespace, reader.admin.learned_value(TYPE_VOCABULARY)))
    hints = []
    for name in implied_types(query.cues):
        words = next(cue.text for cue in query.cues if cue.kind == "type" and cue.value == name)
        if not reader.memories.has_type(name, least):
            hints.append(TypeHint(name, words, False, f"fewer than {least} memories have this type"))
            continue
        vocabulary = stored() if type_density else None
        known = vocabulary.densities(name, _subject(query, words)) if vocabulary else ()
        elsewhere = _elsewhere(known, type_density)
        hints.append(TypeHint(name, words, not elsewhere, elsewhere or f"{words!r} implies it"))
    return tuple(hints)


def _subject(query: Query, words: str) -> list[str]:
    """The lexemes of the question but for those of the words that imply the type."""
    trigger = set(lexemes(words))
    return [lexeme for lexeme in query.lexemes if lexeme not in trigger]


def _elsewhere(known: Sequence[WordDensity], type_density: float) -> str:
    """Why the type is the wrong one: most of what is asked about is in memories of other types; else empty.

    A word is at home in a type unless it is far denser in the others; a rare word says more than a common one.
    """
    foreign = [word for word in known if word.own < type_density * word.others]
    if 2 * sum(word.weight for word in foreign) <= sum(word.weight for word in known):
        return ""
    shown = ", ".join(f"{word.lexeme!r} ({word.own:.1%}, others {word.others:.1%})" for word in foreign)
    return f"its memories hardly speak of {shown}"
