"""Numbers made of names: the key of a namespace, and the key of a lexeme inside one."""

from __future__ import annotations

import hashlib
from functools import lru_cache

from fivefold.text.text_caches import empty_on_forget


@lru_cache(maxsize=10_000)
def namespace_key(name: str) -> int:
    """64 bits of the name, so that a server need not be asked; creating a namespace checks that no other has them."""
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8, person=b"5f-namespace").digest(), signed=True)


@lru_cache(maxsize=200_000)
def lexeme_key(namespace: int, sessions: bool, lexeme: str) -> int:
    """64 bits of a lexeme under its namespace: two namespaces never meet in one entry of the index."""
    salt = namespace.to_bytes(8, signed=True) + bytes([sessions])
    return int.from_bytes(hashlib.blake2b(lexeme.encode(), digest_size=8, salt=salt).digest(), signed=True)


empty_on_forget(lexeme_key.cache_clear)
