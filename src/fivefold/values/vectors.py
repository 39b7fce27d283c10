"""Vectors, and the texts of a memory that have one."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float32]
Matrix = npt.NDArray[np.float32]


VectorField = Literal["full", "user", "assistant", "next_user", "personal_info", "preferences", "events", "session"]
FIELDS: tuple[VectorField, ...] = get_args(VectorField)
"""The texts of a memory that have a vector of their own (M1); a session memory has only `session`."""
