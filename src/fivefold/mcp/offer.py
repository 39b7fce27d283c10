"""What the server offers, for whoever wants to read it without a client."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel

from fivefold.mcp import prompts, resources
from fivefold.mcp.tools import TOOLS
from fivefold.values.serialize import Json


def offer() -> Json:
    """The tools with their schemas, the templates of resources, and the prompts, as a client is told them."""
    offered: dict[str, Sequence[BaseModel]] = {
        "tools": [tool.offered() for tool in TOOLS.values()],
        "resource_templates": resources.templates(),
        "prompts": prompts.offered(),
    }
    return {
        kind: [item.model_dump(mode="json", by_alias=True, exclude_none=True) for item in items]
        for kind, items in offered.items()
    }
