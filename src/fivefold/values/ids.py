"""Ids that sort by time, and hashes that tell whether two texts say the same."""

from __future__ import annotations

import hashlib
import os
import re
import threading
import time
import unicodedata
from collections.abc import Callable, Sequence
from functools import partial

_SIGNS = ("<super>", "<sub>", "<fraction>")
"""Kinds of characters that NFKC turns into plain digits and letters."""

_lock = threading.Lock()
_last = 0


def new_id() -> str:
    """A UUID version 7: 48 bits of milliseconds, then a counter within them, then randomness.

    The clock never runs backwards within a process, so ids sort in the order they were made.
    """
    global _last  # noqa: PLW0603 - one monotonic clock per process is the point
    with _lock:
        _last = max(_last + 1, time.time_ns() // 1_000_000 << 12)
        stamp = _last
    millis, counter = stamp >> 12, stamp & 0xFFF
    tail = int.from_bytes(os.urandom(8), "big") & (1 << 62) - 1 | 1 << 63
    number = millis << 80 | 0x7 << 76 | counter << 64 | tail
    text = f"{number:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def content_hash(*parts: str | None) -> bytes:
    """16 bytes that are equal when the parts are, letter case and white space aside."""
    return _hash(_meaning, parts)


def _hash(normalize: Callable[[str], str], parts: Sequence[str | None]) -> bytes:
    folded = "\x1f".join(" ".join(normalize(part).casefold().split()) for part in (part or "" for part in parts))
    return hashlib.blake2b(folded.encode(), digest_size=16).digest()


def is_hash_of(stored: bytes, *parts: str | None) -> bool:
    """Whether a stored hash is that of these parts; one by the formula of an earlier version counts as well."""
    return stored in (content_hash(*parts), _hash(partial(unicodedata.normalize, "NFKC"), parts))


def replay_id(canonical: str, occurrence: int) -> str:
    """The id of the n-th equal line of an import, so that importing the file again adds nothing."""
    return hashlib.blake2b(f"{occurrence}\x1f{canonical}".encode(), digest_size=16).hexdigest()


def _meaning(text: str) -> str:
    """The text in one spelling. Raised and lowered signs and fractions stay: 2⁵ is not 25."""
    if text.isascii():
        return text
    signs = "".join(sorted(c for c in set(text) if unicodedata.decomposition(c).startswith(_SIGNS)))
    pieces = re.split(f"([{signs}])", text) if signs else [text]
    return "".join(piece if piece in signs else unicodedata.normalize("NFKC", piece) for piece in pieces if piece)
