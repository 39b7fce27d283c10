"""Vectors, the texts of a memory that have one, and the passages of a long text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float32]
Matrix = npt.NDArray[np.float32]


VectorField = Literal[
    "full", "user", "assistant", "next_user", "personal_info", "preferences", "events", "session", "passage"
]
FIELDS: tuple[VectorField, ...] = get_args(VectorField)
"""The texts of a memory that have a vector of their own (M1); a session memory has only `session`.

A text too long to be read at once has a vector for each `passage`, and in `full` the centre of those.
"""


@dataclass(frozen=True, slots=True, eq=False)
class PassageVectors:
    """What a model reads from one passage of a memory's text.

    `tokens` are the vectors of its tokens as the model packs them; empty where the model gives none.
    `vector` is None for a text of one passage, whose vector is that of the field `full`.
    """

    tokens: bytes = b""
    vector: Vector | None = None
