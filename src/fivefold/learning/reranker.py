"""The learned reranker: a two-layer network over a hit's features that corrects the order before it (E5)."""

from __future__ import annotations

import hashlib
import io
import json
import logging
import os
import re
import struct
import threading
import zipfile
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from math import log1p, nan
from pathlib import Path
from time import monotonic
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from fivefold.errors import ReadOnly, StoreError
from fivefold.models.shipped import BadModel
from fivefold.namespace import Namespace
from fivefold.stores.atomic_files import replacement
from fivefold.stores.interface import ModelStore, Store
from fivefold.values.memory import TYPES, Memory
from fivefold.values.query import age_in_days
from fivefold.values.recall import Recall
from fivefold.values.recall_trace import Candidate, Plan
from fivefold.values.serialize import Value
from fivefold.values.times import as_utc, iso
from fivefold.values.vectors import Matrix, Vector

STEP = "learned"
"""The name of the step by which a candidate shows that the learned reranker has moved it."""

NAMES = ("cosine", "importance", "access count", "age", "retention", *TYPES)
"""The ten features of E5, whose layer is the memory's type here."""

FEATURES_VERSION = 2
"""Of the features' meaning and order; a model of another version is not used."""

HALF_LIFE_DAYS = 30.0
"""Days after which an unused memory is half forgotten."""

_WIDTH = 1 + len(NAMES)
_LOGGED = {1: _WIDTH + 4, FEATURES_VERSION: _WIDTH}
"""Numbers of a hit in the log, by version; the first version ended in the shares of four routes."""

_TYPES = {kind: tuple(float(kind == other) for other in TYPES) for kind in TYPES}


def search_kinds(plan: Plan | None) -> dict[str, str]:
    """Each route's kind of search by the route's name."""
    return {} if plan is None else {part.route: part.search or part.route for part in plan.routes}


def base_score(candidate: Candidate) -> float:
    """The score without the learned reranker: if that changed it, the score before."""
    return next((step.before for step in candidate.steps if step.stage == STEP), candidate.score)


def feature_rows(candidates: Iterable[Candidate], now: datetime, kinds: Mapping[str, str]) -> Matrix:
    """The base score and the features of each candidate, one row each."""
    flat = [number for candidate in candidates for number in _row(candidate, now, kinds)]
    return np.array(flat, dtype=np.float32).reshape(-1, _WIDTH)


def pack_features(recall: Recall) -> bytes:
    """Packs a recall for the log: the version in one byte, then each hit's row in float32, best first."""
    kinds = search_kinds(recall.plan)
    flat = [number for hit in recall.hits for number in _row(hit.candidate, recall.query.now, kinds)]
    return struct.pack(f"<B{len(flat)}f", FEATURES_VERSION, *flat)


def unpack_features(blob: bytes | None) -> Matrix | None:
    """The rows of a logged recall; None if the log has none, or one of an unknown version."""
    width = _LOGGED.get(blob[0]) if blob else None
    if not blob or not width or (len(blob) - 1) % (4 * width):
        return None
    return np.frombuffer(blob, dtype="<f4", offset=1).astype(np.float32).reshape(-1, width)[:, :_WIDTH]


def retention(memory: Memory, now: datetime) -> float:
    """The strength left by a forgetting curve since the last use or the event; every use makes it last longer."""
    last = memory.last_accessed_at or memory.event_at
    return float(0.5 ** (max(0.0, age_in_days(last, now)) / (HALF_LIFE_DAYS * (1 + memory.access_count))))


def _row(candidate: Candidate, now: datetime, kinds: Mapping[str, str]) -> tuple[float, ...]:
    """Without a cosine the feature is NaN; the reranker then takes it as average."""
    memory = candidate.memory
    cosine = max(
        (item.score for item in candidate.evidence if kinds.get(item.route, item.route) == "dense"), default=nan
    )
    return (
        base_score(candidate),
        cosine,
        memory.importance,
        log1p(memory.access_count),
        log1p(max(0.0, age_in_days(memory.event_at, now))),
        retention(memory, now),
        *_TYPES[memory.type],
    )


