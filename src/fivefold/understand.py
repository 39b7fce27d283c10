"""A question becomes a Query: what it asks by, as far as that can be read out of it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from fivefold.lexemes import lexemes
from fivefold.recall import Query


def understand(question: str, now: datetime, context: Sequence[str] = ()) -> Query:
    """The question with its lexemes, each once, in reading order."""
    return Query(text=question, now=now, lexemes=tuple(dict.fromkeys(lexemes(question))), context=tuple(context))
