"""Which memories a new one is compared with: the nearest ones, and for changes those clearly nearer than the others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from fivefold.stores.protocol import Reader, VectorSpace, Writer
from fivefold.text.lexemes import lexemes
from fivefold.values.memory import Memory
from fivefold.values.vectors import Matrix
from fivefold.writing.change_cues import is_plain, may_state
from fivefold.writing.draft import Draft

AROUND = 24
"""How many of the nearest memories are looked at; the last of them says how near any memory is."""

MOST = 6
"""How many of them a new memory is compared with."""

LEAST, ALONE = 0.4, 0.25
"""How near a candidate must be at least, and how near any memory is taken to be where there are few."""

NEARER, NEARER_IF_PLAIN = 0.2, 0.15
"""How much nearer than the last one a candidate must be; less where the text plainly says that something changed."""

WORDS = 0.5
"""What the share of common words adds to the likeness of the vectors."""

Side = Draft | Memory


@dataclass(frozen=True, slots=True)
class Near:
    """A memory of the store or of the batch: how like its vector is, and which share of the words is common."""

    side: Side
    likeness: float
    shared: float = 0.0


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """A new memory with the nearest that were given before it, nearest first."""

    item: Draft
    around: Sequence[Near]


def neighbourhoods(drafts: Sequence[Draft], reader: Reader) -> list[Neighbourhood]:
    """The new memories that may state something. A batch gives the same as its records one after the other."""
    items = [item for item in drafts if "full" in item.vectors.fields and may_state(item.memory.content)]
    if not items:
        return []
    space = reader.search.vector_space()
    stored = _stored_near(items, reader, space)
    memories = reader.memories.fetch(sorted({row for near in stored for row in near}))
    likeness = _likeness(items)
    found = []
    for at, item in enumerate(items):
        near = [Near(memories[row], score) for row, score in stored[at].items() if row in memories]
        near += [Near(items[other], float(likeness[at, other])) for other in range(at)]
        found.append(Neighbourhood(item, sorted(near, key=lambda each: -each.likeness)[:AROUND]))
    return found


def candidates(compared: Iterable[Neighbourhood]) -> Iterator[tuple[Near, Draft]]:
    """Memories that a new one may replace, each with the new one."""
    for each in compared:
        yield from ((near, each.item) for near in _clearly_near(each.item, each.around))


def memory_of(side: Side) -> Memory:
    """The memory of a draft, or the memory itself."""
    return side.memory if isinstance(side, Draft) else side


def in_time(side: Side, item: Side) -> tuple[Side, Side]:
    """The older first; of two at one moment, the one that was there or given first."""
    return (side, item) if memory_of(side).event_at <= memory_of(item).event_at else (item, side)


def stored_memory(side: Side, txn: Writer) -> Memory | None:
    """The memory as the transaction sees it; None where it was merged or is gone."""
    row = memory_of(side).row
    return txn.memories.by_row(row) if row else None


def _stored_near(items: Sequence[Draft], reader: Reader, space: VectorSpace | None) -> list[Mapping[int, float]]:
    """Rows of the memories nearest to each item, with their likeness; a memory that is changed is not near itself."""
    vectors = [item.vectors.fields["full"] for item in items]
    if space is None or len(vectors[0]) != space.dimension:
        return [{} for _ in items]
    found = reader.search.dense_each(space, "full", vectors, AROUND + 1)
    return [
        {hit.row: hit.score for hit in hits if hit.row != item.memory.row}
        for item, hits in zip(items, found, strict=True)
    ]


def _likeness(items: Sequence[Draft]) -> Matrix:
    vectors: Matrix = np.stack([item.vectors.fields["full"] for item in items])
    return vectors @ vectors.T


def _clearly_near(item: Draft, around: Sequence[Near]) -> list[Near]:
    """The best of the nearest by vectors and common words; ended memories and mere questions are no candidates."""
    last = around[-1].likeness if len(around) == AROUND else ALONE
    limit = max(LEAST, last + (NEARER_IF_PLAIN if is_plain(item.memory.content) else NEARER))
    own = frozenset(lexemes(item.memory.content))
    found = [replace(each, shared=_shared(own, each.side)) for each in around if _open(each.side)]
    best = sorted(found, key=lambda each: -_score(each))[:MOST]
    return [each for each in best if _score(each) >= limit]


def _score(near: Near) -> float:
    return near.likeness + WORDS * near.shared


def _shared(own: frozenset[str], side: Side) -> float:
    other = frozenset(lexemes(memory_of(side).content))
    return len(own & other) / (1 + min(len(own), len(other)))


def _open(side: Side) -> bool:
    memory = memory_of(side)
    return memory.kind != "session" and memory.superseded_by is None and may_state(memory.content)
