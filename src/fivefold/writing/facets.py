"""Vectors of facets that few recipes search: made when one first asks for them, and kept up from then on (M1)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from fivefold.errors import FivefoldError
from fivefold.models.embedders import Embedder, read_passages
from fivefold.namespace import Namespace
from fivefold.stores.interface import Reader, Writer
from fivefold.text.passages import LATE_FACETS, late_passages
from fivefold.values.recall_trace import StageNote
from fivefold.writing.draft import NO_VECTORS, Draft

FACET_VECTORS = "facet vectors"
"""The learned value that is there once they are kept up; `whole` says that every memory has them."""

BATCH_MEMORIES = 64
"""Memories whose facets are read in one transaction."""


def keeps_facets(source: Reader | Writer) -> bool:
    """True if new memories get vectors of their facets."""
    return source.admin.learned_value(FACET_VECTORS) is not None


def add_facets(drafts: Iterable[Draft], model: Embedder, source: Reader | Writer) -> None:
    """Give drafts with vectors those of their facets, if they lack them and the namespace keeps them up."""
    lacking = [
        (item, facet, passage)
        for item in drafts
        if item.vectors is not NO_VECTORS
        for facet, passage in late_passages(item.memory, item.extraction.facets).items()
        if facet not in item.vectors.fields
    ]
    if not lacking or not keeps_facets(source):
        return
    readings = read_passages(model, [passage for _, _, passage in lacking])
    for (item, facet, _), reading in zip(lacking, readings, strict=True):
        item.vectors = replace(item.vectors, fields={**item.vectors.fields, facet: reading.vector})


def make_facets(namespace: Namespace) -> tuple[StageNote, ...]:
    """Make the vectors that are missing, and keep them up from now on; returns a note for the trace if it did so."""
    known = namespace.reader.admin.learned_value(FACET_VECTORS)
    if (known is not None and known["whole"]) or namespace.reader.search.vector_space() is None:
        return ()
    try:
        made = _make_all(namespace)
    except FivefoldError as error:
        return (StageNote("facets", "idle", f"their vectors cannot be made: {error}"),)
    return (
        (StageNote("facets", "done", f"made {made} vectors of facets; from now on writes make them"),) if made else ()
    )


def _make_all(namespace: Namespace) -> int:
    """Writers keep facets up as soon as the value is there, so that one pass over the memories meets all others."""
    model = namespace.embedder()
    with namespace.transaction(model) as txn:
        txn.admin.save_learned_value(FACET_VECTORS, {"whole": False})
    after = made = 0
    while True:
        with namespace.transaction(model) as txn:
            if not (batch := txn.memories.scan(after, BATCH_MEMORIES)):
                txn.admin.save_learned_value(FACET_VECTORS, {"whole": True})
                return made
            after = batch[-1][0].row
            stored = {facet: txn.vectors.get([memory.row for memory, _ in batch], facet) for facet in LATE_FACETS}
            lacking = [
                (memory, facet, passage)
                for memory, extraction in batch
                for facet, passage in late_passages(memory, extraction.facets).items()
                if memory.row not in stored[facet]
            ]
            for (memory, facet, _), reading in zip(
                lacking, read_passages(model, [passage for _, _, passage in lacking]), strict=True
            ):
                txn.vectors.put(memory, {facet: reading.vector}, "active")
            made += len(lacking)


def forget_facets(txn: Writer) -> None:
    """After vectors were made again without facets, the next recipe that asks for them makes those that are missing."""
    if keeps_facets(txn):
        txn.admin.save_learned_value(FACET_VECTORS, None)
