"""Vectors stored between runs: a benchmark embeds a text once, and a killed run continues where it stopped."""

from __future__ import annotations

import hashlib
import logging
import os
import threading
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import cache
from importlib import resources
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import apsw
import numpy as np

from fivefold.errors import EmbedderError
from fivefold.models.embedders import DEFAULT, Embedder, Matrix, Progress, TokenEmbedder, gives_tokens
from fivefold.models.embedders.fivefold_minilm import FILE
from fivefold.stores.sqlite.connection import connect, make_durable
from fivefold.values.vectors import Passage, QuestionReading, Reading, Span

BATCH = 256
"""Texts embedded between two commits: what a killed run loses at most."""

READ = "#read"
"""Suffix of a model's name if a passage was read with the text before it."""

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


def cached(inner: Embedder, path: str | Path | None = None) -> CachedEmbedder:
    """The embedder with a cache in front, which gives token vectors if the embedder does."""
    return CachedTokenEmbedder(inner, path) if gives_tokens(inner) else CachedEmbedder(inner, path)


class CachedEmbedder:
    """An embedder that asks a file first. If the file fails in any way, the vectors come from the model."""

    def __init__(self, inner: Embedder, path: str | Path | None = None) -> None:
        self.inner = inner
        self.path = Path(path) if path is not None else default_path()
        self.hits = 0
        """Texts answered without the model; a text that comes twice in one call counts here the second time."""
        self.misses = 0
        """Texts the model embedded."""
        self.calls = 0
        """Number of requests for vectors of texts or for a question's reading."""
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
        self.calls += 1
        keys = [_digest(text) for text in texts]
        text_of = dict(zip(keys, texts, strict=True))
        size = 4 * self.dimension
        rows = self._using(self._read, (self._pin, list(text_of))) or {}
        vectors = {key: np.frombuffer(row, dtype="<f4") for key, row in rows.items() if len(row) == size}
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
            self._using(self._write, (self._pin, {key: _bytes(vector) for key, vector in fresh.items()}))
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

    @property
    def _pin(self) -> str:
        return f"{self.pin}{_weights(self.pin)}"

    def _read(self, connection: apsw.Connection, wanted: tuple[str, list[bytes]]) -> dict[bytes, bytes]:
        """The stored vectors; one of another length than the model's is made and written again."""
        pin, keys = wanted
        found = {}
        for key in keys:
            row = connection.execute(_GET, (pin, key)).fetchone()
            if row is not None and isinstance(row[0], bytes):
                found[key] = row[0]
        return found

    def _write(self, connection: apsw.Connection, fresh: tuple[str, dict[bytes, bytes]]) -> None:
        pin, rows = fresh
        connection.execute("BEGIN IMMEDIATE")
        try:
            connection.executemany(_PUT, ((pin, key, value) for key, value in rows.items()))
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


class CachedTokenEmbedder(CachedEmbedder):
    """Caches the vectors of an embedder that gives token vectors: passages are read once, questions once in a
    process."""

    def __init__(self, inner: TokenEmbedder, path: str | Path | None = None) -> None:
        super().__init__(inner, path)
        self._reader = inner
        self._questions: dict[str, QuestionReading] = {}

    def read(self, passages: Sequence[Passage], progress: Progress | None = None) -> list[Reading]:
        pin, size = f"{self._pin}{READ}", 4 * self.dimension
        keys = [_digest(passage.text, passage.before) for passage in passages]
        passage_of = dict(zip(keys, passages, strict=True))
        rows = self._using(self._read, (pin, list(passage_of))) or {}
        readings = {key: _reading(row, size) for key, row in rows.items() if len(row) >= size}
        missing = sorted(
            (key for key in passage_of if key not in readings), key=lambda key: len(passage_of[key].joined)
        )
        self._count(hits=len(passages) - len(missing), misses=len(missing))
        if progress and len(passages) > len(missing):
            progress(len(passages) - len(missing))
        for start in range(0, len(missing), BATCH):
            batch = missing[start : start + BATCH]
            read = self._reader.read([passage_of[key] for key in batch], progress)
            fresh = dict(zip(batch, read, strict=True))
            self._using(self._write, (pin, {key: _bytes(item.vector) + item.tokens for key, item in fresh.items()}))
            readings.update(fresh)
        return [readings[key] for key in keys]

    def read_question(self, question: str) -> QuestionReading:
        self.calls += 1
        if question not in self._questions:
            self._questions[question] = self._reader.read_question(question)
        return self._questions[question]

    def spans(self, passage: Passage) -> list[tuple[Span, bool]]:
        return self._reader.spans(passage)


def _digest(*texts: str) -> bytes:
    return hashlib.sha256("\x00".join(texts).encode(errors="surrogatepass")).digest()


def _bytes(vector: Any) -> bytes:
    packed: bytes = vector.astype("<f4").tobytes()
    return packed


def _reading(row: bytes, size: int) -> Reading:
    return Reading(np.frombuffer(row[:size], dtype="<f4"), row[size:])


@cache
def _weights(pin: str) -> str:
    """A mark of the shipped model's file: while a model is trained its weights change and its name does not."""
    if pin.partition("@")[0] != DEFAULT:
        return ""
    raw = resources.files("fivefold.models").joinpath("data", FILE).read_bytes()
    return f"#{hashlib.sha256(raw).hexdigest()[:16]}"
