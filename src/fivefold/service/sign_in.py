"""Who is signed in to the pages: a browser has a token in place of the key, valid as long as the server runs."""

from __future__ import annotations

import hashlib
import secrets

from fivefold.service.shared_tables import MemoryTable, Table

MOST = 10_000
"""The most browsers signed in at once; one more signs out the oldest."""


class SignIns:
    """A cookie goes to every program of its host, on any port; so it is not the key, which opens REST too.

    The key is stored masked by the token, which only the browser has.
    """

    def __init__(self, table: Table | None = None) -> None:
        self._keys = table or MemoryTable(MOST)

    def begin(self, secret: str) -> str:
        """A new token for this key."""
        token = secrets.token_urlsafe(32)
        self._keys.change(_digest(token), lambda _: _masked(secret.encode(), token).hex())
        return token

    def secret(self, token: str) -> str | None:
        """The key behind a token; the keyring says whether it is still valid."""
        stored = self._keys.get(_digest(token))
        return None if stored is None else _masked(bytes.fromhex(stored), token).decode()

    def end(self, token: str) -> None:
        self._keys.change(_digest(token), lambda _: None)


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode(errors="replace")).hexdigest()


def _masked(text: bytes, token: str) -> bytes:
    """The text with a mask that only the token gives; applied twice, the text again. A token masks one text only."""
    mask = hashlib.shake_256(b"mask " + token.encode(errors="replace")).digest(len(text))
    return bytes(a ^ b for a, b in zip(text, mask, strict=True))
