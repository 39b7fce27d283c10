"""For packages that add a part: protocols, the values that parts take and return, and calls to load or add a part."""

from __future__ import annotations

from fivefold.models.embedders import Embedder, TokenEmbedder, embedder
from fivefold.models.rerankers import Reranker, reranker
from fivefold.observers import Observer, Write
from fivefold.observers import add as add_observer
from fivefold.observers import remove as remove_observer
from fivefold.retrieval.protocols import BaseRoute, Pool, Route, SearchContext, Stage
from fivefold.stores import open_store
from fivefold.stores.interface import ModelStore, Reader, Store, Writer
from fivefold.values.entities import Correction, Extraction, Extractor, Mention, Relation, Statement
from fivefold.values.fields import About, Between
from fivefold.values.recall_trace import Candidate, RouteHit
from fivefold.values.vectors import Passage, QuestionReading, Reading
from fivefold.writing.extract import extractor

__all__ = [
    "About",
    "BaseRoute",
    "Between",
    "Candidate",
    "Correction",
    "Embedder",
    "Extraction",
    "Extractor",
    "Mention",
    "ModelStore",
    "Observer",
    "Passage",
    "Pool",
    "QuestionReading",
    "Reader",
    "Reading",
    "Relation",
    "Reranker",
    "Route",
    "RouteHit",
    "SearchContext",
    "Stage",
    "Statement",
    "Store",
    "TokenEmbedder",
    "Write",
    "Writer",
    "add_observer",
    "embedder",
    "extractor",
    "open_store",
    "remove_observer",
    "reranker",
]
