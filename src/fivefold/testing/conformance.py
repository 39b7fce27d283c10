"""The suite: every law a store must keep, in one class."""

from __future__ import annotations

from fivefold.testing.browsing import BrowsingLaws
from fivefold.testing.care import CareLaws
from fivefold.testing.forgetting import ForgettingLaws
from fivefold.testing.graph import GraphLaws
from fivefold.testing.memories import MemoryLaws
from fivefold.testing.namespaces import NamespaceLaws
from fivefold.testing.recalls import RecallLaws
from fivefold.testing.use import UseLaws
from fivefold.testing.words import WordLaws


class StoreConformance(
    MemoryLaws, ForgettingLaws, NamespaceLaws, WordLaws, GraphLaws, UseLaws, CareLaws, RecallLaws, BrowsingLaws
):
    """Subclass it in a test file and define one fixture: `location`, where a store can be opened.

    Each test writes into namespaces that nobody has used. So `location` may name one store for all tests, which also
    puts them beside each other, or a new one for each. Opened twice it must be the same store both times.
    """
