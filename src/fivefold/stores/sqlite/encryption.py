"""Encrypted files: the key of a store, and the library that reads them, SQLite3 Multiple Ciphers in place of SQLite.

ChaCha20 encrypts every page of the file, its log and its copies, and Poly1305 authenticates it. The key is derived from
the user's by 64,007 rounds of PBKDF2, once for each file and process.
"""

from __future__ import annotations

import os
from contextlib import closing
from functools import lru_cache
from hashlib import pbkdf2_hmac
from secrets import token_hex
from typing import Any

import apsw

from fivefold.errors import Call, FivefoldError, InvalidInput, MissingExtra, StoreError

KEY_VARIABLE = "FIVEFOLD_STORE_KEY"
KEYRING = "fivefold", "store-key"
"""The service and the name under which the system's keyring has the key."""

MAX_KEY = 1_000
PLAIN, ENCRYPTED = b"SQLite format 3\0", b"\x20\x40\x20\x20"
"""The beginning of a plain file, and the end of the part of the header that an encrypted file has as plain text."""

HEADER = 24
"""Bytes of a header that tell an encrypted file from a plain one; the first 16 of an encrypted one are its salt."""

_ROUNDS = 64_007
_RAW = "raw:"
"""The beginning of a key of 64 hexadecimal digits that is used as it is."""


class WrongKey(StoreError):
    """An encrypted store was opened without its key, or a plain one with a key."""


def checked_key(key: str) -> str:
    if not 0 < len(key) <= MAX_KEY or not key.isprintable():
        raise InvalidInput(f"must be a line of 1 to {MAX_KEY:,} characters", field="key")
    return key


def unlock(connection: apsw.Connection, location: str, key: str | None = None) -> str:
    """Give a new connection the key of its file, and return it; empty if the file is plain.

    If `key` is None, the environment may have it, and of an encrypted file the system's keyring. An empty one is none.
    """
    header = connection.read("main", 0, 0, HEADER)[1] if connection.filename else PLAIN
    if key is None and connection.filename:
        key = checked_key(os.environ[KEY_VARIABLE]) if os.environ.get(KEY_VARIABLE) else _keyring_key(header)
    if header.startswith(PLAIN) and key:
        raise WrongKey(
            f"{location!r} is not encrypted, and a key is given",
            advice=f"encrypt it with {{call}}, or leave the key out, also as {KEY_VARIABLE}",
            call=Call("rekey", {"store": location}),
        )
    if not is_locked(header) and (any(header) or not key):
        return ""
    if not can_encrypt():
        raise MissingLibrary()
    if not key:
        raise WrongKey(f"{location!r} is encrypted", advice=f"give its key as {KEY_VARIABLE}")
    set_key(connection, "key", key, header[:16])
    try:
        connection.execute("SELECT count(*) FROM sqlite_master").fetchall()
    except apsw.NotADBError:
        raise WrongKey(
            f"{location!r} cannot be read with this key", advice="give the right one; if it is, the file is damaged"
        ) from None
    return key


def is_locked(header: bytes) -> bool:
    """True if a header belongs to an encrypted file."""
    return not header.startswith(PLAIN) and header[:HEADER].endswith(ENCRYPTED)


def set_key(connection: apsw.Connection, pragma: str, key: str, salt: bytes = b"") -> None:
    """Use a key from now on (`key`), or encrypt the whole file with it (`rekey`; an empty one decrypts)."""
    connection.pragma("cipher", "chacha20")
    connection.pragma("kdf_iter", _ROUNDS)
    connection.pragma("temp_store", 2)  # in memory: temporary files would be plain
    connection.pragma(pragma, _derived(key, salt) if any(salt) and not key.startswith(_RAW) else key)


@lru_cache(maxsize=64)
def _derived(key: str, salt: bytes) -> str:
    return f"{_RAW}{pbkdf2_hmac('sha256', key.encode(), salt, _ROUNDS, 32).hex()}{salt.hex()}"


def key_of(location: str, key: str | None = None) -> str:
    """The key that opens a file, as `unlock` finds it; empty if the file is plain."""
    with closing(apsw.Connection(location, flags=apsw.SQLITE_OPEN_READONLY)) as connection:
        return unlock(connection, location, key)


def has_key(location: str) -> bool:
    """True if a file is encrypted, whichever its key."""
    with closing(apsw.Connection(location, flags=apsw.SQLITE_OPEN_READONLY)) as connection:
        return is_locked(connection.read("main", 0, 0, HEADER)[1])


def is_encrypted(connection: apsw.Connection) -> bool:
    """True if the file of a connection that has its key is encrypted."""
    return bool(connection.filename) and connection.read("main", 0, 0, HEADER)[1].endswith(ENCRYPTED)


def can_encrypt() -> bool:
    """True if the module `apsw` is the one that encrypts; only one of the two can be installed."""
    return hasattr(apsw, "mc_version")


def library() -> str:
    """The name and version of the library that is loaded."""
    return getattr(apsw, "mc_version", f"SQLite {apsw.sqlite_lib_version()}")


class MissingLibrary(MissingExtra):
    """The library that is loaded cannot encrypt."""

    def __init__(self) -> None:
        super().__init__("an encrypted store", "encryption")
        FivefoldError.__init__(
            self,
            f"an encrypted store needs SQLite3 Multiple Ciphers, and {library()} is loaded",
            advice="install it with: pip install 'fivefold[encryption]', and then, since both have one name: "
            "pip install --force-reinstall --no-deps apsw-sqlite3mc",
        )


def new_key() -> str:
    """A random key, which needs no derivation."""
    return f"{_RAW}{token_hex(32)}"


def open_keyring() -> Any:
    """The package for the system's keyring; None if it is not installed."""
    try:
        import keyring as package
    except ImportError:
        return None
    return package


def _keyring_key(header: bytes) -> str:
    """The key in the keyring for an encrypted file; empty if there is none, or the keyring is locked."""
    package = open_keyring() if is_locked(header) else None
    if package is None:
        return ""
    try:
        return package.get_password(*KEYRING) or ""
    except package.errors.KeyringError:
        return ""
