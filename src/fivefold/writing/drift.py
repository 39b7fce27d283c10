"""Vocabulary drift: when a namespace speaks of other things than before, its lexical index is rebuilt (R5)."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from hashlib import blake2b
from typing import Any

from fivefold.stores.protocol import TYPE_VOCABULARY, VOCABULARY, Store
from fivefold.values.reports import Drift
from fivefold.values.times import from_micros, to_micros
from fivefold.writing.indexing import all_entries
from fivefold.writing.type_vocabulary import count_words

MOST = 5_000
"""Lexemes that are compared: those that most memories contain."""

LEAST = 0.7
"""Below this Jaccard index the vocabulary counts as a different one."""

WIDTH = 5
"""Bytes stored for each lexeme."""


def check(store: Store, namespace: str, now: datetime, advance: Callable[[int], None] = lambda done: None) -> Drift:
    """Compare the vocabulary with that of the last check, rebuild the lexical index if it differs, and store it.

    The optimizer's statistics are counted again as well (R2).
    """
    reader = store.reader(namespace)
    if not reader.exists():
        return Drift(now, 0, None, False)
    digests = {_digest(namespace, lexeme) for lexeme in reader.search.vocabulary(MOST)}
    advance(0)
    by_type = count_words(reader).to_dict()
    advance(0)
    with store.write(namespace) as txn:
        last = txn.admin.learned_value(VOCABULARY)
        similarity = None if last is None else jaccard(digests, _unpack(last["marks"]))
        drifted = similarity is not None and similarity < LEAST
        if drifted:
            txn.index.rebuild_lexical(all_entries(txn, advance))
        txn.admin.save_learned_value(TYPE_VOCABULARY, by_type)
        txn.admin.save_learned_value(
            VOCABULARY,
            {
                "at": to_micros(now),
                "lexemes": len(digests),
                "jaccard": similarity,
                "reindexed": drifted,
                "marks": _pack(digests),
            },
        )
    return Drift(now, len(digests), similarity, drifted)


def is_due(last: Mapping[str, Any] | None, now: datetime, days: int) -> bool:
    """Whether a namespace is to be checked again, by what its last check has stored; never where `days` is 0."""
    if days == 0:
        return False
    return last is None or now >= from_micros(last["at"]) + timedelta(days=days)


def jaccard(one: set[bytes], other: set[bytes]) -> float:
    """How similar two sets are; two empty ones are equal."""
    return len(one & other) / len(one | other) if one or other else 1.0


def _digest(namespace: str, lexeme: str) -> bytes:
    """Stored in place of the lexeme, so that no word of a forgotten memory stays in the store."""
    return blake2b(f"{namespace}\n{lexeme}".encode(), digest_size=WIDTH).digest()


def _pack(digests: set[bytes]) -> str:
    return b64encode(b"".join(sorted(digests))).decode()


def _unpack(text: str) -> set[bytes]:
    data = b64decode(text)
    return {data[start : start + WIDTH] for start in range(0, len(data), WIDTH)}
