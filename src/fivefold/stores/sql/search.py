"""Searching a namespace: by time, by the sides of exchanges, and what each database must do in its own way."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from fivefold.stores.records import (
    NAMES_WINDOW,
    SAID_AND_NAMES_WINDOW,
    SAID_IN_WINDOW,
    Arm,
    Composite,
    DensePreparation,
    FusedHit,
    VectorSpace,
)
from fivefold.stores.sql.scope import ALL, Dialect, Gate, ReadScope, Transaction
from fivefold.stores.sql.sessions import TURN_AFTER, TURN_BEFORE
from fivefold.stores.tables import SPACE_COLUMNS, space_of
from fivefold.values.entities import Span
from fivefold.values.filters import EVERYTHING, Filter
from fivefold.values.memory import Origin, speakers_of
from fivefold.values.recall_trace import RouteHit
from fivefold.values.times import DAY_MICROS, to_micros
from fivefold.values.vectors import Matrix, Vector, VectorField


class SearchReader(ABC):
    """The searches of the routes, each among the memories that pass its filter, as if the others were not there.

    Statistics such as document frequencies cover all memories. A tie in the score goes to the smaller row.
    """

    def __init__(self, scope: ReadScope) -> None:
        self._scope = scope
        self._sql = scope.sql

    def vector_space(self) -> VectorSpace | None:
        """The active vector space, if anything was embedded yet."""
        rows = self._scope.rows(f"SELECT {SPACE_COLUMNS} FROM spaces WHERE namespace = :ns AND state = 'active'")
        return space_of(rows[0]) if rows else None

    @abstractmethod
    def dense(self, space: VectorSpace, where: VectorField, vector: Vector, depth: int, keep: Filter) -> list[RouteHit]:
        """The memories whose vectors of that field have the highest cosine similarity.

        Of the field `passage` a memory may have several hits, each with its `part`; a tie goes to the smaller part.
        Of the fields `user`, `assistant` and `next_user` single turns are paired: a turn has the vector of its whole
        text as its own side, an answer that of the turn before it as the user's, and a turn that of the user's next
        one. They are found among the nearest whole texts, at least three times as many as are wanted.
        """

    def prepare_dense(self, space: VectorSpace, where: VectorField) -> DensePreparation:
        """Load what a dense search of that field needs; a store that loads nothing need not define it."""
        return DensePreparation()

    def dense_each(
        self, space: VectorSpace, where: VectorField, vectors: Sequence[Vector], depth: int
    ) -> list[list[RouteHit]]:
        """Runs `dense` for each of these vectors without a filter, in their order."""
        return [self.dense(space, where, vector, depth, EVERYTHING) for vector in vectors]

    @abstractmethod
    def lexical(
        self, lexemes: Sequence[str], depth: int, keep: Filter, *, sessions: bool = False, multiplied: bool = False
    ) -> list[RouteHit]:
        """The best by BM25 (k1 = 1.2, b = 0.75) over memories with any of the lexemes; a predicate weighs 4 (R4).

        A place in the predicate counts as four in the content, or, if `multiplied`, as one, and the share of its lexeme
        in the score is four times as large. Turns and notes are searched, or `sessions`.
        """

    def temporal(
        self, start: datetime, end: datetime, depth: int, keep: Filter = EVERYTHING, *, named: bool = False
    ) -> list[RouteHit]:
        """Events of the half-open window, each with score 1: in order, or the nearest to its centre if too many.

        With `named`, those follow that were said at another time and name a stretch overlapping it, scored and
        noted as by `within`, the nearest to the centre first.
        """
        if keep.types and "event" not in keep.types:
            return []
        first, last, kept = to_micros(start), to_micros(end), self._scope.kept(keep)
        centre = (first + last) // 2
        values = {**parameters_of(first, last, depth), **kept.values("kept")}
        said: list[tuple[int, int]] = []
        dated: dict[int, tuple[int, float]] = {}
        for row, said_at, *stretch in self._scope.rows(_events(self._sql, kept, named), **values):
            if stretch[0] is None:
                said.append((row, said_at))
            else:
                way = max(abs(moment - centre) for moment in stretch), _share(last - first, *stretch)
                dated[row] = min(way, dated.get(row, way))
        if len(said) <= depth:
            said.sort(key=lambda item: (item[1], item[0]))
        further = [
            RouteHit(row, dated[row][1], NAMES_WINDOW) for row in sorted(dated, key=lambda row: (dated[row][0], row))
        ]
        return [*(RouteHit(row, 1.0) for row, _ in said), *further][:depth]

    def within(self, start: datetime, end: datetime, depth: int, keep: Filter = EVERYTHING) -> list[RouteHit]:
        """Turns and notes of any type that were said in the half-open window, or that name a stretch overlapping it.

        The score is 1; for a stretch more than a day longer than the window, the window's length over the stretch's.
        The note says which of both. In time order, or the nearest to the window's centre if there are too many; a
        stretch is as far away as the further of its ends, so that a year that only overlaps the window comes after a
        day inside of it.
        """
        first, last = to_micros(start), to_micros(end)
        if first >= last or depth < 1:
            return []
        centre = (first + last) // 2
        found: dict[int, list[Way]] = {}
        kept = self._scope.kept_rows(keep)
        values = {**parameters_of(first, last, depth), **kept.values("kept")}
        for row, said_at, *stretch in self._scope.rows(statement_of(self._sql, kept), **values):
            ways = found.setdefault(row, [])
            if first <= said_at < last:
                ways.append((said_at, abs(said_at - centre), 1.0, True))
            if stretch[0] is not None:
                furthest = max(abs(moment - centre) for moment in stretch)
                ways.append((stretch[0], furthest, _share(last - first, *stretch), False))
        by = 1 if len(found) > depth else 0
        order = sorted(found, key=lambda row: (min(way[by] for way in found[row]), row))
        return [RouteHit(row, max(way[2] for way in found[row]), _note(found[row])) for row in order[:depth]]

    @abstractmethod
    def rrf(
        self,
        space: VectorSpace | None,
        vector: Vector | None,
        lexemes: Sequence[str],
        arms: Sequence[Arm],
        k: float,
        keep: Filter = EVERYTHING,
    ) -> list[FusedHit]:
        """Search all arms and fuse them by reciprocal rank, weight / (k + rank), in the store itself (M3).

        If an arm searches passages, a memory has the rank of its nearest one.
        """

    @abstractmethod
    def composite(
        self, space: VectorSpace, vector: Vector, how: Composite, keep: Filter = EVERYTHING
    ) -> list[FusedHit]:
        """The nearest memories scored by similarity, recency and frequency in the store itself (D1, D9)."""

    @abstractmethod
    def patterns(self, space: VectorSpace, where: VectorField, vector: Vector, size: int, keep: Filter) -> Matrix:
        """The vectors nearest to a vector, one a row."""

    @abstractmethod
    def vectors(self, space: VectorSpace, rows: Sequence[int]) -> dict[int, Vector]:
        """The vector of the full text of each of these memories, or of the session for a session memory."""

    @abstractmethod
    def token_vectors(self, space: VectorSpace, passages: Sequence[tuple[int, int]]) -> dict[tuple[int, int], bytes]:
        """The token vectors of passages, by row and part; passages without any are left out."""

    @abstractmethod
    def passage_vectors(self, space: VectorSpace, rows: Sequence[int]) -> dict[int, Matrix]:
        """The vectors of all passages of these memories in their order; memories of one passage are left out."""

    @abstractmethod
    def latest_with(self, lexemes: Sequence[str], limit: int) -> list[int]:
        """The rows of the latest memories with any of the lexemes, unranked."""

    @abstractmethod
    def vocabulary(self, most: int, prefix: str = "") -> list[str]:
        """The lexemes with that prefix that most memories have, sessions left out; ties in the order of lexemes."""

    @abstractmethod
    def count_vectors(self, space: VectorSpace) -> int:
        """Number of vectors in a space."""


# Searching and fusing in one statement.

TOTAL = (
    "SELECT arm, row, rank, score, share, sum(share) OVER (PARTITION BY row) AS total FROM shares "
    "ORDER BY total DESC, row, arm"
)
"""Gives the rows of the table `shares`, each with the sum over its memory's shares."""


