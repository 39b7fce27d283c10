"""Which candidates speak of whom the question names, or of whom it means by a relation or a pronoun."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fivefold.values.memory import Memory
from fivefold.values.query import EntityRef, Query
from fivefold.values.vectors import Vector

READ = 2_000
"""Characters of a memory that are searched for names."""


def people_columns(memories: Sequence[Memory], query: Query) -> dict[str, Vector]:
    """The share of the names that each memory has: `person` of names, `relative` of relations and pronouns."""
    columns = {}
    for column, refs in (
        ("person", [ref for ref in query.entities if ref.via == "name"]),
        ("relative", [ref for ref in query.entities if ref.via != "name"]),
    ):
        if refs:
            names = [_Names.of(ref) for ref in refs]
            texts = (f"{memory.speaker or ''} {memory.content[:READ]}" for memory in memories)
            small = ((text, text.lower() if text.isascii() else None) for text in texts)
            shares = (sum(name.are_in(*text) for name in names) / len(names) for text in small)
            columns[column] = np.fromiter(shares, dtype=np.float32)
    return columns


@dataclass(frozen=True, slots=True)
class _Names:
    """The first names of what a reference may mean; `plain` are the same in small letters, where all are ASCII."""

    pattern: re.Pattern[str]
    plain: tuple[str, ...]

    @classmethod
    def of(cls, ref: EntityRef) -> _Names:
        names = [meaning.name.split()[0] for meaning in ref.meanings[:3]]
        pattern = re.compile("|".join(rf"\b{re.escape(name)}" for name in names), re.IGNORECASE)
        return cls(pattern, tuple(name.lower() for name in names) if all(map(str.isascii, names)) else ())

    def are_in(self, text: str, small: str | None) -> bool:
        """Whether the text has one of them; `small` are its small letters, where it is ASCII.

        Most texts have none, which a plain search finds sooner.
        """
        if small is not None and self.plain:
            for name in self.plain:
                if name in small:
                    break
            else:
                return False
        return self.pattern.search(text) is not None
