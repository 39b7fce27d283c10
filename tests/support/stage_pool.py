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
from fivefold.stores.interface import Reader
from fivefold.stores.records import AliasMatch, Succession, VectorSpace
from fivefold.values.entities import Entity
from fivefold.values.memory import Memory, Type
from fivefold.values.query import Demand, DemandKind, EntityRef, Query, Window
from fivefold.values.recall_trace import Candidate, Evidence
from fivefold.values.vectors import Vector
from tests.retrieval.test_fuse import memory

NOW = datetime(2025, 6, 1, tzinfo=UTC)

Stretch = tuple[datetime, datetime]


def aged(days: float) -> datetime:
    return NOW - timedelta(days=days)


def of(row: int, score: float = 1.0, **changes: Any) -> Candidate:
    """A candidate with that fused score, its memory changed where said."""
    return Candidate(replace(memory(row), **{"event_at": NOW, **changes}), (), score)


class Namespace:
    """A reader of as much as a stage reads, all its parts in one: vectors, turns, session memories, links, times."""

    def __init__(
        self,
        vectors: Mapping[int, Sequence[float]] | None = None,
        turns: Mapping[str, Sequence[int]] | None = None,
        sessions: Mapping[str, int] | None = None,
        links: Sequence[Succession] = (),
        times: Mapping[int, Sequence[Stretch]] | None = None,
        names: Sequence[AliasMatch] = (),
        mentions: Mapping[str, set[int]] | None = None,
    ) -> None:
        self._vectors = {row: np.array(vector, dtype=np.float32) for row, vector in (vectors or {}).items()}
        self._turns = turns or {}
        self._sessions = sessions or {}
        self._links = links
        self._times = {row: tuple(stretches) for row, stretches in (times or {}).items()}
        self._names, self._mentions = names, mentions or {}
        self.search = self.sessions = self.memories = self.graph = self

    def vectors(self, space: VectorSpace, rows: Sequence[int]) -> dict[int, Vector]:
        return {row: self._vectors[row] for row in rows if row in self._vectors}

    def successions(self, rows: Sequence[int]) -> list[Succession]:
        return [link for link in self._links if link.older in rows or link.newer in rows]

    def named_times(self, rows: Sequence[int]) -> dict[int, tuple[Stretch, ...]]:
        return {row: self._times[row] for row in rows if row in self._times}

    def neighbours(self, rows: Sequence[int]) -> dict[int, tuple[int | None, int | None]]:
        found: dict[int, tuple[int | None, int | None]] = {}
        for turns in self._turns.values():
            for i, row in enumerate(turns):
                if row in rows:
                    found[row] = (turns[i - 1] if i else None, turns[i + 1] if i + 1 < len(turns) else None)
        return found

    def memory_rows(self, session_ids: Sequence[str]) -> dict[str, int]:
        return {session: self._sessions[session] for session in session_ids if session in self._sessions}

    def own_names(self) -> list[Entity]:
        return []

    def find_aliases(self, aliases: Sequence[str]) -> list[AliasMatch]:
        return [name for name in self._names if name.alias in aliases]

    def mentions(self, ids: Sequence[str], entities: Sequence[int]) -> dict[str, set[int]]:
        return {id: self._mentions[id] & set(entities) for id in ids if id in self._mentions}

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
    demands: Sequence[Demand] = (),
    entities: Sequence[EntityRef] = (),
    type_hints: Sequence[Type] = (),
    lexemes: Sequence[str] = (),
) -> SearchContext:
    query = Query(
        text,
        NOW,
        tuple(lexemes),
        window=window,
        entities=tuple(entities),
        type_hints=tuple(type_hints),
        demands=tuple(demands),
    )
    reader = cast(Reader, namespace or Namespace())
    return SearchContext(query, reader, Settings(), VectorSpace(1, "made@1", 2), None, k, recall_id, unit)


def demand(kind: DemandKind, decides: bool = False) -> Demand:
    return Demand(kind, "", 0, decides, kind)


def found(row: int, score: float = 0.5, notes: Mapping[str, str] | None = None, **by_route: float) -> Candidate:
    """A candidate that some searches have found with these scores."""
    evidence = tuple(
        Evidence(name, 1, value, 1.0, 0.0, "", (notes or {}).get(name)) for name, value in by_route.items()
    )
    return replace(of(row, score), evidence=evidence)


def said(
    candidate: Candidate, text: str, speaker: str | None = None, session: str | None = None, turn: int = 0
) -> Candidate:
    """The candidate with another text, of a note or of a turn."""
    memory = replace(candidate.memory, content=text, speaker=speaker, session_id=session)
    return replace(candidate, memory=replace(memory, turn_index=turn if session else None))


def stage(name: str, candidates: Sequence[Candidate], seen: SearchContext | None = None, **constants: Any) -> Pool:
    """One stage run over these candidates with its own defaults, or what is said otherwise."""
    chosen = STAGES[name]
    return chosen.run(Pool(list(candidates)), seen or search(), chosen.constants(**constants))


def scores(pool: Pool) -> dict[int, float]:
    return {candidate.memory.row: candidate.score for candidate in pool.candidates}