def composite_of(sql: Dialect, nearest: str, how: Composite) -> tuple[str, dict[str, Any], list[str]]:
    """The tables and the total of a composite score over the rows and scores of `nearest`, its parameters, the routes.

    Candidates, subject counts, recency over the candidate set, weighted sum: one statement (D9).
    """
    age = {
        "none": "1.0",
        "linear": f"{sql.greatest}(0.0, 1.0 - lives / 2)",
        "exponential": "exp(-ln(CAST(2 AS float8)) * lives)",
        "gaussian": "exp(-ln(CAST(2 AS float8)) * lives * lives)",
        "step": "CASE WHEN lives < 1 THEN 1.0 ELSE 0.0 END",
    }
    newness = "CASE WHEN oldest < newest THEN CAST(at - oldest AS float8) / (newest - oldest) ELSE 1.0 END"
    values: dict[str, Any] = {"now": to_micros(how.now), "life": float(how.decay.half_life_days or 1.0) * DAY_MICROS}
    if how.decay.half_life_days is not None:
        newness = f"{sql.greatest}(CAST(:floor AS float8), {age[how.decay.curve]})"
        values["floor"] = float(how.decay.floor)
    signals = [("similarity", how.similarity), ("recency", how.recency), ("frequency", how.frequency)]
    used = [(column, *named) for column, named in signals if named is not None]
    values |= {f"weight{i}": float(weight) for i, (_, _, weight) in enumerate(used)}
    shares = " UNION ALL ".join(
        f"SELECT {i} AS arm, row, row_number() OVER (ORDER BY {column} DESC, row) AS rank, {column} AS score, "
        f"CAST(:weight{i} AS float8) * {column} AS share FROM signals"
        for i, (column, *_) in enumerate(used)
    )
    spoken = (
        f"SELECT sum(e.links) FROM links l CROSS JOIN entities e WHERE {sql.unindexed('l.namespace')} = :ns "
        f"AND l.memory = n.row AND {sql.unindexed('e.namespace')} = :ns AND e.key = l.entity"
    )
    tables = (
        f"found AS MATERIALIZED (SELECT n.row, {sql.least}(1.0, {sql.greatest}(0.0, n.score)) AS similarity, "
        f"m.event_at AS at, coalesce(({spoken}), 0) AS spoken FROM {nearest} AS n CROSS JOIN memories m "
        f"WHERE m.row = n.row AND {sql.unindexed('m.namespace')} = :ns), "
        "spread AS (SELECT *, min(at) OVER () AS oldest, max(at) OVER () AS newest, max(spoken) OVER () AS most, "
        f"{sql.greatest}(0, CAST(:now AS bigint) - at) / CAST(:life AS float8) AS lives FROM found), "
        f"signals AS MATERIALIZED (SELECT row, similarity, {newness} AS recency, "
        "CASE WHEN most > 0 THEN CAST(spoken AS float8) / most ELSE 0.0 END AS frequency FROM spread), "
        f"shares AS ({shares}) {TOTAL}"
    )
    return tables, values, [route for _, route, _ in used]


