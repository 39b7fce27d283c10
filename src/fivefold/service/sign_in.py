"""Who is signed in to the pages: a browser has a token in place of the key, valid for the pages of this process."""

from __future__ import annotations

import hashlib
import secrets
import threading
from collections import OrderedDict

MOST = 10_000
"""The most browsers signed in at once; one more signs out the oldest."""


class SignIns:
    """A cookie goes to every program of its host, on any port; so it is not the key, which opens REST too."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._keys: OrderedDict[bytes, str] = OrderedDict()
        self._lock = threading.Lock()

    def begin(self, secret: str) -> str:
        """A new token for this key."""
        token = secrets.token_urlsafe(32)
        with self._lock:
            self._keys[_digest(token)] = secret
            if len(self._keys) > self._most:
                self._keys.popitem(last=False)
        return token

    def secret(self, token: str) -> str | None:
        """The key behind a token; the keyring says whether it is still valid."""
        with self._lock:
            return self._keys.get(_digest(token))

    def end(self, token: str) -> None:
        with self._lock:
            self._keys.pop(_digest(token), None)


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode(errors="replace")).digest()
