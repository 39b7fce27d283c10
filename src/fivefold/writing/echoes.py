"""Echoes: what was recalled a moment ago, and is stored again by the assistant or a tool in the same words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta

from fivefold.namespace import Namespace
from fivefold.stores.protocol import Writer
from fivefold.text.lexemes import lexemes
from fivefold.values.memory import Memory
from fivefold.values.reports import Merged
from fivefold.writing.draft import Draft

MOST = 20
"""How many of the last recalls are looked at."""

COVERED = 0.7
"""The share of the words of a memory that an echo of it has at least."""

_NAMED = "user assistant"
"""Words that an assistant adds when it repeats what a user said."""

_NOT = re.compile(r"\b(?:not?|never|none|without|cannot|neither|nor)\b|n['\u2019]t\b", re.IGNORECASE)


def mark_echoes(drafts: Sequence[Draft], namespace: Namespace, minutes: int) -> None:
    """Give each note that echoes a memory which was recalled in the last `minutes` that memory."""
    notes = [item for item in drafts if item.memory.kind == "note" and item.memory.origin in ("assistant", "tool")]
    if not notes or not minutes:
        return
    since = namespace.clock() - timedelta(minutes=minutes)
    known = namespace.reader.memories
    recalled = [known.get(id) for id in namespace.reader.feedback.returned_since(since, MOST)]
    alive = [memory for memory in recalled if memory is not None and memory.superseded_by is None]
    for item in notes:
        item.echo = next(_echoed(item.memory, alive), None)


def merge_echo(item: Draft, txn: Writer) -> Merged | None:
    """Count an echo at the memory that it repeats, if that is still there; None for what must be stored."""
    if item.echo is None:
        return None
    known = txn.memories.by_row(item.echo.row)
    if known is None or known.content != item.echo.content:
        return None
    txn.memories.count_echo(known.row)
    return Merged(known.id, f"it was recalled a moment ago and says the same; echo {known.echo_count + 1}")


def _echoed(memory: Memory, recalled: Iterable[Memory]) -> Iterator[Memory]:
    """Those of the recalled memories that say all that the new one says, in the same words."""
    own = _words(memory)
    for other in recalled:
        words = _words(other)
        if own and own <= words and len(own) >= COVERED * len(words) and _denies(memory) == _denies(other):
            yield other


def _words(memory: Memory) -> frozenset[str]:
    return frozenset(lexemes(memory.content)) - frozenset(lexemes(_NAMED))


def _denies(memory: Memory) -> int:
    return len(_NOT.findall(memory.content))