# The stretches of time that a memory's text names.

MAX_TIMES = 16
"""Maximum number of stretches of time stored for one memory, the first ones of its text."""

LONG_STRETCH = 32 * DAY_MICROS
"""A stretch of more than a month is found by an index of its own, whose condition has this number."""

_COLUMNS = ("namespace", "memory", "starts_at", "ends_at")

_OVERLAPS = "{0}starts_at < :last AND ({0}ends_at > :first OR {0}starts_at >= :first)"

Way = tuple[int, int, float, bool]
"""A memory's link to a window: the moment, its distance from the centre, the score, True if it was said then."""


def put_times(txn: Transaction, row: int, dates: Sequence[Span]) -> None:
    """Store the stretches that a memory names, each once."""
    if not dates:
        return
    stretches = dict.fromkeys((to_micros(date.start), to_micros(date.end)) for date in dates)
    txn.gather(_write_times, [(txn.key, row, *stretch) for stretch in list(stretches)[:MAX_TIMES]])


def _write_times(txn: Transaction, rows: list[tuple[Any, ...]]) -> None:
    txn.put("memory_times", _COLUMNS, rows)


def _events(sql: Dialect, kept: Gate, named: bool) -> str:
    """The events in the window, and with `named` the stretches that other events name in it."""
    source = sql.events if kept.rows is None or not kept.rows.few else "memories"
    nothing = "CAST(NULL AS bigint)"
    said = (
        f"SELECT row, event_at, {nothing} AS starts_at, {nothing} AS ends_at FROM {source} WHERE namespace = :ns "
        f"AND type = 'event' AND event_at >= :first AND event_at < :last{kept.among('row', 'kept')} "
        "ORDER BY abs(event_at - :centre), row LIMIT :most"
    )
    if not named:
        return said
    return (
        f"WITH named AS ({_named(sql, kept)}) SELECT * FROM ({said}) AS said UNION ALL "
        "SELECT m.row, m.event_at, n.starts_at, n.ends_at FROM "
        "(SELECT * FROM named ORDER BY distance, memory LIMIT :stretches) AS n CROSS JOIN memories m "
        f"WHERE m.row = n.memory AND {sql.unindexed('m.namespace')} = :ns AND m.type = 'event' "
        "AND (m.event_at < :first OR m.event_at >= :last)"
    )


