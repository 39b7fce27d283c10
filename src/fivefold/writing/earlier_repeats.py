"""Near-duplicates among memories that are stored already, for those that were not compared when they were written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from fivefold.namespace import Namespace
from fivefold.stores.protocol import Reader, VectorSpace
from fivefold.values.memory import Memory
from fivefold.values.reports import Report
from fivefold.writing.change_candidates import AROUND, Near, memory_of
from fivefold.writing.change_cues import may_state
from fivefold.writing.repeats import Repeat, mark_repeats, repeats_of
from fivefold.writing.report import ReportBuilder

PAGE = 200
"""Memories that are compared at once, and linked in one transaction."""


def link_earlier_repeats(namespace: Namespace, advance: Callable[[int], None] = lambda done: None) -> Report:
    """Link each memory with the near-duplicates written before it, as if it were written now.

    What is linked already is not linked again, so that it can be stopped and run again.
    """
    reader, report = namespace.reader, ReportBuilder()
    space = reader.search.vector_space()
    if space is None:
        return report.build()
    for page in _pages(reader):
        repeats = [repeat for memory, near in _around(page, reader, space) for repeat in repeats_of(memory, near)]
        if new := _without_known(repeats, reader):
            with namespace.transaction() as txn:
                mark_repeats(new, txn, report)
        advance(len(page))
    return report.build()


def _pages(reader: Reader) -> Iterator[list[Memory]]:
    after = 0
    while rows := reader.memories.scan(after, PAGE):
        after = rows[-1][0].row
        yield [memory for memory, _ in rows]


def _around(page: Sequence[Memory], reader: Reader, space: VectorSpace) -> Iterator[tuple[Memory, list[Near]]]:
    """The memories that may state something, each with the nearest that were written before it."""
    own = {memory.row: memory for memory in page if _is_open(memory)}
    vectors = reader.search.vectors(space, list(own))
    found = reader.search.dense_each(space, "full", list(vectors.values()), AROUND + 1)
    others = reader.memories.fetch(sorted({hit.row for hits in found for hit in hits}))
    for row, hits in zip(vectors, found, strict=True):
        yield own[row], [Near(others[hit.row], hit.score) for hit in hits if hit.row < row and hit.row in others]


def _is_open(memory: Memory) -> bool:
    return memory.kind != "session" and memory.superseded_by is None and may_state(memory.content)


def _without_known(repeats: Sequence[Repeat], reader: Reader) -> list[Repeat]:
    """Those that are not linked yet."""
    links = reader.memories.links(sorted({memory_of(repeat.newer).row for repeat in repeats})) if repeats else {}
    known = {(link.source, link.target) for each in links.values() for link in each if link.relation == "repeats"}
    return [each for each in repeats if (memory_of(each.newer).id, memory_of(each.older).id) not in known]