FILE_FORMAT = 1
"""Of the file; a file of another format is not used."""

HIDDEN_UNITS = 16
DEFAULT_BLEND = 0.7
"""The weight of the model against the order before it."""

_SHAPES = {
    "mean": (len(NAMES),),
    "spread": (len(NAMES),),
    "inner": (len(NAMES), HIDDEN_UNITS),
    "bias": (HIDDEN_UNITS,),
    "outer": (HIDDEN_UNITS,),
    "trust": (),
}

Tensor = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Figures(Value):
    """Measures of a model on the newest feedback, which it has not seen."""

    held_out: int
    """The number of recalls that judge it."""
    before: float
    """nDCG of what was used, in the order without the model."""
    after: float
    least_gain: float
    """The lower bound of the gain."""
    position_bias: float
    """The lower bound of how use falls with the rank alone: by 1 / rank to this power."""

    @property
    def gain(self) -> float:
        return self.after - self.before


@dataclass(frozen=True, slots=True)
class Verdict(Value):
    """True if a trained model is switched on, and the figures that decided it."""

    on: bool
    reason: str
    model: str
    trained_at: datetime
    noted: int
    """The number of recalls with feedback at that time."""
    feedbacks: int
    """Number of them that served as lessons."""
    figures: Figures | None = None

    def describe(self) -> str:
        """The verdict in a line, as stats show it."""
        if self.figures is None:
            return f"off: {self.reason}"
        figures = self.figures
        return (
            f"{'on' if self.on else 'off'}, {self.model}: nDCG {figures.before:.3f} → {figures.after:.3f} "
            f"on the newest {figures.held_out} of {self.feedbacks} recalls; {self.reason}"
        )


@dataclass(frozen=True, slots=True)
class Ranker:
    """The network's tensors. `trust` is the weight of the order before it, next to its own corrections."""

    tensors: Mapping[str, Tensor]

    @property
    def name(self) -> str:
        """Version and a digest of the tensors: equal names mean equal models."""
        digest = hashlib.blake2b(digest_size=4)
        for key in sorted(self.tensors):
            digest.update(np.ascontiguousarray(self.tensors[key], dtype="<f8").tobytes())
        return f"learned-{FEATURES_VERSION}.{digest.hexdigest()}"

    def scores(self, base: Vector, features: Matrix) -> Tensor:
        """trust · relative score + outer · tanh(inner · features + bias), one score for each row."""
        known = self.tensors
        scaled = np.nan_to_num((features - known["mean"]) / known["spread"])
        hidden = np.tanh(scaled @ known["inner"] + known["bias"])
        return np.asarray(known["trust"] * relative_scores(base) + hidden @ known["outer"])

    def blend(self, base: Vector, features: Matrix, blend: float = DEFAULT_BLEND) -> tuple[Tensor, Tensor, Tensor]:
        """blend · model + (1 − blend) · order before it, both scaled to 0..1; and the two parts."""
        model, order = min_max(self.scores(base, features)), min_max(np.asarray(base, dtype=np.float64))
        return blend * model + (1 - blend) * order, model, order


def relative_scores(base: npt.ArrayLike) -> Tensor:
    """Distance of each score below the best of its list, relative to it; 0 for the best. Lists are the last axis."""
    scores = np.asarray(base, dtype=np.float64)
    best = scores.max(axis=-1, keepdims=True, initial=-np.inf)
    return np.asarray((scores - best) / np.maximum(np.abs(best), 1e-9))


def min_max(scores: Tensor) -> Tensor:
    """Scores scaled to 0..1 over their list; equal scores are all 1."""
    low, span = scores.min(initial=np.inf), np.ptp(scores) if scores.size else 0.0
    return np.asarray((scores - low) / span) if span > 0 else np.ones_like(scores)


