"""An embedder whose cosines are written in the text: `@0.6` lies at 0.6 from a question without a dial."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

import fivefold
from fivefold.engine import Engine


class Dial:
    """Each text points where its dial says, in a plane; a text without one is what all are measured against."""

    pin = "dial@1"
    dimension = 8

    def embed(self, texts: Sequence[str], progress: object = None) -> npt.NDArray[np.float32]:
        rows = np.zeros((len(texts), self.dimension), np.float32)
        for row, text in zip(rows, texts, strict=True):
            dial = re.search(r"@(-?\d\.\d+)", text)
            row[0] = float(dial[1]) if dial else 1.0
            row[1] = (1 - row[0] ** 2) ** 0.5
        return rows


def dialled(path: str) -> Engine:
    return fivefold.open(path, embedder=Dial())
