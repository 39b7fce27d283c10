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
    "History": "browse",
    "Context": "context",
    "Cut": "context",
    "Source": "context",
    "Page": "page",
    "Memory": "memory",
    "Link": "memory",
    "Record": "memory",
    "Report": "memory",
    "Session": "memory",
    "Candidate": "recall",
    "Evidence": "recall",
    "Hit": "recall",
    "Plan": "recall",
    "Query": "recall",
    "Recall": "recall",
    "Step": "recall",
    "Window": "recall",
    "Recipe": "recipe",
    "load_recipe": "recipe",
    "Edge": "memory",
    "Entity": "memory",
    "Settings": "settings",
}
"""Where each public name lives. Modules load when first asked for, so `import fivefold` costs nothing."""

__all__ = ["__version__", *sorted(_HOME)]  # noqa: PLE0604 - built from names

if TYPE_CHECKING:
    from fivefold.browse import History as History
    from fivefold.context import Context as Context
    from fivefold.context import Cut as Cut
    from fivefold.context import Source as Source
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
    from fivefold.memory import Edge as Edge
    from fivefold.memory import Entity as Entity
    from fivefold.memory import Link as Link
    from fivefold.memory import Memory as Memory
    from fivefold.memory import Record as Record
    from fivefold.memory import Report as Report
    from fivefold.memory import Session as Session
    from fivefold.page import Page as Page
    from fivefold.recall import Candidate as Candidate
    from fivefold.recall import Evidence as Evidence
    from fivefold.recall import Hit as Hit
    from fivefold.recall import Plan as Plan
    from fivefold.recall import Query as Query
    from fivefold.recall import Recall as Recall
    from fivefold.recall import Step as Step
    from fivefold.recall import Window as Window
    from fivefold.recipe import Recipe as Recipe
    from fivefold.recipe import load_recipe as load_recipe
    from fivefold.settings import Settings as Settings


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'fivefold' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"fivefold.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
