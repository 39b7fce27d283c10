"""The tables of a namespace as a copy describes them: whole, in an order that works, in every schema."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from fivefold.stores.postgres.store import PostgresStore
from fivefold.stores.sqlite.store import SqliteStore
from fivefold.stores.tables import MEMORIES, MEMORY_COLUMNS, TABLES, Family
from tests.support.postgres import Server

DERIVED = {
    "namespaces": {"key", "name", "next_key"},
    "vectors": {"id", "dimension"},
    "tokens": None,
    "removals": None,
    "removed_vectors": None,
    "code_blocks": None,
    "postings": None,
    "held": None,
    "documents": None,
    "terms": None,
    "corpora": None,
    "lexemes": None,
    "memory_labels": None,
    "rerankers": None,
    "fivefold_version": None,
    "sqlite_sequence": None,
    "checksums": None,
    "api_keys": None,
    "audit": None,
    "answers": None,
    "queue": None,
    "queue_lengths": None,
}
"""What a store makes of the rest, counts for itself, is copied in another way (token vectors go with the vectors they
belong to) or is of this store alone, such as keys.

None stands for all columns of a table.
"""


def described(columns: list[tuple[str, str]]) -> dict[str, set[str]]:
    """The columns of a schema by table, without what is derived."""
    found: dict[str, set[str]] = {}
    for table, column in columns:
        left_out = DERIVED.get(table, set())
        if left_out is not None and column not in left_out | {"namespace"}:
            found.setdefault(table, set()).add(column)
    return found


def test_every_column_of_every_schema_is_copied(postgres: Server, tmp_path: Path) -> None:
    copied = {table.name: {column.name for column in table.columns} for table in TABLES}
    with closing(SqliteStore(str(tmp_path / "new.db"))) as file, file.connections.reader() as connection:
        columns = connection.execute(
            "SELECT t.name, c.name FROM sqlite_master t JOIN pragma_table_info(t.name) c WHERE t.type = 'table'"
        ).fetchall()
    found = described([(str(table), str(column)) for table, column in columns])
    assert found == {**copied, "vectors": copied["vectors"] - {"embedding", "tokens"}}
    with closing(PostgresStore(postgres.new_location())) as store, store.administration() as server:
        rows = server.execute(
            "SELECT c.relname, a.attname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 "
            "WHERE c.relnamespace = $1::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition "
            "AND NOT a.attisdropped",
            [store.options.schema],
        ).fetchall()
    found = described([(table, column) for table, column in rows])
    assert found == {**copied, "vectors": copied["vectors"] - {"tokens"}}


def test_a_table_comes_after_those_it_refers_to_and_its_order_is_whole() -> None:
    home: dict[Family, str] = {"memory": "memories", "entity": "entities", "edge": "edges", "space": "spaces"}
    seen: set[str] = set()
    for table in TABLES:
        seen.add(table.name)
        assert {home[column.family] for column in table.columns if column.family} <= seen
        assert set(table.order) <= {column.name for column in table.columns}
    names = [column.name for column in MEMORIES.columns]
    assert names[: len(MEMORY_COLUMNS)] == MEMORY_COLUMNS


def test_keys_are_moved_and_nothing_else() -> None:
    table = next(table for table in TABLES if table.name == "slots")
    assert table.shift_keys(("I", "home", "7", 7, None), _by(100)) == ("I", "home", "7", 107, None)
    assert table.position(("I", "home", "7", 7, None)) == [7, "I", "home", "7"]
    edges = next(table for table in TABLES if table.name == "edges")
    row = (1, 2, 3, "knows", "semantic", -0.0, 1, None, None, 0)
    assert repr(edges.canonical(row, _by(0))) == repr((1, 2, 3, "knows", "semantic", 0.0, 1, None, None, 0))


def _by(memory: int) -> dict[Family, int]:
    return {"memory": memory, "entity": 0, "edge": 0, "space": 0}
