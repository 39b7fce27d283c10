"""The texts of a memory that are indexed and embedded; they carry speaker and date, which questions ask by."""

from __future__ import annotations

from collections.abc import Mapping

from fivefold.text.lexemes import lexemes
from fivefold.values.memory import ROLES, Facet, Memory
from fivefold.values.times import spoken_date
from fivefold.values.vectors import VectorField


def attributed_text(memory: Memory, text: str) -> str:
    """`text` with its speaker and date. Of the layouts tried, dense search finds most with this one."""
    when = spoken_date(memory.event_at)
    is_person = memory.speaker and memory.speaker.casefold() not in ROLES
    return f"{memory.speaker} ({when}): {text}" if is_person else f"{when} {text}"


def texts_to_embed(memory: Memory, facets: Mapping[Facet, str]) -> dict[VectorField, str]:
    """The text of each field that gets a vector; a field without a text gets none (M1)."""
    texts: dict[VectorField, str] = {"full": attributed_text(memory, memory.content)}
    if memory.user_text:
        texts["user"] = attributed_text(memory, memory.user_text)
    if memory.assistant_text:
        texts["assistant"] = attributed_text(memory, memory.assistant_text)
    if memory.next_user_text:
        texts["next_user"] = memory.next_user_text
    texts.update({facet: attributed_text(memory, text) for facet, text in facets.items()})
    return texts


def lexemes_to_index(memory: Memory) -> tuple[list[str], list[str]]:
    """The lexemes of the predicate and of the content, the latter with task tag and tags."""
    labels = " ".join((memory.task_tag or "", *memory.tags))
    return lexemes(memory.predicate or ""), lexemes(f"{attributed_text(memory, memory.content)} {labels}")
