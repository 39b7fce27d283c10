"""A conformance suite for stores. One that passes gives the same answers, for the same reasons, as SQLite does.

The folder runs in a clone, and as a copy anywhere beside pytest and hypothesis.

class TestMine(StoreConformance):
    @pytest.fixture
    def location(self, tmp_path: Path) -> str:
        return f"mine://{tmp_path}"
"""

from __future__ import annotations

import pytest

LAWS = (
    "browsing",
    "deletion",
    "feedback",
    "filters",
    "facets",
    "forgetting",
    "graph",
    "lexical",
    "life",
    "maintenance",
    "memories",
    "namespaces",
    "passages",
    "recalls",
    "successions",
    "times",
)

pytest.register_assert_rewrite(*(f"{__name__}.{name}" for name in ("store_pair", *LAWS)))


from .conformance import StoreConformance  # noqa: E402 - asserts explain themselves from here on

__all__ = ["StoreConformance"]
