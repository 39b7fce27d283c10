"""The suite: everything a store must do, in one class."""

from __future__ import annotations

from .browsing import BrowsingLaws
from .deletion import DeletionLaws
from .facets import FacetLaws
from .feedback import FeedbackLaws
from .filters import FilterLaws
from .forgetting import ForgettingLaws
from .graph import GraphLaws
from .lexical import LexicalLaws
from .life import LifeLaws
from .maintenance import MaintenanceLaws
from .memories import MemoryLaws
from .namespaces import NamespaceLaws
from .passages import PassageLaws
from .recalls import RecallLaws
from .successions import SuccessionLaws
from .times import TimeLaws
from .write_queue import QueueLaws


class StoreConformance(
    MemoryLaws,
    ForgettingLaws,
    NamespaceLaws,
    LexicalLaws,
    FacetLaws,
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
