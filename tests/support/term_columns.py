"""The columns of the ranker's terms over candidates made by hand, rounded, so that a test can name each number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from fivefold.retrieval.protocols import Pool
from fivefold.retrieval.routes import SearchContext
from fivefold.retrieval.stages.terms import TERMS, term_table
from fivefold.stores.records import Succession
from fivefold.values.query import DemandKind, Window
from fivefold.values.recall_trace import Candidate
from tests.support.stage_pool import Namespace, aged, demand, found, said, search

NAMES = [term.name for term in TERMS]


def columns(
    candidates: Sequence[Candidate], context: SearchContext | None = None, pool: Pool | None = None
) -> dict[str, list[float]]:
    """Every column that is not 0 for all candidates."""
    table = term_table(pool or Pool(list(candidates)), context or search()).T.tolist()
    rounded = {name: [round(value, 4) + 0.0 for value in values] for name, values in zip(NAMES, table, strict=True)}
    return {name: values for name, values in rounded.items() if any(values)}


def column(
    name: str, candidates: Sequence[Candidate], context: SearchContext | None = None, pool: Pool | None = None
) -> list[float]:
    """The column of one term."""
    assert name in NAMES
    return columns(candidates, context, pool).get(name, [0.0] * len(candidates))


def talk(row: int, text: str = "so", speaker: str = "Ana", score: float = 0.5, turn: int = 0, **by: float) -> Candidate:
    """What a person says to another, in the session `s`."""
    return said(found(row, score, None, **by), text, speaker, "s", turn)


def chat(
    row: int, text: str = "so", speaker: str = "user", score: float = 0.5, turn: int = 0, **by: float
) -> Candidate:
    """What a user says to an assistant, or the assistant to the user, in the session `s`."""
    return talk(row, text, speaker, score, turn, **by)


def at(candidate: Candidate, when: datetime) -> Candidate:
    """The candidate as said at another time."""
    return replace(candidate, memory=replace(candidate.memory, event_at=when))


def asked(kind: DemandKind, namespace: Namespace | None = None, window: Window | None = None) -> SearchContext:
    """A question that makes one demand."""
    return search(namespace, demands=[demand(kind)], window=window)


def replaced(older: int, newer: int, chance: float = 1.0, days: float = 1) -> Succession:
    """A link by which one memory replaces another."""
    return Succession(older, newer, chance, aged(days))
