"""fivefold: long-term memory for AI agents. `open`, `remember`, `recall`, and see why each memory came back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fivefold.version import VERSION

__version__ = VERSION

_HOME = {
    name: home
    for home, names in (
        ("fivefold.engine", "Engine SharedStore open store"),
        ("fivefold.engine.async_engine", "AsyncEngine AsyncGraph AsyncStore aopen astore"),
        ("fivefold.errors", "FivefoldError InvalidInput NotFound MissingExtra PluginError"),
        ("fivefold.errors", "EmbedderError EmbedderMismatch"),
        ("fivefold.errors", "StoreError DiskFull NewerSchema ReadOnly ServerAway StoreClosed"),
        ("fivefold.learning.reranker", "Verdict"),
        ("fivefold.learning.training", "LearnedFromUse"),
        ("fivefold.retrieval.browse", "History"),
        ("fivefold.retrieval.prompt", "Context Source"),
        ("fivefold.retrieval.recipe", "Recipe"),
        ("fivefold.retrieval.recipe_file", "load_recipe"),
        ("fivefold.settings", "Settings"),
        ("fivefold.transfer.sync", "SyncReport"),
        ("fivefold.values.entities", "Edge Entity Extraction"),
        ("fivefold.values.filters", "Filter MetadataTest"),
        ("fivefold.values.known", "Agenda Changes Fact Profile Recap"),
        ("fivefold.values.memory", "Memory Record Session"),
        ("fivefold.values.query", "Query"),
        ("fivefold.values.recall", "Hit Recall"),
        ("fivefold.values.recall_trace", "Candidate Evidence PassageMatch Plan Step WordMatch"),
        ("fivefold.values.reports", "Drift Erasure Finding HealthReport Link Page Report Stats Sweep"),
        ("fivefold.writing.entity_graph", "Graph"),
    )
    for name in names.split()
}
"""Home of each public name. Modules load when first asked for, so `import fivefold` costs nothing."""

__all__ = ["__version__", *sorted(_HOME)]  # noqa: PLE0604 - built from names

if TYPE_CHECKING:  # the same names for type checkers, which a test compares
    from fivefold.engine import Engine as Engine
    from fivefold.engine import SharedStore as SharedStore
    from fivefold.engine import open as open  # noqa: A004 - the public name
    from fivefold.engine import store as store
    from fivefold.engine.async_engine import AsyncEngine as AsyncEngine
    from fivefold.engine.async_engine import AsyncGraph as AsyncGraph
    from fivefold.engine.async_engine import AsyncStore as AsyncStore
    from fivefold.engine.async_engine import aopen as aopen
    from fivefold.engine.async_engine import astore as astore
    from fivefold.errors import DiskFull as DiskFull
    from fivefold.errors import EmbedderError as EmbedderError
    from fivefold.errors import EmbedderMismatch as EmbedderMismatch
    from fivefold.errors import FivefoldError as FivefoldError
    from fivefold.errors import InvalidInput as InvalidInput
    from fivefold.errors import MissingExtra as MissingExtra
    from fivefold.errors import NewerSchema as NewerSchema
    from fivefold.errors import NotFound as NotFound
    from fivefold.errors import PluginError as PluginError
    from fivefold.errors import ReadOnly as ReadOnly
    from fivefold.errors import ServerAway as ServerAway
    from fivefold.errors import StoreClosed as StoreClosed
    from fivefold.errors import StoreError as StoreError
    from fivefold.learning.reranker import Verdict as Verdict
    from fivefold.learning.training import LearnedFromUse as LearnedFromUse
    from fivefold.retrieval.browse import History as History
    from fivefold.retrieval.prompt import Context as Context
    from fivefold.retrieval.prompt import Source as Source
    from fivefold.retrieval.recipe import Recipe as Recipe
    from fivefold.retrieval.recipe_file import load_recipe as load_recipe
    from fivefold.settings import Settings as Settings
    from fivefold.transfer.sync import SyncReport as SyncReport
    from fivefold.values.entities import Edge as Edge
    from fivefold.values.entities import Entity as Entity
    from fivefold.values.entities import Extraction as Extraction
    from fivefold.values.filters import Filter as Filter
    from fivefold.values.filters import MetadataTest as MetadataTest
    from fivefold.values.known import Agenda as Agenda
    from fivefold.values.known import Changes as Changes
    from fivefold.values.known import Fact as Fact
    from fivefold.values.known import Profile as Profile
    from fivefold.values.known import Recap as Recap
    from fivefold.values.memory import Memory as Memory
    from fivefold.values.memory import Record as Record
    from fivefold.values.memory import Session as Session
    from fivefold.values.query import Query as Query
    from fivefold.values.recall import Hit as Hit
    from fivefold.values.recall import Recall as Recall
    from fivefold.values.recall_trace import Candidate as Candidate
    from fivefold.values.recall_trace import Evidence as Evidence
    from fivefold.values.recall_trace import PassageMatch as PassageMatch
    from fivefold.values.recall_trace import Plan as Plan
    from fivefold.values.recall_trace import Step as Step
    from fivefold.values.recall_trace import WordMatch as WordMatch
    from fivefold.values.reports import Drift as Drift
    from fivefold.values.reports import Erasure as Erasure
    from fivefold.values.reports import Finding as Finding
    from fivefold.values.reports import HealthReport as HealthReport
    from fivefold.values.reports import Link as Link
    from fivefold.values.reports import Page as Page
    from fivefold.values.reports import Report as Report
    from fivefold.values.reports import Stats as Stats
    from fivefold.values.reports import Sweep as Sweep
    from fivefold.writing.entity_graph import Graph as Graph


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'fivefold' has no attribute {name!r}")
    from importlib import import_module

    value = globals()[name] = getattr(import_module(_HOME[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
