"""fivefold: long-term memory for AI agents. `open`, `remember`, `recall`, and see why each memory came back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOME = {
    "Engine": "engine",
    "open": "engine",
    "DiskFull": "errors",
    "EmbedderError": "errors",
    "RerankerError": "errors",
    "EmbedderMismatch": "errors",
    "FivefoldError": "errors",
    "InvalidInput": "errors",
    "MissingExtra": "errors",
    "NewerSchema": "errors",
    "ServerAway": "errors",
    "NotFound": "errors",
    "OwnerOnly": "errors",
    "ReadOnly": "errors",
    "StoreClosed": "errors",
    "StoreError": "errors",
    "UnknownRecipe": "errors",
    "History": "retrieval.browse",
    "Context": "retrieval.prompt",
    "Cut": "retrieval.prompt",
    "Source": "retrieval.prompt",
    "Page": "values.paging",
    "Memory": "values.memory",
    "Link": "values.reports",
    "Record": "values.memory",
    "Report": "values.reports",
    "Session": "values.memory",
    "Candidate": "values.recall",
    "Evidence": "values.recall",
    "Hit": "values.recall",
    "Plan": "values.recall",
    "Query": "values.query",
    "Recall": "values.recall",
    "Step": "values.recall",
    "Window": "values.query",
    "Recipe": "retrieval.recipe",
    "load_recipe": "retrieval.recipe",
    "Edge": "values.graph",
    "Entity": "values.graph",
    "Settings": "settings",
}
"""Where each public name lives. Modules load when first asked for, so `import fivefold` costs nothing."""

__all__ = ["__version__", *sorted(_HOME)]  # noqa: PLE0604 - built from names

if TYPE_CHECKING:
    from fivefold.engine import Engine as Engine
    from fivefold.engine import open as open  # noqa: A004 - the public name
    from fivefold.errors import DiskFull as DiskFull
    from fivefold.errors import EmbedderError as EmbedderError
    from fivefold.errors import EmbedderMismatch as EmbedderMismatch
    from fivefold.errors import FivefoldError as FivefoldError
    from fivefold.errors import InvalidInput as InvalidInput
    from fivefold.errors import MissingExtra as MissingExtra
    from fivefold.errors import NewerSchema as NewerSchema
    from fivefold.errors import NotFound as NotFound
    from fivefold.errors import OwnerOnly as OwnerOnly
    from fivefold.errors import ReadOnly as ReadOnly
    from fivefold.errors import RerankerError as RerankerError
    from fivefold.errors import ServerAway as ServerAway
    from fivefold.errors import StoreClosed as StoreClosed
    from fivefold.errors import StoreError as StoreError
    from fivefold.errors import UnknownRecipe as UnknownRecipe
    from fivefold.retrieval.browse import History as History
    from fivefold.retrieval.prompt import Context as Context
    from fivefold.retrieval.prompt import Cut as Cut
    from fivefold.retrieval.prompt import Source as Source
    from fivefold.retrieval.recipe import Recipe as Recipe
    from fivefold.retrieval.recipe import load_recipe as load_recipe
    from fivefold.settings import Settings as Settings
    from fivefold.values.graph import Edge as Edge
    from fivefold.values.graph import Entity as Entity
    from fivefold.values.memory import Memory as Memory
    from fivefold.values.memory import Record as Record
    from fivefold.values.memory import Session as Session
    from fivefold.values.paging import Page as Page
    from fivefold.values.query import Query as Query
    from fivefold.values.query import Window as Window
    from fivefold.values.recall import Candidate as Candidate
    from fivefold.values.recall import Evidence as Evidence
    from fivefold.values.recall import Hit as Hit
    from fivefold.values.recall import Plan as Plan
    from fivefold.values.recall import Recall as Recall
    from fivefold.values.recall import Step as Step
    from fivefold.values.reports import Link as Link
    from fivefold.values.reports import Report as Report


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'fivefold' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"fivefold.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
