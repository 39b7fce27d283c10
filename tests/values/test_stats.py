"""What stats say of a namespace by its size."""

from __future__ import annotations

import pytest

from fivefold.engine import Engine
from fivefold.values.reports import Stats


@pytest.mark.parametrize(
    ("memories", "wanted"),
    [
        (499, "adds little below 500 memories"),
        (500, "begins to help; it adds much from 2,000 memories on"),
        (2_000, "adds much"),
        (10_000, "adds most"),
    ],
)
def test_R6_what_the_graph_adds_by_size(engine: Engine, memories: int, wanted: str) -> None:
    figures = engine.stats().to_dict() | {"memories": memories, "drift": None}
    assert Stats(**figures).graph_expectation == wanted
