"""Learned retrieval weights: what a query's own words say about similarity, recency and frequency (D1–D8)."""

from __future__ import annotations

from fivefold.models.weights.features import features
from fivefold.models.weights.model import (
    FALLBACK,
    Intent,
    WeightModel,
    intent,
    is_fallback,
    load,
    predict,
    shipped,
    without,
)

__all__ = [
    "FALLBACK",
    "Intent",
    "WeightModel",
    "features",
    "intent",
    "is_fallback",
    "load",
    "predict",
    "shipped",
    "without",
]
