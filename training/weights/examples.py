"""Queries turned into what the network takes: vectors by an embedder, features, targets. Vectors are kept on disk."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from training.weights.generate import Row
from training.weights.network import Examples

from fivefold.models.embedders import Matrix, embed_texts, embedder
from fivefold.models.weights.features import features
from fivefold.text.display import bar

OUT = Path("out/weights")
"""Where generated queries, vectors and the ONNX graph go; nothing of it is shipped."""

CHUNK = 512


def examples(rows: Sequence[Row], choice: str, *, show: bool = True) -> Examples:
    """The rows as arrays, in order."""
    return Examples(
        vectors([row.text for row in rows], choice, show=show),
        np.stack([features(row.text) for row in rows]),
        np.array([row.target for row in rows], dtype=np.float32),
    )


def vectors(texts: Sequence[str], choice: str, *, show: bool = True) -> Matrix:
    """One unit vector a text; those of the last run with the same embedder are read back."""
    model = embedder(choice)
    path = OUT / f"{hashlib.sha256(model.pin.encode()).hexdigest()[:12]}.npz"
    known = _known(path)
    missing = list(dict.fromkeys(text for text in texts if text not in known))
    with bar(f"embedding with {model.pin}", len(missing), show=show) as advance:
        for start in range(0, len(missing), CHUNK):
            part = missing[start : start + CHUNK]
            known.update(zip(part, embed_texts(model, part), strict=True))
            advance(len(part))
    if missing:
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez(path, texts=np.array(list(known)), vectors=np.stack(list(known.values())))
    return np.stack([known[text] for text in texts])


def _known(path: Path) -> dict[str, Matrix]:
    if not path.exists():
        return {}
    with np.load(path) as kept:
        return dict(zip(kept["texts"].tolist(), kept["vectors"], strict=True))
