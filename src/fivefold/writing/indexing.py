"""What the indexes hold of a memory: its lexemes and its vectors. Every index entry is built here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from fivefold.models.embedders import Embedder, embed_texts
from fivefold.stores.protocol import Entry, Writer
from fivefold.text import passages
from fivefold.values.extraction import Extraction
from fivefold.values.memory import Memory
from fivefold.values.vectors import Vector, VectorField


def index_entry(
    memory: Memory,
    extraction: Extraction,
    content_hash: bytes = b"",
    vectors: Mapping[VectorField, Vector] | None = None,
) -> Entry:
    """The memory with its lexemes; hash and vectors only where the memory is stored and not just indexed again."""
    predicate, content = passages.lexemes_to_index(memory)
    return Entry(
        memory=memory,
        extraction=extraction,
        content_hash=content_hash,
        predicate_lexemes=predicate,
        content_lexemes=content,
        vectors=vectors or {},
    )


def all_entries(txn: Writer, advance: Callable[[int], None] = lambda done: None) -> Iterator[Entry]:
    """The index entry of every stored memory, in the order of the rows."""
    after = 0
    while batch := txn.memories.scan(after):
        for memory, extraction in batch:
            yield index_entry(memory, extraction)
        after = batch[-1][0].row
        advance(len(batch))


def embed_fields(texts: Sequence[Mapping[VectorField, str]], model: Embedder) -> list[dict[VectorField, Vector]]:
    """The vectors of each memory's fields; a text that occurs more than once is embedded once."""
    unique = list(dict.fromkeys(text for fields in texts for text in fields.values()))
    vector_of = dict(zip(unique, embed_texts(model, unique), strict=True)) if unique else {}
    return [{field: vector_of[text] for field, text in fields.items()} for fields in texts]
