"""Extractors: what is read out of a record before it is stored."""

from __future__ import annotations

from fivefold.errors import InvalidInput
from fivefold.values.extraction import Extractor
from fivefold.values.plugins import plugin_by_choice


def extractor(choice: str) -> Extractor:
    """`rules` (offline, the default), `openai:MODEL` (any compatible endpoint), or one that a package registers."""
    if not isinstance(choice, str):
        raise InvalidInput(f"an extractor is named by text, not by {choice!r}")
    if choice == "rules":
        from fivefold.writing.extract.rules import Rules

        return Rules()
    family, _, model = choice.partition(":")
    if family == "openai" and model:
        from fivefold.writing.extract.model import ModelExtractor

        return ModelExtractor(model)
    plugin: Extractor = plugin_by_choice("extractors", choice, {"rules": "rules", "openai": "openai:MODEL"}, Extractor)
    return plugin
