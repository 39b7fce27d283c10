"""Vocabulary drift: when a namespace comes to talk of other things, its lexical index is made anew (R5)."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator
from datetime import datetime
from hashlib import blake2b

from fivefold.stores.protocol import VOCABULARY, Entry, Store, Writer
from fivefold.text import passages
from fivefold.values.reports import Drift
from fivefold.values.times import to_micros

MOST = 5_000
"""Lexemes that are compared, those of most memories."""

LEAST = 0.7
"""Below this Jaccard index the vocabulary counts as another one."""

WIDTH = 5
"""Bytes kept of each lexeme."""


def check(store: Store, namespace: str, now: datetime, advance: Callable[[int], None]) -> Drift:
    """Compare the vocabulary with that of the last look; reindex if it is another one, and keep it for the next."""
    reader = store.reader(namespace)
    if not reader.exists():
        return Drift(now, 0, None, False)
    marks = {_mark(namespace, lexeme) for lexeme in reader.vocabulary(MOST)}
    with store.write(namespace) as txn:
        last = txn.learned(VOCABULARY)
        shared = None if last is None else jaccard(marks, _unpacked(last["marks"]))
        drifted = shared is not None and shared < LEAST
        if drifted:
            txn.rebuild_words(_entries(txn, advance))
        txn.save_learned(
            VOCABULARY,
            {
                "at": to_micros(now),
                "lexemes": len(marks),
                "jaccard": shared,
                "reindexed": drifted,
                "marks": _packed(marks),
            },
        )
    return Drift(now, len(marks), shared, drifted)


def jaccard(one: set[bytes], other: set[bytes]) -> float:
    """How alike two sets are; two empty ones are."""
    return len(one & other) / len(one | other) if one or other else 1.0


def _entries(txn: Writer, advance: Callable[[int], None]) -> Iterator[Entry]:
    after = 0
    while batch := txn.scan(after):
        for memory, extraction in batch:
            predicate, content = passages.indexed(memory)
            yield Entry(
                memory=memory,
                extraction=extraction,
                content_hash=b"",
                predicate_lexemes=predicate,
                content_lexemes=content,
            )
        after = batch[-1][0].row
        advance(len(batch))


def _mark(namespace: str, lexeme: str) -> bytes:
    """Stands for a lexeme where it must not be kept itself: a forgotten memory's words shall be nowhere."""
    return blake2b(f"{namespace}\n{lexeme}".encode(), digest_size=WIDTH).digest()


def _packed(marks: set[bytes]) -> str:
    return b64encode(b"".join(sorted(marks))).decode()


def _unpacked(text: str) -> set[bytes]:
    sent = b64decode(text)
    return {sent[place : place + WIDTH] for place in range(0, len(sent), WIDTH)}
