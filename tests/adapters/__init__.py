"""Which adapters have their frameworks here."""

from __future__ import annotations

from importlib import import_module

from fivefold.errors import MissingExtra

APART = {"anthropic", "autogen", "crewai", "google_adk", "hermes", "langgraph", "pydantic_ai"}
"""Adapters whose frameworks have environments of their own: `make test-adapters` runs what needs them."""


def is_here(module: str) -> bool:
    try:
        import_module(f"fivefold.adapters.{module}")
    except MissingExtra:
        return False
    return True
