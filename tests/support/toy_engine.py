"""An engine with cheap vectors, for tests that are not about meaning."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

import fivefold
from fivefold.engine import Engine


class Toy:
    """Cheap vectors for tests that are not about meaning: letters counted into 16 places."""

    pin = "toy@1"
    dimension = 16

    def embed(self, texts: object, progress: object = None) -> npt.NDArray[np.float32]:
        rows = np.ones((len(texts), 16), np.float32)  # type: ignore[arg-type]
        for i, text in enumerate(texts):  # type: ignore[arg-type, var-annotated]
            for letter in text:
                rows[i, ord(letter) % 16] += 1
        return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


def toy(path: str, namespace: str = "default") -> Engine:
    return fivefold.open(path, namespace=namespace, embedder=Toy())