def dump_reranker(ranker: Ranker | None, verdict: Verdict, namespace: str) -> bytes:
    """The bytes of the file: an `.npz` of the tensors, if there are any, and a header in JSON."""
    header = {
        "format": FILE_FORMAT,
        "features": list(NAMES),
        "version": FEATURES_VERSION,
        "namespace": namespace,
        "verdict": asdict(verdict) | {"trained_at": iso(verdict.trained_at)},
    }
    tensors = {} if ranker is None else dict(ranker.tensors)
    out = io.BytesIO()
    np.savez(out, header=np.array(json.dumps(header)), **tensors)  # type: ignore[arg-type]
    return out.getvalue()


def load_reranker(data: bytes, namespace: str) -> tuple[Ranker | None, Verdict]:
    """The model and its verdict; raises BadModel if the file cannot be used here."""
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as file:
            tensors = {name: file[name] for name in file.files}
        header = json.loads(str(tensors.pop("header")))
        if header["format"] != FILE_FORMAT:
            raise BadModel(
                f"the learned reranker's file has format {header['format']}, this fivefold reads {FILE_FORMAT}"
            )
        if tensors and (header["version"], tuple(header["features"])) != (FEATURES_VERSION, NAMES):
            raise BadModel("the learned reranker was trained on other features than this fivefold uses; train it again")
        if header["namespace"] != namespace:
            raise BadModel(
                f"the learned reranker's file belongs to namespace {header['namespace']!r}, not {namespace!r}"
            )
        for name, shape in _SHAPES.items() if tensors else ():
            tensor = tensors.get(name)
            if tensor is None or tensor.shape != shape or tensor.dtype != np.float64 or not np.isfinite(tensor).all():
                raise BadModel(f"the learned reranker's file lacks usable tensors for {name!r}")
        values = {field.name: header["verdict"][field.name] for field in fields(Verdict)}
        figures = None if values["figures"] is None else Figures(**values["figures"])
        at, _ = as_utc(values["trained_at"], "trained_at")
        verdict = Verdict(**{**values, "trained_at": at, "figures": figures})
        return Ranker({name: tensors[name] for name in _SHAPES}) if tensors else None, verdict
    except (OSError, ValueError, KeyError, TypeError, AttributeError, EOFError, zipfile.BadZipFile) as error:
        raise BadModel(f"the learned reranker's file is damaged ({type(error).__name__})") from None


NEVER = "nothing was trained yet"

_log = logging.getLogger("fivefold")
_stores: WeakKeyDictionary[Store, dict[str, RerankerStore]] = WeakKeyDictionary()
_lock = threading.Lock()


@dataclass(frozen=True, slots=True)
class LearnedReranker:
    """A namespace's reranker if one is switched on, or the reason why there is none."""

    ranker: Ranker | None
    reason: str
    name: str = ""
    verdict: Verdict | None = None


CHECK_AGAIN_S = 5.0
"""Seconds for which a model from a server may be out of date after another process has trained it."""


class DatabaseRerankerStore:
    """In a table of the server, for all processes that use it."""

    def __init__(self, store: ModelStore, namespace: str) -> None:
        self.namespace = namespace
        self._store = store
        self._seen = 0
        self._next_check = 0.0
        self._learned = LearnedReranker(None, NEVER)
        self._lock = threading.Lock()

    def load(self) -> LearnedReranker:
        with self._lock:
            if monotonic() >= self._next_check:
                self._next_check = monotonic() + CHECK_AGAIN_S
                seen, data = self._store.load_model(self.namespace, self._seen)
                if seen != self._seen:
                    self._seen, self._learned = seen, _learned(data, self.namespace, "the stored model")
            return self._learned

    def save(self, ranker: Ranker | None, verdict: Verdict) -> None:
        self._store.save_model(self.namespace, dump_reranker(ranker, verdict, self.namespace))
        self._next_check = 0.0

    def remove(self) -> None:
        self._store.save_model(self.namespace, None)
        self._next_check = 0.0

    def check_writable(self) -> None:
        """The server checks this itself."""


