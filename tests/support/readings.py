"""Questions as a model without token vectors reads them."""

from __future__ import annotations

import numpy as np

from fivefold.values.vectors import QuestionReading, Vector


def read_as(vector: Vector) -> QuestionReading:
    return QuestionReading(vector, np.empty((0, 0), np.float32), np.empty(0, np.float32), ())
