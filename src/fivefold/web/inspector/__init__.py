"""The inspector: pages to ask, to see why, to compare, and to look after what is remembered."""

from __future__ import annotations

from fivefold.web.inspector.routing import router

__all__ = ["router"]
