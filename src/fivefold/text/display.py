"""Text that is safe to show: what a terminal or a page would obey or hide becomes a visible mark."""

from __future__ import annotations

import json
import unicodedata

from fivefold.values.shorten import shorten

SHOWN = 300
"""Characters of a memory that are shown where it is one of many."""

_MARK = "·"
_JOINERS = "\u200c\u200d"
_PREPENDED = "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"
"""Format characters that have a shape of their own."""

_HARMLESS = frozenset("\n\t" + _JOINERS + _PREPENDED)
_OBEYED = frozenset({"Cc", "Cf", "Zl", "Zp", "Cs"})


def visible(text: str) -> str:
    """`text` with a mark in place of every control, bidi and invisible format character; lines and tabs stay."""
    if text.isprintable():
        return text
    return "".join(_mark(c) if _unsafe(c) else c for c in text.replace("\r\n", "\n"))


def brief(text: str, full: bool = False) -> str:
    """A memory's text as one line of about `SHOWN` characters, or all of it."""
    return visible(text) if full else shorten(visible(text), SHOWN)


def escaped(text: str) -> str:
    """JSON with the same characters as escapes, so that nothing is lost and nothing is obeyed."""
    return "\n".join(line if line.isprintable() else _escape(line) for line in text.split("\n"))


def _escape(line: str) -> str:
    return "".join(json.dumps(c)[1:-1] if _unsafe(c) else c for c in line)


def _unsafe(c: str) -> bool:
    return not c.isprintable() and c not in _HARMLESS and unicodedata.category(c) in _OBEYED


def _mark(c: str) -> str:
    if c < " ":
        return chr(0x2400 + ord(c))
    return "␡" if c == "\x7f" else _MARK
