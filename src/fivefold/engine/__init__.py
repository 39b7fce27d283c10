"""The public face: a store opened for one namespace or for many, and the engine that remembers and recalls."""

from __future__ import annotations

from fivefold.engine.engine import Engine
from fivefold.engine.opening import SharedStore, open, store  # noqa: A004 - the public name

__all__ = ["Engine", "SharedStore", "open", "store"]
