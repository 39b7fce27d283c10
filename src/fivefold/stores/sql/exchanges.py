"""Exchanges: single turns paired into questions and answers, so that a memory is found by either side of one (M1).

Nothing of a pair is stored. The user's side of an answer is the turn before it, and what the user says next is the
turn after it; both have a vector of their whole text. So one search of whole texts, joined with the turns around what
it finds, serves all sides. Only a record that gives the texts of both sides has vectors of its own for them.
"""

from __future__ import annotations

from fivefold.stores.sql.dialect import Dialect
from fivefold.stores.sql.kept_rows import Kept
from fivefold.stores.sql.session_reader import TURN_AFTER, TURN_BEFORE
from fivefold.values.memory import Origin, speakers_of
from fivefold.values.vectors import VectorField

SIDES: tuple[VectorField, ...] = ("user", "assistant", "next_user")


def texts_for(depth: int) -> int:
    """How many whole texts are searched for that many hits: not quite every second turn of a talk is of one side."""
    return max(3 * depth, 192)


def turns_near(sql: Dialect, near: str) -> str:
    """The turns among the rows and scores of `near`, each with the turn before it and the one after it."""
    return (
        f"SELECT m.row AS row, near.score AS score, {TURN_BEFORE} AS earlier, {TURN_AFTER} AS later "
        f"FROM ({near}) AS near CROSS JOIN memories m "
        f"WHERE m.row = near.row AND m.kind = 'turn' AND {sql.unindexed('m.namespace')} = :ns"
    )


def best_of_side(sql: Dialect, side: VectorField, turns: str, stored: str, depth: int, keep: Kept) -> str:
    """The best rows of one side with their scores: of the table `turns`, and those that `stored` gives."""
    return (
        f"SELECT row, max(score) AS score FROM (SELECT row, score FROM ({_sides(sql, side, turns)}) AS paired "
        f"WHERE score IS NOT NULL{keep.among('row', 'paired')} UNION ALL SELECT row, score FROM {stored}) AS sides "
        f"GROUP BY row ORDER BY max(score) DESC, row LIMIT {depth}"
    )


def sessions_of(sql: Dialect, turns: str, depth: int, keep: Kept) -> str:
    """The best rows of session memories, each with the score of the best of its turns among `turns` (M5)."""
    return (
        f"SELECT s.memory AS row, max(found.score) AS score FROM {turns} AS found CROSS JOIN memories m "
        f"CROSS JOIN sessions s WHERE m.row = found.row AND {sql.unindexed('m.namespace')} = :ns "
        f"AND s.namespace = :ns AND s.id = m.session_id AND s.memory IS NOT NULL{keep.among('s.memory', 'paired')} "
        f"GROUP BY s.memory ORDER BY max(found.score) DESC, s.memory LIMIT {depth}"
    )


def _sides(sql: Dialect, side: VectorField, turns: str) -> str:
    """Rows and scores of the memories whose side is a turn of `turns`.

    `s` is that turn, `b` the one before it and `a` the one after it.
    """
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
    """Whether a turn answers the one before it: somebody else speaks, and not the user after the assistant.

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
    """Whether it is the user, the assistant or a tool who speaks; a person, or nobody in particular, is the user."""
    names = speakers_of(origin) or (*speakers_of("assistant"), *speakers_of("tool"))
    listed = ", ".join(f"'{name}'" for name in names)
    return f"{_speaker(sql, turn)} {'NOT IN' if origin == 'user' else 'IN'} ({listed})"


def _speaker(sql: Dialect, turn: str) -> str:
    return sql.lowercase(f"coalesce({turn}.speaker, '')")


def _lacks(column: str) -> str:
    return f"coalesce({column}, '') = ''"
