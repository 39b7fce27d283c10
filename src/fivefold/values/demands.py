"""What a question demands of its answer: a time, a state, an order, completeness."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from fivefold.values.serialize import Value

DemandKind = Literal[
    "window",
    "current",
    "past",
    "first",
    "last",
    "next",
    "just now",
    "last time",
    "list",
    "count",
    "negation",
    "suggestion",
    "request",
]
"""What a question may demand:

- `window`: memories of a time, by the day they were said or by a date they name
- `current`, `past`: what holds now, what held before
- `first`, `last`, `next`: the earliest, the latest, the nearest ahead of what answers
- `just now`, `last time`: the turns of the running conversation, those of the one before
- `list`, `count`: everything that answers, not variants of one thing
- `negation`: what is not so, or not wanted
- `suggestion`: tastes, allergies and dislikes that matter to an advice
- `request`: the assistant is asked to do something, so that the user's instructions and preferences apply
"""

DEMAND_KINDS: tuple[DemandKind, ...] = get_args(DemandKind)


@dataclass(frozen=True, slots=True)
class Demand(Value):
    """One demand, the words of the question that make it, and whether it decides alone.

    What does not meet a demand that decides alone stands behind all that does. `text` is empty where the tense of the
    whole question makes the demand.
    """

    kind: DemandKind
    text: str
    start: int
    decides: bool
    about: str
    """The demand in words, for people."""