def _share(window: int, starts_at: int, ends_at: int) -> float:
    """1 for a stretch about as long as the window or shorter; of a longer one, the part that the window is."""
    length = ends_at - starts_at
    return 1.0 if length <= window + DAY_MICROS else window / length


def _note(ways: Sequence[Way]) -> str:
    kinds = {said for *_, said in ways}
    if len(kinds) == 2:
        return SAID_AND_NAMES_WINDOW
    return SAID_IN_WINDOW if True in kinds else NAMES_WINDOW


def parameters_of(first: int, last: int, depth: int) -> dict[str, int]:
    return {
        "first": first,
        "last": last,
        "centre": (first + last) // 2,
        "reach": first - LONG_STRETCH,
        "most": depth + 1,
        "stretches": MAX_TIMES * (depth + 1),
    }


def statement_of(sql: Dialect, kept: Gate = ALL) -> str:
    """From the centre of the window outwards, so that a long window costs no more than a short one."""
    said = kept.among("row", "kept")
    memories = f"SELECT row AS memory FROM memories WHERE namespace = :ns AND kind <> 'session'{said} AND "
    return (
        f"WITH said AS (SELECT * FROM ({memories} event_at >= :centre AND event_at < :last "
        "ORDER BY event_at, row LIMIT :most) AS later UNION ALL "
        f"SELECT * FROM ({memories} event_at >= :first AND event_at < :centre "
        "ORDER BY event_at DESC, row LIMIT :most) AS earlier), "
        f"named AS ({_named(sql, kept)}), "
        "nearest AS (SELECT memory FROM named GROUP BY memory ORDER BY min(distance), memory LIMIT :most) "
        "SELECT m.row, m.event_at, t.starts_at, t.ends_at FROM "
        "(SELECT memory FROM said UNION SELECT memory FROM nearest) AS f CROSS JOIN memories m "
        f"LEFT JOIN memory_times t ON {sql.unindexed('t.namespace')} = :ns AND t.memory = m.row "
        f"AND {_OVERLAPS.format('t.')} WHERE m.row = f.memory AND {sql.unindexed('m.namespace')} = :ns"
    )


def _named(sql: Dialect, kept: Gate) -> str:
    """The stretches that overlap the window, from its centre outwards, each with its distance."""
    furthest = f"{sql.greatest}(abs(starts_at - :centre), abs(ends_at - :centre))"
    times = (
        f"SELECT memory, starts_at, ends_at, {furthest} AS distance FROM memory_times "
        f"WHERE namespace = :ns{kept.among('memory', 'kept')} AND "
    )
    return (
        f"SELECT * FROM ({times} starts_at >= :centre AND starts_at < :last "
        "ORDER BY starts_at, memory LIMIT :stretches) AS later UNION ALL "
        f"SELECT * FROM ({times} starts_at >= :reach AND starts_at < :centre "
        "AND (ends_at > :first OR starts_at >= :first) "
        "ORDER BY starts_at DESC, memory LIMIT :stretches) AS earlier UNION ALL "
        f"SELECT * FROM ({times} starts_at < :reach AND ends_at > :first AND ends_at - starts_at > {LONG_STRETCH} "
        "ORDER BY starts_at DESC, memory LIMIT :stretches) AS longer"
    )


# Exchanges: single turns paired into questions and answers, so that a memory is found by either side of one (M1).
# Nothing of a pair is stored. The user's side of an answer is the turn before it, and what the user says next is the
# turn after it; both have a vector of their whole text. So one search of whole texts, joined with the turns around what
# it finds, serves all sides. Only a record that gives the texts of both sides has vectors of its own for them.

SIDES: tuple[VectorField, ...] = ("user", "assistant", "next_user")


def texts_for(depth: int) -> int:
    """Number of whole texts to search for that many hits: not quite every second turn of a talk is of one side."""
    return max(3 * depth, 192)


def turns_near(sql: Dialect, near: str) -> str:
    """The turns among the rows and scores of `near`, each with the turn before it and the one after it."""
    return (
        f"SELECT m.row AS row, near.score AS score, {TURN_BEFORE} AS earlier, {TURN_AFTER} AS later "
        f"FROM ({near}) AS near CROSS JOIN memories m "
        f"WHERE m.row = near.row AND m.kind = 'turn' AND {sql.unindexed('m.namespace')} = :ns"
    )


