"""The golden numbers of every requirement, recomputed on a small built-in store: `fivefold recipes verify`.

One table serves the command and the tests. An expected number stands there as it was worked out by hand from the
document; what is found comes from a real recall, or from the function that a recall calls.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from . import ditto, engram, five_stage, memsense, ours, recall
from .golden import Checked, Golden
from .store import GoldenStore

GOLDEN: tuple[Golden, ...] = (
    *ditto.GOLDEN,
    *memsense.GOLDEN,
    *five_stage.GOLDEN,
    *engram.GOLDEN,
    *recall.GOLDEN,
    *ours.GOLDEN,
)


def verify(
    golden: Iterable[Golden] = GOLDEN, progress: Callable[[Checked], None] = lambda row: None
) -> tuple[Checked, ...]:
    """Every row with what is found now, on a store in a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="fivefold-golden-") as folder, GoldenStore(Path(folder)) as store:
        return tuple(_reported(golden, store, progress))


def _reported(golden: Iterable[Golden], store: GoldenStore, progress: Callable[[Checked], None]) -> Iterator[Checked]:
    for row in golden:
        checked = row.check(store)
        progress(checked)
        yield checked


__all__ = ["GOLDEN", "Checked", "Golden", "GoldenStore", "verify"]
