"""Lexical search: BM25 as one statement over a GIN index, with live statistics of each namespace (R4).

It is the formula of SQLite's FTS5, bit for bit: k1 1.2, b 0.75, a hit in the predicate weighs four times one in the
content. Lexemes are kept as 64-bit keys made of namespace, corpus and lexeme, in rising order, so that a document's
count of one is found by halving.

Few documents are scored. A first search takes those that hold the rarest lexemes and pairs of lexemes, up to about
`FIRST_DOCUMENTS`; the score of its last hit is the bar. A lexeme adds at most its bound, idf · (k1 + 1), or four times
that if predicates multiply, so a second search takes only lexemes whose bound alone is above the bar, and pairs whose
bounds together with those of all commoner lexemes are. All other documents cannot be among the best.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from fivefold.stores.postgres.dialect import lexeme_key
from fivefold.stores.records import Entry
from fivefold.stores.sql.index import COUNT_BITS, MAX_COUNT, PREDICATE_WEIGHT, LexemeWriter, packed_counts
from fivefold.stores.sql.scope import Gate, Transaction
from fivefold.values.memory import TYPES

FIRST_DOCUMENTS = 1_000
"""About how many documents the first search scores."""

K1, B = 1.2, 0.75

SIZES = (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)
"""Numbers of lexemes a statement is made for; a question with fewer fills up, so that few statements are planned."""


def keys_of(namespace: int, sessions: bool, lexemes: Sequence[str]) -> list[int]:
    return [lexeme_key(namespace, sessions, lexeme) for lexeme in dict.fromkeys(lexemes)]


def search(
    name: str,
    lexemes: Sequence[str],
    namespace: int,
    depth: int,
    keep: Gate,
    sessions: bool = False,
    multiplied: bool = False,
) -> tuple[str, dict[str, Any]]:
    """Common table expressions of which `name` holds the best as memory and score, and their parameters."""
    keys = _filled(keys_of(namespace, sessions, lexemes))
    places = range(1, len(keys) + 1)
    values: dict[str, Any] = {f"{name}_key{i}": key for i, key in enumerate(keys, 1)}
    types = ""
    if keep.types:
        types = f" AND d.type = ANY(:{name}_types::smallint[])"
        values[f"{name}_types"] = keep.type_codes
    if keep.rows is not None:
        types += f" AND d.memory = ANY(:{name}_kept::bigint[])"
        values[f"{name}_kept"] = keep.rows.listed
        if keep.rows.few:
            return f"{_weights(name, places, multiplied)},{_among_few(name, places, types, depth, multiplied)}", values
    first = _scored(name, places, types, "pair", f"SELECT array_agg(key) FROM {name}_term WHERE first", multiplied)
    alone = f"SELECT array_agg(key) FROM {name}_term WHERE NOT first AND bound > (SELECT score FROM {name}_bar)"
    sql = f"""{_weights(name, places, multiplied)},
{name}_group AS MATERIALIZED (
  SELECT place, key, alone, sum(size) OVER best <= {FIRST_DOCUMENTS} OR row_number() OVER best = 1 AS first FROM (
    SELECT place, key, true AS alone, df::float8 AS size, idf AS worth FROM {name}_rare UNION ALL
    SELECT i.place, j.key, false, i.df * j.df / i.n, i.idf + j.idf
    FROM {name}_rare i JOIN {name}_rare j ON j.place > i.place) g
  WINDOW best AS (ORDER BY worth DESC, place, key)),
{name}_term AS MATERIALIZED (
  SELECT r.key, r.place, r.bound, r.bound_on, g.first
  FROM {name}_rare r JOIN {name}_group g ON g.alone AND g.place = r.place),
{name}_pair AS MATERIALIZED (SELECT place, key FROM {name}_group WHERE first AND NOT alone),
{name}_first AS MATERIALIZED ({first} ORDER BY score DESC, memory LIMIT {depth}),
{name}_bar AS MATERIALIZED (
  SELECT CASE WHEN count(*) = {depth} THEN min(score) ELSE -1 END AS score FROM {name}_first),
{name}_more AS MATERIALIZED (
  SELECT i.place, j.key FROM {name}_bar bar CROSS JOIN {name}_term i JOIN {name}_term j ON j.place > i.place
  JOIN {name}_group g ON g.place = i.place AND g.key = j.key AND NOT g.alone
  WHERE NOT i.first AND NOT j.first AND NOT g.first AND i.bound <= bar.score AND i.bound + j.bound_on > bar.score),
{name}_second AS (
  SELECT memory, score FROM ({_scored(name, places, types, "more", alone, multiplied)}) d
  WHERE score >= (SELECT score FROM {name}_bar)),
{name} AS MATERIALIZED (
  SELECT memory, score FROM (SELECT * FROM {name}_first UNION SELECT * FROM {name}_second) d
  ORDER BY score DESC, memory LIMIT {depth})"""
    return sql, values


def _weights(name: str, places: range, multiplied: bool) -> str:
    """The lexemes that are known with their bounds, and what one place of each weighs."""
    bound = (K1 + 1) * (PREDICATE_WEIGHT if multiplied else 1)
    return f"""
{name}_known AS MATERIALIZED (
  SELECT u.place AS asked, t.key, t.documents AS df, c.documents::float8 AS n,
         c.tokens::float8 / c.documents AS average,
         CASE WHEN 2 * t.documents < c.documents
              THEN ln((c.documents - t.documents + 0.5::float8) / (t.documents + 0.5::float8))
              ELSE 1e-6::float8 END AS idf
  FROM unnest(ARRAY[{", ".join(f":{name}_key{i}" for i in places)}]::bigint[]) WITH ORDINALITY AS u(key, place)
  JOIN terms t ON t.namespace = :ns AND t.key = u.key AND t.documents > 0
  JOIN corpora c ON c.namespace = :ns AND c.sessions = t.sessions),
{name}_rare AS MATERIALIZED (
  SELECT *, {bound}::float8 * idf AS bound, row_number() OVER (ORDER BY df, asked) AS place,
         sum({bound}::float8 * idf) OVER (ORDER BY df DESC, asked DESC) AS bound_on FROM {name}_known),
{name}_weights AS MATERIALIZED (
  SELECT max(average) AS average,
         {", ".join(f"coalesce(max(idf) FILTER (WHERE asked = {i}), 0) AS idf{i}" for i in places)} FROM {name}_rare)"""


def _among_few(name: str, places: range, kept: str, depth: int, multiplied: bool) -> str:
    """The best of a filter's rows, each of which is read and scored: no search among all documents is needed."""
    scored = _scored_of(name, places, f"FROM lexicon d WHERE d.namespace = :ns{kept} OFFSET 0", multiplied)
    best = f"SELECT memory, score FROM ({scored}) s WHERE score > 0 ORDER BY score DESC, memory LIMIT {depth}"
    return f"\n{name} AS MATERIALIZED ({best})"


