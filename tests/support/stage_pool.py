"""Candidates and a search context made by hand, so that a stage's arithmetic can be checked number by number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import numpy as np

from fivefold.retrieval.routes import SearchContext
from fivefold.retrieval.stages import STAGES, Pool
from fivefold.settings import Settings
from fivefold.stores.protocol import Reader, VectorSpace
from fivefold.values.memory import Memory
from fivefold.values.query import Query, Window
from fivefold.values.recall_trace import Candidate
from fivefold.values.vectors import Vector
from tests.retrieval.test_fuse import memory

NOW = datetime(2025, 6, 1, tzinfo=UTC)


def aged(days: float) -> datetime:
    return NOW - timedelta(days=days)


def of(row: int, score: float = 1.0, **changes: Any) -> Candidate:
    """A candidate with that fused score, its memory changed where said."""
    return Candidate(replace(memory(row), **{"event_at": NOW, **changes}), (), score)


class Namespace:
    """A reader of as much as a stage reads, all its parts in one: vectors, turns in their order, session memories."""

    def __init__(
        self,
        vectors: Mapping[int, Sequence[float]] | None = None,
        turns: Mapping[str, Sequence[int]] | None = None,
        sessions: Mapping[str, int] | None = None,
    ) -> None:
        self._vectors = {row: np.array(vector, dtype=np.float32) for row, vector in (vectors or {}).items()}
        self._turns = turns or {}
        self._sessions = sessions or {}
        self.search = self.sessions = self.memories = self

    def vectors(self, space: VectorSpace, rows: Sequence[int]) -> dict[int, Vector]:
        return {row: self._vectors[row] for row in rows if row in self._vectors}

    def neighbours(self, rows: Sequence[int]) -> dict[int, tuple[int | None, int | None]]:
        found: dict[int, tuple[int | None, int | None]] = {}
        for turns in self._turns.values():
            for i, row in enumerate(turns):
                if row in rows:
                    found[row] = (turns[i - 1] if i else None, turns[i + 1] if i + 1 < len(turns) else None)
        return found

    def memory_rows(self, session_ids: Sequence[str]) -> dict[str, int]:
        return {session: self._sessions[session] for session in session_ids if session in self._sessions}

    def fetch(self, rows: Sequence[int]) -> dict[int, Memory]:
        turn_of = {row: session for session, turns in self._turns.items() for row in turns}
        session_of = {row: session for session, row in self._sessions.items()}
        found = {}
        for row in rows:
            kind = "turn" if row in turn_of else "session" if row in session_of else "note"
            session = turn_of.get(row) or session_of.get(row)
            found[row] = replace(memory(row), kind=kind, session_id=session, event_at=NOW)  # type: ignore[arg-type]
        return found


def search(
    namespace: Namespace | None = None,
    k: int = 10,
    unit: str = "memory",
    recall_id: str = "r1",
    window: Window | None = None,
    text: str = "what?",
) -> SearchContext:
    query = Query(text, NOW, (), window=window)
    reader = cast(Reader, namespace or Namespace())
    return SearchContext(query, reader, Settings(), VectorSpace(1, "made@1", 2), None, k, recall_id, unit)


def stage(name: str, candidates: Sequence[Candidate], seen: SearchContext | None = None, **constants: Any) -> Pool:
    """One stage run over these candidates with its own defaults, or what is said otherwise."""
    chosen = STAGES[name]
    return chosen.run(Pool(list(candidates)), seen or search(), chosen.constants(**constants))


def scores(pool: Pool) -> dict[int, float]:
    return {candidate.memory.row: candidate.score for candidate in pool.candidates}
