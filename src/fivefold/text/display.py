"""Text that is safe to show: what a terminal or a page would obey or hide becomes a visible mark."""

from __future__ import annotations

import json

from fivefold.values.shorten import shorten
from fivefold.values.visible_text import is_obeyed, visible

__all__ = ["SHOWN", "brief", "escaped", "visible"]

SHOWN = 300
"""Characters of a memory that are shown where it is one of many."""


def brief(text: str, full: bool = False) -> str:
    """A memory's text as one line of about `SHOWN` characters, or all of it."""
    return visible(text) if full else shorten(visible(text), SHOWN)


def escaped(text: str) -> str:
    """JSON with the same characters as escapes, so that nothing is lost and nothing is obeyed."""
    return "\n".join(line if line.isprintable() else _escape(line) for line in text.split("\n"))


def _escape(line: str) -> str:
    return "".join(json.dumps(c)[1:-1] if is_obeyed(c) else c for c in line)
