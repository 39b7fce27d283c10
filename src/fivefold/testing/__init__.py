"""A conformance suite for stores. One that passes gives the same answers, for the same reasons, as SQLite does.

class TestMine(StoreConformance):
    @pytest.fixture
    def location(self, tmp_path: Path) -> str:
        return f"mine://{tmp_path}"
"""

from __future__ import annotations

from fivefold.errors import MissingExtra

try:
    import hypothesis as hypothesis
    import pytest
except ImportError:
    raise MissingExtra("the conformance suite", "testing") from None

LAWS = (
    "browsing",
    "deletion",
    "feedback",
    "filters",
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

pytest.register_assert_rewrite("fivefold.testing.store_pair", *(f"fivefold.testing.{name}" for name in LAWS))


from fivefold.testing.conformance import StoreConformance  # noqa: E402 - asserts explain themselves from here on

__all__ = ["StoreConformance"]