def _filled(keys: list[int]) -> list[int]:
    """The keys with as many that stand for nothing as the next size has room for."""
    size = next((size for size in SIZES if size >= len(keys)), len(keys))
    return keys + [0] * (size - len(keys))


def _scored(name: str, places: range, types: str, pairs: str, alone: str, multiplied: bool) -> str:
    """Documents with any of the lexemes that `alone` selects, or with one of the table `pairs`, and their scores."""
    conditions = [f"d.keys && ({alone})"] + [
        f"d.keys @> (SELECT ARRAY[key] FROM {name}_term WHERE place = {i}) "
        f"AND d.keys && (SELECT array_agg(key) FROM {name}_{pairs} WHERE place = {i})"
        for i in places[:-1]
    ]
    source = f"FROM lexicon d WHERE d.namespace = :ns{types} AND (({') OR ('.join(conditions)})) OFFSET 0"
    return _scored_of(name, places, source, multiplied)


def _scored_of(name: str, places: range, source: str, multiplied: bool) -> str:
    return (
        f"SELECT d.memory, {' + '.join(_share(name, i, multiplied) for i in places)} AS score "
        f"FROM {name}_weights w CROSS JOIN (SELECT d.memory, d.length, d.keys, d.counts, "
        f"{', '.join(f'width_bucket(:{name}_key{i}, d.keys) AS at{i}' for i in places)} {source}) d"
    )


