"""Lexical search: FTS5 with real BM25, one index a namespace.

An index of its own keeps document frequencies and lengths inside the namespace, so that what one namespace
holds never moves another's ranking. Session memories repeat their turns and have a second index.
FTS5 fixes k1 at 1.2 and b at 0.75. The index keeps the lexemes it was given, so that a forgotten
memory's words can be taken out of it and not only marked as gone.
"""

from __future__ import annotations

from collections.abc import Sequence

import apsw

from fivefold.stores.sql.kept_rows import Kept
from fivefold.stores.sqlite.connection import rows
from fivefold.values.recall_trace import RouteHit

PREDICATE_WEIGHT = 4.0
"""A hit in the short predicate weighs four times one in the content (R4)."""

LAST_CHARACTER = "\U0010ffff"
"""Comes after every character of a lexeme."""


def table_of(namespace: int, kind: str) -> str:
    return f"lex_{namespace}_sessions" if kind == "session" else f"lex_{namespace}"


def create_tables(connection: apsw.Connection, namespace: int) -> None:
    """Lexemes come in ready made, so the tokenizer only splits at spaces."""
    for kind in ("turn", "session"):
        table = table_of(namespace, kind)
        connection.execute(
            f"CREATE VIRTUAL TABLE {table} USING fts5(predicate, content, "
            "tokenize=\"ascii tokenchars '-._/@:+#&~=?%\\'\")"
        )
        connection.execute(f"INSERT INTO {table}({table}, rank) VALUES ('rank', 'bm25({PREDICATE_WEIGHT}, 1.0)')")
        connection.execute(f"INSERT INTO {table}({table}, rank) VALUES ('secure-delete', 1)")


def drop_tables(connection: apsw.Connection, namespace: int) -> None:
    for kind in ("turn", "session"):
        connection.execute(f"DROP TABLE IF EXISTS {table_of(namespace, kind)}")


def optimize(connection: apsw.Connection, namespace: int) -> None:
    """Merge all of an index into one tree, as it would be had everything been written at once."""
    for kind in ("turn", "session"):
        table = table_of(namespace, kind)
        connection.execute(f"INSERT INTO {table}({table}) VALUES ('optimize')")


def vocabulary(connection: apsw.Connection, namespace: int, most: int, prefix: str = "") -> list[str]:
    """The lexemes of most documents; session memories are left out, which repeat their turns."""
    connection.execute(f"CREATE VIRTUAL TABLE temp.words USING fts5vocab(main, {table_of(namespace, 'turn')}, row)")
    try:
        terms = rows(
            connection,
            "SELECT term FROM temp.words WHERE term >= ? AND term < ? ORDER BY doc DESC, term LIMIT ?",
            prefix,
            prefix + LAST_CHARACTER,
            most,
        )
    finally:
        connection.execute("DROP TABLE temp.words")
    return [term for (term,) in terms]


def add(
    connection: apsw.Connection, namespace: int, kind: str, row: int, predicate: Sequence[str], content: Sequence[str]
) -> None:
    connection.execute(
        f"INSERT INTO {table_of(namespace, kind)}(rowid, predicate, content) VALUES (?, ?, ?)",
        (row, " ".join(predicate), " ".join(content)),
    )


def remove(connection: apsw.Connection, namespace: int, kind: str, row: int) -> None:
    connection.execute(f"DELETE FROM {table_of(namespace, kind)} WHERE rowid = ?", (row,))


def search(
    connection: apsw.Connection, namespace: int, lexemes: Sequence[str], depth: int, keep: Kept, sessions: bool = False
) -> list[RouteHit]:
    """The best by BM25, higher is better; any of the lexemes may match."""
    table = table_of(namespace, "session" if sessions else "turn")
    rank, kept = ranking(table, keep, "kept")
    types = {f"type{place}": type for place, type in enumerate(keep.types)}
    narrowed = f" CROSS JOIN memories m ON m.row = {table}.rowid" if types else ""
    condition = f" AND m.type IN ({', '.join(f':{name}' for name in types)})" if types else ""
    cursor = connection.execute(
        f"SELECT {table}.rowid, -{rank} FROM {table}{narrowed} WHERE {table} MATCH :words{kept}{condition} "
        f"ORDER BY {rank}, {table}.rowid LIMIT :depth",
        {"words": any_of(lexemes), "depth": depth, **types, **keep.values("kept")},
    )
    return [RouteHit(row, score) for row, score in cursor]


def ranking(table: str, keep: Kept, name: str) -> tuple[str, str]:
    """By what the matches are ordered, the best least, and the condition that they are among the rows of a filter.

    Of a filter's rows only those that match are scored; FTS5's own order would score and sort all matches first.
    """
    if keep.rows is None:
        return f"{table}.rank", ""
    return f"bm25({table}, {PREDICATE_WEIGHT}, 1.0)", keep.among(f"+{table}.rowid", name)


def latest(connection: apsw.Connection, namespace: int, lexemes: Sequence[str], limit: int) -> list[int]:
    """The latest rows with any of the lexemes; unranked, which makes it fast."""
    table = table_of(namespace, "turn")
    sql = f"SELECT rowid FROM {table} WHERE {table} MATCH ? ORDER BY rowid DESC LIMIT ?"
    return [row for (row,) in rows(connection, sql, any_of(lexemes), limit)]


def any_of(lexemes: Sequence[str]) -> str:
    return " OR ".join(f'"{lexeme}"' for lexeme in dict.fromkeys(lexemes))