def best_of_side(sql: Dialect, side: VectorField, turns: str, stored: str, depth: int, keep: Gate) -> str:
    """The best rows of one side with their scores: of the table `turns`, and those that `stored` gives."""
    return (
        f"SELECT row, max(score) AS score FROM (SELECT row, score FROM ({_sides(sql, side, turns)}) AS paired "
        f"WHERE score IS NOT NULL{keep.among('row', 'paired')} UNION ALL SELECT row, score FROM {stored}) AS sides "
        f"GROUP BY row ORDER BY max(score) DESC, row LIMIT {depth}"
    )


def sessions_of(sql: Dialect, turns: str, depth: int, keep: Gate) -> str:
    """The best rows of session memories, each with the score of the best of its turns among `turns` (M5)."""
    return (
        f"SELECT s.memory AS row, max(found.score) AS score FROM {turns} AS found CROSS JOIN memories m "
        f"CROSS JOIN sessions s WHERE m.row = found.row AND {sql.unindexed('m.namespace')} = :ns "
        f"AND s.namespace = :ns AND s.id = m.session_id AND s.memory IS NOT NULL{keep.among('s.memory', 'paired')} "
        f"GROUP BY s.memory ORDER BY max(found.score) DESC, s.memory LIMIT {depth}"
    )


def _sides(sql: Dialect, side: VectorField, turns: str) -> str:
    """Rows and scores of the memories whose side is a turn `s`; `b` is the turn before it and `a` the one after it."""
    if side == "next_user":
        said = f"{_lacks('s.user_text')} AND b.next_user_text = s.content"
        return f"SELECT b.row, near.score FROM {_joined(sql, turns, b='earlier')} AND {said}"
    before = f"SELECT 1 FROM memories b WHERE b.row = near.earlier AND {sql.unindexed('b.namespace')} = :ns"
    answers = f"EXISTS ({before} AND {_answers(sql, 's', 'b')})"
    single = f"{_lacks('s.user_text')} AND {_lacks('s.assistant_text')}"
    own = f"SELECT s.row, near.score FROM {_joined(sql, turns)} AND {single}"
    if side == "assistant":
        return f"{own} AND ({_says(sql, 's', 'assistant')} OR {answers})"
    return (
        f"{own} AND {_says(sql, 's', 'user')} AND NOT {answers} UNION ALL "
        f"SELECT a.row, near.score FROM {_joined(sql, turns, a='later')} AND {_answers(sql, 'a', 's')}"
    )


def _joined(sql: Dialect, turns: str, **others: str) -> str:
    """The turns as `near` with their memories as `s`, and with those in other columns under the names given."""
    columns = {"s": "row", **others}
    tables = " ".join(f"CROSS JOIN memories {name}" for name in columns)
    own = (
        f"{name}.row = near.{column} AND {sql.unindexed(f'{name}.namespace')} = :ns" for name, column in columns.items()
    )
    return f"{turns} near {tables} WHERE {' AND '.join(own)}"


def _answers(sql: Dialect, turn: str, before: str) -> str:
    """The condition that a turn answers the one before it: somebody else speaks, and not the user after the assistant.

    Between people each turn answers the one before it. A record of a question and its answer is whole by itself.
    """
    other = f"{_speaker(sql, turn)} <> {_speaker(sql, before)}"
    return (
        f"({_lacks(f'{turn}.user_text')} AND {_lacks(f'{before}.assistant_text')} "
        f"AND (NOT {_lacks(f'{before}.user_text')} OR {_says(sql, before, 'user')}) "
        f"AND (NOT {_lacks(f'{turn}.assistant_text')} "
        f"OR ({turn}.speaker IS NOT NULL AND NOT {_says(sql, turn, 'tool')} AND {other})))"
    )


def _says(sql: Dialect, turn: str, origin: Origin) -> str:
    """The speaker: the user, the assistant or a tool; a person, or an unknown speaker, counts as the user."""
    names = speakers_of(origin) or (*speakers_of("assistant"), *speakers_of("tool"))
    listed = ", ".join(f"'{name}'" for name in names)
    return f"{_speaker(sql, turn)} {'NOT IN' if origin == 'user' else 'IN'} ({listed})"


def _speaker(sql: Dialect, turn: str) -> str:
    return sql.lowercase(f"coalesce({turn}.speaker, '')")


def _lacks(column: str) -> str:
    return f"coalesce({column}, '') = ''"
