"""Vectors stored between runs: a benchmark embeds a text once, and a killed run continues where it stopped."""

from __future__ import annotations

import hashlib
import logging
import os
import threading
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import apsw
import numpy as np

from fivefold.errors import EmbedderError
from fivefold.models.embedders import Embedder, Matrix, Progress
from fivefold.stores.sqlite.connection import connect, make_durable

BATCH = 256
"""Texts embedded between two commits: what a killed run loses at most."""

_TABLE = """CREATE TABLE IF NOT EXISTS vectors (
    pin TEXT NOT NULL, hash BLOB NOT NULL, vector BLOB NOT NULL, PRIMARY KEY (pin, hash))"""
_GET = "SELECT vector FROM vectors WHERE pin = ? AND hash = ?"
_PUT = "INSERT OR REPLACE INTO vectors (pin, hash, vector) VALUES (?, ?, ?)"
_BROKEN = (apsw.NotADBError, apsw.CorruptError, apsw.SQLError, apsw.FormatError)
_log = logging.getLogger("fivefold")
_G = TypeVar("_G")
_T = TypeVar("_T")


def default_path() -> Path:
    """`$FIVEFOLD_CACHE`, else the user's cache folder."""
    folder = os.environ.get("FIVEFOLD_CACHE")
    if folder:
        return Path(folder) / "vectors.db"
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "fivefold" / "vectors.db"


class CachedEmbedder:
    """An embedder that asks a file first. Whatever happens to the file, the vectors come: at worst, from the model."""

    def __init__(self, inner: Embedder, path: str | Path | None = None) -> None:
        self.inner = inner
        self.path = Path(path) if path is not None else default_path()
        self.hits = 0
        """Texts answered without the model; a text that comes twice in one call counts here the second time."""
        self.misses = 0
        """Texts the model embedded."""
        self._lock = threading.RLock()
        self._connection: apsw.Connection | None = None
        self._process = 0
        self._inode = 0
        self._off = False

    @property
    def pin(self) -> str:
        return self.inner.pin

    @property
    def dimension(self) -> int:
        return self.inner.dimension

    def embed(self, texts: Sequence[str], progress: Progress | None = None) -> Matrix:
        keys = [hashlib.sha256(text.encode(errors="surrogatepass")).digest() for text in texts]
        text_of = dict(zip(keys, texts, strict=True))
        vectors = self._using(self._read, list(text_of)) or {}
        # Texts of like length together: a batch then holds little padding.
        missing = sorted((key for key in text_of if key not in vectors), key=lambda key: len(text_of[key]))
        done = len(texts) - len(missing)
        self._count(hits=done)
        if progress and done:
            progress(done)
        for start in range(0, len(missing), BATCH):
            batch = missing[start : start + BATCH]
            fresh = dict(zip(batch, self._embed([text_of[key] for key in batch], progress), strict=True))
            self._count(misses=len(batch))
            self._using(self._write, fresh)
            vectors.update(fresh)
        out = np.empty((len(texts), self.dimension), dtype=np.float32)
        for row, key in enumerate(keys):
            out[row] = vectors[key]
        return out

    def close(self) -> None:
        with self._lock:
            if self._connection is not None and self._process == os.getpid():
                self._connection.close()
            self._connection = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _count(self, hits: int = 0, misses: int = 0) -> None:
        with self._lock:
            self.hits += hits
            self.misses += misses

    def _embed(self, texts: list[str], progress: Progress | None) -> Matrix:
        vectors = np.asarray(self.inner.embed(texts, progress), dtype=np.float32)
        shape = (len(texts), self.dimension)
        if vectors.shape != shape:
            raise EmbedderError(
                f"{self.pin} gave an array of shape {vectors.shape} for {len(texts)} texts, not {shape}"
            )
        return vectors

    def _read(self, connection: apsw.Connection, keys: list[bytes]) -> dict[bytes, Any]:
        """Vectors of another length than the model's are ignored and written again."""
        size = 4 * self.dimension
        vectors = {}
        for key in keys:
            row = connection.execute(_GET, (self.pin, key)).fetchone()
            if row is not None and isinstance(row[0], bytes) and len(row[0]) == size:
                vectors[key] = np.frombuffer(row[0], dtype="<f4")
        return vectors

    def _write(self, connection: apsw.Connection, fresh: dict[bytes, Any]) -> None:
        connection.execute("BEGIN IMMEDIATE")
        try:
            rows = ((self.pin, key, vector.astype("<f4").tobytes()) for key, vector in fresh.items())
            connection.executemany(_PUT, rows)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise

    def _using(self, work: Callable[[apsw.Connection, _G], _T], argument: _G) -> _T | None:
        """`work` on the file, again on a new file if it is broken; else None and a warning in the log."""
        with self._lock:
            for again in (False, True):
                if self._off:
                    return None
                try:
                    return work(self._connect(), argument)
                except (apsw.Error, OSError) as error:
                    self.close()
                    if again or not isinstance(error, _BROKEN) or not self._set_aside(error):
                        _log.warning("the vector cache %s is not used: %s", self.path, error)
                        self._off = True
        return None

    def _connect(self) -> apsw.Connection:
        if self._connection is None or self._process != os.getpid():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._inode = self.path.stat().st_ino if self.path.exists() else 0
            connection = connect(str(self.path), create=True)
            try:
                make_durable(connection)
                # A lost cache entry is only made again, so a commit need not wait for the disk.
                connection.execute("PRAGMA synchronous = NORMAL")
                connection.execute(_TABLE)
            except BaseException:
                connection.close()
                raise
            self._connection, self._process = connection, os.getpid()
        return self._connection

    def _set_aside(self, why: apsw.Error) -> bool:
        """Move a broken file out of the way, unless another process has done so and this is a new one."""
        aside = self.path.with_name(f"{self.path.name}.broken-{datetime.now():%Y%m%d-%H%M%S-%f}")
        try:
            if not self.path.exists() or self.path.stat().st_ino != self._inode:
                return True
            # The file itself last: until then nobody starts a new one that could lose its log.
            for end in ("-wal", "-shm", ""):
                source = self.path.with_name(self.path.name + end)
                if source.exists():
                    source.rename(aside.with_name(aside.name + end))
        except OSError:
            return False
        _log.warning("the vector cache %s is broken (%s); it was set aside as %s", self.path, why, aside.name)
        return True
