"""The inspector: pages to ask, to see why, to compare recipes, and to browse and edit what is stored."""

from __future__ import annotations

from fivefold.web.inspector.routing import router

__all__ = ["router"]
