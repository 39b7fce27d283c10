"""fivefold: long-term memory for AI agents. `open`, `remember`, `recall`, and see why each memory came back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fivefold.version import VERSION

__version__ = VERSION

_HOME = {
    "AsyncEngine": "engine.async_engine",
    "AsyncGraph": "engine.async_engine",
    "AsyncStore": "engine.async_engine",
    "Engine": "engine",
    "SharedStore": "engine",
    "aopen": "engine.async_engine",
    "astore": "engine.async_engine",
    "open": "engine",
    "store": "engine",
    "Call": "errors",
    "ReaderError": "errors",
    "DamagedStore": "errors",
    "DiskFull": "errors",
    "EmbedderError": "errors",
    "EmbedderMismatch": "errors",
    "RetiredEmbedder": "errors",
    "FivefoldError": "errors",
    "InvalidFile": "errors",
    "InvalidInput": "errors",
    "MissingExtra": "errors",
    "NewerSchema": "errors",
    "NotFound": "errors",
    "OwnerOnly": "errors",
    "PluginError": "errors",
    "QueueFull": "errors",
    "ReadOnly": "errors",
    "RerankerError": "errors",
    "ServerAway": "errors",
    "StoreClosed": "errors",
    "StoreError": "errors",
    "StoreReplaced": "errors",
    "TargetExists": "errors",
    "UnfinishedCopy": "errors",
    "UnknownRecipe": "errors",
    "Adaptation": "learning.adaptation",
    "LearnedFromUse": "learning.training",
    "Figures": "learning.reranker",
    "Verdict": "learning.reranker",
    "BadModel": "models.shipped",
    "Embedder": "models.embedders",
    "TokenEmbedder": "models.embedders",
    "RemoteError": "models.remote",
    "Reranker": "models.rerankers",
    "Observer": "observers",
    "Write": "observers",
    "History": "retrieval.browse",
    "Context": "retrieval.prompt",
    "Cut": "retrieval.prompt",
    "Source": "retrieval.prompt",
    "Recipe": "retrieval.recipe",
    "load_recipe": "retrieval.recipe_file",
    "BaseRoute": "retrieval.routes.base",
    "Route": "retrieval.routes.base",
    "SearchContext": "retrieval.routes.base",
    "Pool": "retrieval.stages.base",
    "Stage": "retrieval.stages.base",
    "RequestInProgress": "service.idempotency",
    "KeyReused": "service.idempotency",
    "LimitExceeded": "service.limits",
    "RateExceeded": "service.limits",
    "DoneWithoutRoom": "service.problems",
    "Settings": "settings",
    "ModelStore": "stores.interface",
    "Reader": "stores.interface",
    "Store": "stores.interface",
    "Writer": "stores.interface",
    "Filter": "values.filters",
    "HealthReport": "values.reports",
    "HealthExample": "values.reports",
    "HealthFinding": "values.reports",
    "MetadataTest": "values.filters",
    "TimeSettings": "text.time_grammar.periods",
    "NamespaceRefused": "values.access",
    "Refused": "values.access",
    "Unauthorized": "values.access",
    "Demand": "values.query",
    "Correction": "values.entities",
    "Extraction": "values.entities",
    "Extractor": "values.entities",
    "Mention": "values.entities",
    "Span": "values.entities",
    "Statement": "values.entities",
    "Edge": "values.entities",
    "Entity": "values.entities",
    "Relation": "values.entities",
    "Memory": "values.memory",
    "Record": "values.memory",
    "Session": "values.memory",
    "Page": "values.reports",
    "Cue": "values.query",
    "EntityRef": "values.query",
    "Meaning": "values.query",
    "Query": "values.query",
    "Weights": "values.query",
    "Window": "values.query",
    "Passage": "values.vectors",
    "QuestionReading": "values.vectors",
    "Reading": "values.vectors",
    "Hit": "values.recall",
    "Recall": "values.recall",
    "HitSummary": "values.recall",
    "RecallSummary": "values.recall",
    "Candidate": "values.recall_trace",
    "Dropped": "values.recall_trace",
    "Effort": "values.recall_trace",
    "Evidence": "values.recall_trace",
    "FusedRows": "values.recall_trace",
    "PassageMatch": "values.recall_trace",
    "Plan": "values.recall_trace",
    "RouteHit": "values.recall_trace",
    "RoutePlace": "values.recall_trace",
    "RoutePlan": "values.recall_trace",
    "RouteRun": "values.recall_trace",
    "StageNote": "values.recall_trace",
    "Step": "values.recall_trace",
    "Support": "values.recall_trace",
    "Timing": "values.recall_trace",
    "TopHit": "values.recall_trace",
    "TracedCandidate": "values.recall_trace",
    "TypeHint": "values.recall_trace",
    "WordMatch": "values.recall_trace",
    "Drift": "values.reports",
    "Erasure": "values.reports",
    "Finding": "values.reports",
    "Link": "values.reports",
    "Merged": "values.reports",
    "Report": "values.reports",
    "Stats": "values.reports",
    "Sweep": "values.reports",
    "Graph": "writing.entity_graph",
}
"""Where each public name lives. Modules load when first asked for, so `import fivefold` costs nothing."""

__all__ = ["__version__", *sorted(_HOME)]  # noqa: PLE0604 - built from names

if TYPE_CHECKING:
    from fivefold.engine import Engine as Engine
    from fivefold.engine import SharedStore as SharedStore
    from fivefold.engine import open as open  # noqa: A004 - the public name
    from fivefold.engine import store as store
    from fivefold.engine.async_engine import AsyncEngine as AsyncEngine
    from fivefold.engine.async_engine import AsyncGraph as AsyncGraph
    from fivefold.engine.async_engine import AsyncStore as AsyncStore
    from fivefold.engine.async_engine import aopen as aopen
    from fivefold.engine.async_engine import astore as astore
    from fivefold.errors import Call as Call
    from fivefold.errors import DamagedStore as DamagedStore
    from fivefold.errors import DiskFull as DiskFull
    from fivefold.errors import EmbedderError as EmbedderError
    from fivefold.errors import EmbedderMismatch as EmbedderMismatch
    from fivefold.errors import FivefoldError as FivefoldError
    from fivefold.errors import InvalidFile as InvalidFile
    from fivefold.errors import InvalidInput as InvalidInput
    from fivefold.errors import MissingExtra as MissingExtra
    from fivefold.errors import NewerSchema as NewerSchema
    from fivefold.errors import NotFound as NotFound
    from fivefold.errors import OwnerOnly as OwnerOnly
    from fivefold.errors import PluginError as PluginError
    from fivefold.errors import QueueFull as QueueFull
    from fivefold.errors import ReaderError as ReaderError
    from fivefold.errors import ReadOnly as ReadOnly
    from fivefold.errors import RerankerError as RerankerError
    from fivefold.errors import RetiredEmbedder as RetiredEmbedder
    from fivefold.errors import ServerAway as ServerAway
    from fivefold.errors import StoreClosed as StoreClosed
    from fivefold.errors import StoreError as StoreError
    from fivefold.errors import StoreReplaced as StoreReplaced
    from fivefold.errors import TargetExists as TargetExists
    from fivefold.errors import UnfinishedCopy as UnfinishedCopy
    from fivefold.errors import UnknownRecipe as UnknownRecipe
    from fivefold.learning.adaptation import Adaptation as Adaptation
    from fivefold.learning.reranker import Figures as Figures
    from fivefold.learning.reranker import Verdict as Verdict
    from fivefold.learning.training import LearnedFromUse as LearnedFromUse
    from fivefold.models.embedders import Embedder as Embedder
    from fivefold.models.embedders import TokenEmbedder as TokenEmbedder
    from fivefold.models.remote import RemoteError as RemoteError
    from fivefold.models.rerankers import Reranker as Reranker
    from fivefold.models.shipped import BadModel as BadModel
    from fivefold.observers import Observer as Observer
    from fivefold.observers import Write as Write
    from fivefold.retrieval.browse import History as History
    from fivefold.retrieval.prompt import Context as Context
    from fivefold.retrieval.prompt import Cut as Cut
    from fivefold.retrieval.prompt import Source as Source
    from fivefold.retrieval.recipe import Recipe as Recipe
    from fivefold.retrieval.recipe_file import load_recipe as load_recipe
    from fivefold.retrieval.routes.base import BaseRoute as BaseRoute
    from fivefold.retrieval.routes.base import Route as Route
    from fivefold.retrieval.routes.base import SearchContext as SearchContext
    from fivefold.retrieval.stages.base import Pool as Pool
    from fivefold.retrieval.stages.base import Stage as Stage
    from fivefold.service.idempotency import KeyReused as KeyReused
    from fivefold.service.idempotency import RequestInProgress as RequestInProgress
    from fivefold.service.limits import LimitExceeded as LimitExceeded
    from fivefold.service.limits import RateExceeded as RateExceeded
    from fivefold.service.problems import DoneWithoutRoom as DoneWithoutRoom
    from fivefold.settings import Settings as Settings
    from fivefold.stores.interface import ModelStore as ModelStore
    from fivefold.stores.interface import Reader as Reader
    from fivefold.stores.interface import Store as Store
    from fivefold.stores.interface import Writer as Writer
    from fivefold.text.time_grammar.periods import TimeSettings as TimeSettings
    from fivefold.values.access import NamespaceRefused as NamespaceRefused
    from fivefold.values.access import Refused as Refused
    from fivefold.values.access import Unauthorized as Unauthorized
    from fivefold.values.entities import Correction as Correction
    from fivefold.values.entities import Edge as Edge
    from fivefold.values.entities import Entity as Entity
    from fivefold.values.entities import Extraction as Extraction
    from fivefold.values.entities import Extractor as Extractor
    from fivefold.values.entities import Mention as Mention
    from fivefold.values.entities import Relation as Relation
    from fivefold.values.entities import Span as Span
    from fivefold.values.entities import Statement as Statement
    from fivefold.values.filters import Filter as Filter
    from fivefold.values.filters import MetadataTest as MetadataTest
    from fivefold.values.memory import Memory as Memory
    from fivefold.values.memory import Record as Record
    from fivefold.values.memory import Session as Session
    from fivefold.values.query import Cue as Cue
    from fivefold.values.query import Demand as Demand
    from fivefold.values.query import EntityRef as EntityRef
    from fivefold.values.query import Meaning as Meaning
    from fivefold.values.query import Query as Query
    from fivefold.values.query import Weights as Weights
    from fivefold.values.query import Window as Window
    from fivefold.values.recall import Hit as Hit
    from fivefold.values.recall import HitSummary as HitSummary
    from fivefold.values.recall import Recall as Recall
    from fivefold.values.recall import RecallSummary as RecallSummary
    from fivefold.values.recall_trace import Candidate as Candidate
    from fivefold.values.recall_trace import Dropped as Dropped
    from fivefold.values.recall_trace import Effort as Effort
    from fivefold.values.recall_trace import Evidence as Evidence
    from fivefold.values.recall_trace import FusedRows as FusedRows
    from fivefold.values.recall_trace import PassageMatch as PassageMatch
    from fivefold.values.recall_trace import Plan as Plan
    from fivefold.values.recall_trace import RouteHit as RouteHit
    from fivefold.values.recall_trace import RoutePlace as RoutePlace
    from fivefold.values.recall_trace import RoutePlan as RoutePlan
    from fivefold.values.recall_trace import RouteRun as RouteRun
    from fivefold.values.recall_trace import StageNote as StageNote
    from fivefold.values.recall_trace import Step as Step
    from fivefold.values.recall_trace import Support as Support
    from fivefold.values.recall_trace import Timing as Timing
    from fivefold.values.recall_trace import TopHit as TopHit
    from fivefold.values.recall_trace import TracedCandidate as TracedCandidate
    from fivefold.values.recall_trace import TypeHint as TypeHint
    from fivefold.values.recall_trace import WordMatch as WordMatch
    from fivefold.values.reports import Drift as Drift
    from fivefold.values.reports import Erasure as Erasure
    from fivefold.values.reports import Finding as Finding
    from fivefold.values.reports import HealthExample as HealthExample
    from fivefold.values.reports import HealthFinding as HealthFinding
    from fivefold.values.reports import HealthReport as HealthReport
    from fivefold.values.reports import Link as Link
    from fivefold.values.reports import Merged as Merged
    from fivefold.values.reports import Page as Page
    from fivefold.values.reports import Report as Report
    from fivefold.values.reports import Stats as Stats
    from fivefold.values.reports import Sweep as Sweep
    from fivefold.values.vectors import Passage as Passage
    from fivefold.values.vectors import QuestionReading as QuestionReading
    from fivefold.values.vectors import Reading as Reading
    from fivefold.writing.entity_graph import Graph as Graph


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'fivefold' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"fivefold.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
