"""What the indexes hold of a memory: its lexemes and its vectors. Every index entry is built here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from fivefold.models.embedders import Embedder, read_passages, unit
from fivefold.stores.interface import Entry, Writer
from fivefold.text import passages
from fivefold.text.passages import PassageTexts
from fivefold.values.entities import Extraction
from fivefold.values.memory import Memory
from fivefold.values.vectors import Passage, PassageVectors, Reading, Vector, VectorField


@dataclass(frozen=True, slots=True, eq=False)
class MemoryVectors:
    """What a model reads from one memory: a vector for each of its fields, and the passages of its content."""

    fields: Mapping[VectorField, Vector] = field(default_factory=dict)
    passages: tuple[PassageVectors, ...] = ()


NO_VECTORS = MemoryVectors()


def index_entry(
    memory: Memory, extraction: Extraction, content_hash: bytes = b"", vectors: MemoryVectors = NO_VECTORS
) -> Entry:
    """The memory with its lexemes; hash and vectors only where the memory is stored and not just indexed again."""
    predicate, content = passages.lexemes_to_index(memory)
    return Entry(
        memory=memory,
        extraction=extraction,
        content_hash=content_hash,
        predicate_lexemes=predicate,
        content_lexemes=content,
        vectors=vectors.fields,
        passages=vectors.passages,
    )


def all_entries(txn: Writer, advance: Callable[[int], None] = lambda done: None) -> Iterator[Entry]:
    """The index entry of every stored memory, in the order of the rows."""
    after = 0
    while batch := txn.memories.scan(after):
        for memory, extraction in batch:
            yield index_entry(memory, extraction)
        after = batch[-1][0].row
        advance(len(batch))


def read_texts(texts: Sequence[PassageTexts], model: Embedder) -> list[MemoryVectors]:
    """The vectors of each memory's fields and passages; a passage that occurs more than once is read once."""
    unique = list(dict.fromkeys(passage for fields in texts for read in fields.values() for passage in read))
    reading_of = dict(zip(unique, read_passages(model, unique), strict=True))
    return [_memory_vectors(fields, reading_of) for fields in texts]


def centre(vectors: Sequence[Vector]) -> Vector:
    """What several texts are about together: the mean of their vectors, at unit length."""
    if len(vectors) == 1:
        return vectors[0]
    mean: Vector = unit(np.stack(vectors).mean(axis=0, keepdims=True, dtype=np.float32))[0]
    return mean


def _memory_vectors(fields: PassageTexts, reading_of: Mapping[Passage, Reading]) -> MemoryVectors:
    vectors = {field: centre([reading_of[passage].vector for passage in read]) for field, read in fields.items()}
    full = [reading_of[passage] for passage in fields["full"]]
    if len(full) == 1:
        return MemoryVectors(vectors, (PassageVectors(full[0].tokens),))
    return MemoryVectors(vectors, tuple(PassageVectors(reading.tokens, reading.vector) for reading in full))
