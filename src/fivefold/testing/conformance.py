"""The suite: everything a store must do, in one class."""

from __future__ import annotations

from fivefold.testing.browsing import BrowsingLaws
from fivefold.testing.deletion import DeletionLaws
from fivefold.testing.feedback import FeedbackLaws
from fivefold.testing.filters import FilterLaws
from fivefold.testing.forgetting import ForgettingLaws
from fivefold.testing.graph import GraphLaws
from fivefold.testing.lexical import LexicalLaws
from fivefold.testing.life import LifeLaws
from fivefold.testing.maintenance import MaintenanceLaws
from fivefold.testing.memories import MemoryLaws
from fivefold.testing.namespaces import NamespaceLaws
from fivefold.testing.passages import PassageLaws
from fivefold.testing.recalls import RecallLaws
from fivefold.testing.successions import SuccessionLaws
from fivefold.testing.times import TimeLaws
from fivefold.testing.write_queue import QueueLaws


class StoreConformance(
    MemoryLaws,
    ForgettingLaws,
    NamespaceLaws,
    LexicalLaws,
    GraphLaws,
    FeedbackLaws,
    MaintenanceLaws,
    PassageLaws,
    TimeLaws,
    SuccessionLaws,
    RecallLaws,
    BrowsingLaws,
    FilterLaws,
    LifeLaws,
    DeletionLaws,
    QueueLaws,
):
    """Subclass it in a test file and define one fixture: `location`, where a store can be opened.

    Each test writes to new namespaces. So `location` may name one store for all tests, which also checks that
    namespaces do not mix, or a new one for each. Opened twice it must be the same store both times.
    """