def _share(name: str, place: int, multiplied: bool) -> str:
    """The part that one lexeme adds to a document's score, computed in FTS5's order."""
    at = f"d.at{place}"
    count, factor = f"(d.counts[{at}] & {MAX_COUNT})", ""
    if multiplied:
        named = f"(d.counts[{at}] >> {COUNT_BITS})"
        count = f"({count} - {PREDICATE_WEIGHT - 1} * {named})"
        factor = f" * CASE WHEN {named} > 0 THEN {PREDICATE_WEIGHT}::float8 ELSE 1 END"
    length = f"{K1}::float8 * ({1 - B}::float8 + {B}::float8 * d.length / w.average)"
    share = f"w.idf{place} * ({count} * {K1 + 1}::float8 / ({count} + {length})){factor}"
    return f"CASE WHEN d.keys[{at}] = :{name}_key{place} THEN {share} ELSE 0 END"


class PostgresLexemeWriter(LexemeWriter):
    """Statistics are gathered and written at the end of the transaction."""

    def __init__(self, txn: Transaction) -> None:
        super().__init__(txn)
        self._documents: Counter[tuple[bool, str]] = Counter()
        self._corpora: Counter[tuple[bool, str]] = Counter()

    def add(self, row: int, entry: Entry) -> None:
        memory = entry.memory
        sessions = memory.kind == "session"
        counts = packed_counts(entry.predicate_lexemes, entry.content_lexemes)
        keyed = sorted((lexeme_key(self._txn.key, sessions, lexeme), count) for lexeme, count in counts.items())
        length = len(entry.predicate_lexemes) + len(entry.content_lexemes)
        self._txn.run(
            "INSERT INTO documents (namespace, memory, sessions, type, length, keys, counts) "
            "VALUES (:ns, :row, :sessions, :type, :length, :keys, :counts)",
            row=row,
            sessions=sessions,
            type=TYPES.index(memory.type),
            length=length,
            keys=_array(key for key, _ in keyed),
            counts=_array(count for _, count in keyed),
        )
        self._documents.update((sessions, lexeme) for lexeme in counts)
        self._corpora.update({(sessions, "documents"): 1, (sessions, "tokens"): length})

    def remove(self, row: int, kind: str) -> None:
        self.flush()
        sql = "DELETE FROM documents WHERE namespace = :ns AND memory = :row RETURNING sessions, length, keys"
        for sessions, length, keys in self._txn.rows(sql, row=row):
            of = "WHERE namespace = :ns AND key = ANY(:keys)"
            self._txn.run(f"UPDATE terms SET documents = documents - 1 {of}", keys=keys)
            self._txn.run(f"DELETE FROM terms {of} AND documents <= 0", keys=keys)
            self._corpora.update({(sessions, "documents"): -1, (sessions, "tokens"): -length})

    def clear(self) -> None:
        for table in ("documents", "terms", "corpora"):
            self._txn.run(f"DELETE FROM {table} WHERE namespace = :ns")
        self._documents.clear()
        self._corpora.clear()

    def flush(self) -> None:
        """Write the statistics of what was indexed since the last time; a lexeme gets its row when it is first used."""
        if self._documents:
            counts = [(lexeme_key(self._txn.key, *item), *item, count) for item, count in self._documents.items()]
            keys, sessions, terms, documents = zip(*sorted(counts), strict=True)
            self._txn.run(
                "INSERT INTO terms AS t (namespace, key, sessions, term, documents) "
                "SELECT n.key, u.key, u.sessions, u.term, u.documents FROM namespaces n CROSS JOIN "
                "unnest(:keys::bigint[], :sessions::boolean[], :terms::text[], :documents::bigint[]) "
                "AS u(key, sessions, term, documents) WHERE n.key = :ns "
                "ON CONFLICT (namespace, key) DO UPDATE SET documents = t.documents + excluded.documents",
                keys=list(keys),
                sessions=list(sessions),
                terms=list(terms),
                documents=list(documents),
            )
            self._documents.clear()
        for of_sessions in (False, True):
            count, tokens = (self._corpora.pop((of_sessions, name), 0) for name in ("documents", "tokens"))
            if count or tokens:
                self._txn.run(
                    "INSERT INTO corpora (namespace, sessions, documents, tokens) "
                    "VALUES (:ns, :sessions, :count, :tokens) ON CONFLICT (namespace, sessions) DO UPDATE SET "
                    "documents = corpora.documents + excluded.documents, tokens = corpora.tokens + excluded.tokens",
                    sessions=of_sessions,
                    count=count,
                    tokens=tokens,
                )


def _array(numbers: Iterable[int]) -> str:
    """An array as text, which is faster to make than a list that is looked at number by number."""
    return f"{{{','.join(map(str, numbers))}}}"