class FileRerankerStore:
    """In a file next to the store's, or in memory for a store in memory."""

    def __init__(self, location: str, namespace: str) -> None:
        self.namespace = namespace
        self.path: Path | None = None if location == ":memory:" else model_path(location, namespace)
        self._store = location
        self._seen: tuple[int, int, int] | None = None
        self._learned = LearnedReranker(None, NEVER)
        self._lock = threading.Lock()

    def load(self) -> LearnedReranker:
        if self.path is None:
            return self._learned
        seen = 0, 0, 0  # where there is no file
        with suppress(OSError):
            status = os.stat(self.path)
            seen = status.st_mtime_ns, status.st_size, status.st_ino
        if seen != self._seen:
            with self._lock:
                if seen != self._seen:
                    self._learned = self._read(self.path)
                    self._seen = seen
        return self._learned

    def save(self, ranker: Ranker | None, verdict: Verdict) -> None:
        data = dump_reranker(ranker, verdict, self.namespace)
        if self.path is None:
            self._learned = _learned(data, self.namespace, "the model in memory")
            return
        self.check_writable()
        try:
            self.path.parent.mkdir(mode=0o700, exist_ok=True)
            with replacement(self.path) as file:
                file.write(data)
        except OSError as error:
            raise StoreError(f"{str(self.path)!r} cannot be written: {error.strerror or error}") from None

    def remove(self) -> None:
        self._learned = LearnedReranker(None, NEVER)
        if self.path is not None:
            self.check_writable()
            self.path.unlink(missing_ok=True)

    def check_writable(self) -> None:
        if self.path is not None and not all(
            os.access(where, os.W_OK) for where in (self._store, self.path.parents[1])
        ):
            raise ReadOnly(f"{self._store!r} cannot be written: the file or its folder is read-only")

    def _read(self, path: Path) -> LearnedReranker:
        data, fault = None, ""
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            pass
        except OSError as error:
            fault = f"the learned reranker's file cannot be opened: {error.strerror}"
        return _learned(data, self.namespace, path.name, fault)


RerankerStore = FileRerankerStore | DatabaseRerankerStore
"""Stores a namespace's reranker and reads it when it changes, also when another process changes it."""


def _learned(data: bytes | None, namespace: str, name: str, fault: str = "") -> LearnedReranker:
    """The reranker in a file or table. One that cannot be used is logged once for each change, and is off."""
    learned = LearnedReranker(None, NEVER)
    try:
        if data is not None:
            ranker, verdict = load_reranker(data, namespace)
            learned = LearnedReranker(ranker if verdict.on else None, verdict.reason, verdict.model, verdict)
    except BadModel as reason:
        fault = str(reason)
    if fault:
        _log.warning("%s: %s; recalls go on without it", name, fault)
        return LearnedReranker(None, fault, name)
    if learned.ranker is None:
        _log.info("no learned reranker in namespace %r: %s", namespace, learned.reason)
    return learned


def reranker_store(store: Store, namespace: str) -> RerankerStore:
    """The one reranker store of a namespace of an open store."""
    with _lock:
        by_namespace = _stores.setdefault(store, {})
        if namespace not in by_namespace:
            if isinstance(store, ModelStore):
                by_namespace[namespace] = DatabaseRerankerStore(store, namespace)
            else:
                by_namespace[namespace] = FileRerankerStore(store.location, namespace)
        return by_namespace[namespace]


def drop_reranker(store: Store, namespace: str) -> None:
    """Remove the file of a namespace's reranker; a server deletes the model itself with the namespace."""
    if not isinstance(store, ModelStore):
        reranker_store(store, namespace).remove()
        if store.location != ":memory:":
            with suppress(OSError):  # the folder has the models of other namespaces, or is not there
                model_path(store.location, namespace).parent.rmdir()
    with _lock:
        _stores.get(store, {}).pop(namespace, None)


def model_path(location: str, namespace: str) -> Path:
    """`STORE.learned/NAMESPACE-digest.npz`: readable, and never the same for two namespaces."""
    digest = hashlib.blake2b(namespace.encode(), digest_size=6).hexdigest()
    readable = re.sub(r"[^\w.-]+", "_", namespace, flags=re.ASCII)[:40]
    return Path(f"{location}.learned") / f"{readable}-{digest}.npz"


def learned_reranker(namespace: Namespace) -> LearnedReranker:
    """The namespace's reranker, or why there is none."""
    return reranker_store(namespace.store, namespace.name).load()
