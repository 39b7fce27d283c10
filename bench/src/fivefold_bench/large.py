"""Measures of a namespace that is searched by codes: the recall of the search, and the start of a new process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

from fivefold.engine import Engine
from fivefold.stores.records import VectorSpace
from fivefold.stores.sql.scope import ALL
from fivefold.stores.sqlite import codes
from fivefold.stores.sqlite.store import SqliteStore
from fivefold.stores.sqlite.vectors import knn
from fivefold.values.vectors import Vector
from fivefold_bench.measures import WARM, Measure, VariedSample, figure, milliseconds, new_questions, times

NEAREST = 10
DEPTH = 160
"""The depth of the dense route of the recipe `default`."""

COMPARED = 20
"""Questions whose neighbours are compared with those of the exact scan."""


def measure_large(store: SqliteStore, size: int, rounds: int) -> Iterator[Measure]:
    """Measures a large namespace; nothing if it is searched exactly."""
    space = store.reader("default").search.vector_space()
    assert space is not None
    if size <= codes.exact_limit(space.dimension):
        return
    model = VariedSample()
    vectors = [model.read_question(question).vector for question in new_questions(WARM + rounds)]

    def search(vector: Vector) -> None:
        with store.connections.reader() as connection:
            store.vector_cache.search(connection, space, "full", vector, DEPTH, ALL)

    ms = [milliseconds(search, vector) for vector in vectors]
    yield times("dense search by codes, 160 deep", size, ms[WARM:], 10)
    shares = [_found_share(store, space, vector) for vector in vectors[:COMPARED]]
    share = sum(shares) / len(shares)
    yield figure("found of the true ten nearest", size, share, "", "≥ .98", share >= 0.98)
    yield from _new_process(store.location, size)


def _found_share(store: SqliteStore, space: VectorSpace, vector: Vector) -> float:
    """Of the ten nearest by a scan of the file, those that the codes find among their ten."""
    with store.connections.reader() as connection:
        found = store.vector_cache.search(connection, space, "full", vector, NEAREST, ALL)
        exact = {hit.row for hit in knn(connection, space, "full", vector, NEAREST, ALL)}
        return len(exact & {hit.row for hit in found}) / NEAREST


def _new_process(location: str, size: int) -> Iterator[Measure]:
    """A process that opens the store and asks: from its start to its first answer, and its memory after some more."""
    start = perf_counter()
    with subprocess.Popen([sys.executable, "-m", __name__, location], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        missing = json.loads(process.stdout.readline())
        seconds = perf_counter() - start
        resident = json.loads(process.stdout.readline())
    what = "first recall of a new process" + (f", without {', '.join(missing)}" if missing else "")
    yield figure(what, size, seconds, "s", "≤ 3", seconds <= 3 and not missing)
    if resident:
        yield figure("resident memory of it, after 20 recalls", size, resident, "MB", "≤ 1,200", resident <= 1_200)


def _ask(location: str) -> None:
    """The new process: prints the routes that its first answer lacks, then its resident memory in MB."""
    engine = Engine(SqliteStore(location), embedder=VariedSample())
    questions = new_questions(20, seed=12)
    first = engine.recall(questions[0])
    print(json.dumps([run.route for run in first.routes if run.status in ("late", "failed")]), flush=True)
    for question in questions[1:]:
        engine.recall(question)
    pages = Path("/proc/self/statm")  # what Linux says; 0 elsewhere
    mb = int(pages.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / (1 << 20) if pages.exists() else 0.0
    print(json.dumps(mb), flush=True)
    engine.close()


if __name__ == "__main__":
    _ask(sys.argv[1])
