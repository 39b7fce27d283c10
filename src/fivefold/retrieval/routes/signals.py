"""Signals of a candidate set: how new its memories are, how often spoken of (D2). Alone they find nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from fivefold.retrieval.routes.base import BaseRoute, Options, SearchContext
from fivefold.values.decay import Decay
from fivefold.values.fields import About
from fivefold.values.filters import Filter
from fivefold.values.recall_trace import RouteHit


class Signal(BaseRoute):
    """Scored by the store over the candidates of a dense route, in the same statement (D9)."""

    of_candidates = True

    def search(self, context: SearchContext, depth: int, keep: Filter, options: Any) -> list[RouteHit]:
        raise AssertionError("a signal is scored with the candidates it belongs to")


@dataclass(frozen=True, slots=True)
class RecencyOptions(Decay):
    """A curve of its own, or one that fits the question's own horizon (D12)."""

    per_query: Annotated[bool, About("Whether curve and half-life are those that fit the question")] = False
    predicted: Annotated[
        bool, About("Whether the model that predicts the weights also predicts curve and half-life; before `per_query`")
    ] = False


class Recency(Signal):
    """How new a memory is among the candidates; with a curve, how old at the time of the question (D12)."""

    options = RecencyOptions


class Frequency(Signal):
    """How often what the memory speaks of is spoken of."""

    options = Options
