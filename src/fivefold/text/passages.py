"""The texts of a memory that are indexed and embedded; they carry speaker and date, which questions ask by."""

from __future__ import annotations

from collections.abc import Mapping

from fivefold.text.lexemes import lexemes
from fivefold.values.memory import ROLES, Facet, Memory
from fivefold.values.times import spoken_date
from fivefold.values.vectors import VectorField


def told(memory: Memory, text: str) -> str:
    """`text` as it was told: by whom, when, what. Dense search finds most with just this layout of those tried."""
    when = spoken_date(memory.event_at)
    named = memory.speaker and memory.speaker.casefold() not in ROLES
    return f"{memory.speaker} ({when}): {text}" if named else f"{when} {text}"


def embedded(memory: Memory, facets: Mapping[Facet, str]) -> dict[VectorField, str]:
    """The text of each field that gets a vector; a field without a text gets none (M1)."""
    texts: dict[VectorField, str] = {"full": told(memory, memory.content)}
    if memory.user_text:
        texts["user"] = told(memory, memory.user_text)
    if memory.assistant_text:
        texts["assistant"] = told(memory, memory.assistant_text)
    if memory.next_user_text:
        texts["next_user"] = memory.next_user_text
    texts.update({facet: told(memory, text) for facet, text in facets.items()})
    return texts


def indexed(memory: Memory) -> tuple[list[str], list[str]]:
    """The lexemes of the predicate and of the content, the latter with task tag and tags."""
    labels = " ".join((memory.task_tag or "", *memory.tags))
    return lexemes(memory.predicate or ""), lexemes(f"{told(memory, memory.content)} {labels}")
