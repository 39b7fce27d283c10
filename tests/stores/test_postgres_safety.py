"""Row-level security: as the role that everything runs as, no statement crosses from one namespace to another."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest
from psycopg import sql

import fivefold
from fivefold.engine import Engine
from fivefold.service.idempotency import IdempotencyStore
from fivefold.service.keys import Keyring
from fivefold.stores.postgres.connection import connect
from fivefold.stores.postgres.dialect import Connection, namespace_key
from fivefold.stores.postgres.dsn import addresses
from fivefold.stores.postgres.schema import SHARED_TABLES
from fivefold.stores.postgres.store import PostgresStore, PostgresWriter
from fivefold.stores.records import QueueLength
from fivefold.values.entities import Mention
from fivefold.values.memory import Record
from fivefold.values.recall import Recall
from fivefold.values.times import utc_now
from fivefold.values.vectors import PassageVectors
from fivefold.writing.queue_entries import entries_of
from tests.conformance.store_pair import opened
from tests.conformance.strategies import SENTENCES
from tests.conformance.vectors import WordVectors
from tests.stores.test_postgres_trips import METHODS
from tests.support.postgres import Server

pytestmark = pytest.mark.postgres

OWN, OTHER = namespace_key("own"), namespace_key("other")


@dataclass(frozen=True)
class Relation:
    """A table or view of the schema that holds rows of namespaces."""

    name: str
    kind: str
    column: str
    partition: bool


class Attack:
    """The store with two namespaces, and a connection that may act as the role and nothing more."""

    def __init__(self, location: str) -> None:
        self.location = location
        self.store = PostgresStore(location)
        self.schema = self.store.options.schema
        for name in ("own", "other"):
            fill(opened(self.store, name))
        self.relations = self._relations()

    def owner(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        with self.store.administration() as connection:
            return connection.execute(query.encode(), values).fetchall()

    def as_role(self) -> Connection:
        return connect(addresses(self.location).primary, self.location, self.store.options, as_role=True)

    def _relations(self) -> list[Relation]:
        """All of the catalogue, not of a list: a table that is added later is attacked too."""
        found = self.owner(
            "SELECT c.relname, c.relkind::text, a.attname, c.relispartition FROM pg_class c "
            "JOIN pg_attribute a ON a.attrelid = c.oid WHERE c.relnamespace = $1::regnamespace AND c.relkind IN "
            "('r', 'p', 'v', 'm', 'f') AND a.attname = CASE c.relname WHEN 'namespaces' THEN 'key' ELSE 'namespace' END"
            " AND NOT c.relname = ANY($2) ORDER BY 1",
            self.schema,
            list(SHARED_TABLES),
        )
        return [Relation(*columns) for columns in found]


def fill(engine: Engine) -> None:
    """Something in every table."""
    with engine.store.write(engine.namespace) as txn:
        txn.vectors.pin(WordVectors().pin, WordVectors().dimension, tokens=True)
    turns = [{"content": text, "session_id": f"s{i % 3}", "tags": ["a"]} for i, text in enumerate(SENTENCES)]
    engine.remember_many(turns)
    engine.remember_many(SENTENCES[:20])
    recall: Recall = engine.recall("who does Sarah report to?")
    engine.feedback(recall, used=[recall.hits[0].memory.id])
    engine.remember("a slip of the tongue", id="slip")
    engine.forget("slip")
    with engine.store.write(engine.namespace) as txn:
        vectors = WordVectors().embed(SENTENCES[:2])
        for memory, _ in txn.vectors.missing("active", 1_000):
            passages = [PassageVectors(b"secret", vector) for vector in vectors]
            txn.vectors.put(memory, {"full": vectors[0]}, "active", passages)
    engine.check_drift()
    engine.configure(widen_below=2, quarantine="origin:tool")
    engine.remember("a page says that the office moves", origin="tool")
    assert isinstance(engine.store, PostgresStore)
    engine.store.save_model(engine.namespace, b"a reranker")
    answers = IdempotencyStore(engine.store)
    answers.begin(engine.namespace, "POST /v1", "once", b"digest")
    answers.close()
    entries = entries_of([Record(content=SENTENCES[0])], "write", None, utc_now())
    engine.store.queue.add(engine.namespace, "write", entries, QueueLength(engine.namespace, 9, 9_999))


@pytest.fixture(scope="module")
def attack(postgres: Server) -> Iterator[Attack]:
    made = Attack(postgres.new_location())
    yield made
    made.store.close()


@pytest.fixture
def role(attack: Attack) -> Iterator[Connection]:
    """A transaction as the role, of the namespace `own`."""
    with attack.as_role() as connection:
        connection.execute("BEGIN")
        connection.execute(f"SET LOCAL fivefold.namespace = '{OWN}'".encode())
        yield connection
        connection.execute("ROLLBACK")


def tried(connection: Connection, query: str, relation: Relation, *values: Any) -> int | list[tuple[Any, ...]] | str:
    """What a statement gives or how many rows it touches, or why it may not; {t} is the table, {n} its namespace."""
    text = sql.SQL(query).format(t=sql.Identifier(relation.name), n=sql.Identifier(relation.column))
    connection.execute("SAVEPOINT before")
    try:
        cursor = connection.execute(text, values)
        return cursor.fetchall() if cursor.description else cursor.rowcount
    except psycopg.Error as error:
        connection.execute("ROLLBACK TO SAVEPOINT before")
        return type(error).__name__


REFUSED = "InsufficientPrivilege"
VERSION = Relation("fivefold_version", "r", "version", False)
"""The only table without a namespace; the role may read it."""


def test_every_table_holds_rows_of_both(attack: Attack) -> None:
    """Otherwise the tests below would prove little."""
    assert len(attack.relations) > 20
    for relation in attack.relations:
        if relation.partition:
            continue
        column = relation.column
        (counted,) = attack.owner(
            f"SELECT count(*) FILTER (WHERE {column} = {OWN}), count(*) FILTER (WHERE {column} = {OTHER}) "
            f"FROM {'documents' if relation.name == 'lexicon' else relation.name}"
        )
        assert min(counted) > 0, relation.name


def test_reading_sees_one_namespace(attack: Attack, role: Connection) -> None:
    for relation in attack.relations:
        own = tried(role, "SELECT DISTINCT {n} FROM {t}", relation)
        assert own == (REFUSED if relation.partition else [(OWN,)]), relation
        other = tried(role, "SELECT * FROM {t} WHERE {n} = $1", relation, OTHER)
        assert other == (REFUSED if relation.partition else []), relation


def test_writing_reaches_one_namespace(attack: Attack, role: Connection) -> None:
    for relation in attack.relations:
        out = REFUSED if relation.partition or relation.kind == "v" else 0
        assert tried(role, "UPDATE {t} SET {n} = {n} WHERE {n} = $1", relation, OTHER) == out, relation
        assert tried(role, "DELETE FROM {t} WHERE {n} = $1", relation, OTHER) == out, relation
        assert tried(role, "UPDATE {t} SET {n} = $1", relation, OTHER) == REFUSED, relation
        assert tried(role, "TRUNCATE {t} CASCADE", relation) == (REFUSED if relation.kind != "v" else "WrongObjectType")


def test_no_row_can_be_put_into_another_namespace(attack: Attack, role: Connection) -> None:
    """A row of theirs, offered again: the policy says no before any key does."""
    for relation in attack.relations:
        name = "documents" if relation.name == "lexicon" else relation.name
        rows = attack.owner(f"SELECT row_to_json(t)::text FROM {name} t WHERE {relation.column} = {OTHER} LIMIT 1")
        insert = "INSERT INTO {t} SELECT (jsonb_populate_record(NULL::{t}, $1::jsonb)).*"
        assert all(tried(role, insert, relation, row) == REFUSED for (row,) in rows), relation


@pytest.mark.parametrize("named", [None, "", "0", "7", str(OWN + 1)])
def test_without_the_right_name_nothing_is_seen(attack: Attack, named: str | None) -> None:
    with attack.as_role() as connection:
        connection.execute("BEGIN")
        if named is not None:
            connection.execute(f"SET LOCAL fivefold.namespace = '{named}'".encode())
        for relation in attack.relations:
            found = tried(connection, "SELECT count(*) FROM {t}", relation)
            if (relation.name, named) == ("queue_lengths", "0"):
                assert found == [(2,)]  # how much waits, by which a server finds what it is to store
                continue
            assert found == (REFUSED if relation.partition else [(0,)]), relation
            if not relation.partition and relation.kind != "v":
                assert tried(connection, "DELETE FROM {t}", relation) == 0, relation
        connection.execute("ROLLBACK")


def test_a_name_that_is_no_number_is_an_error(attack: Attack) -> None:
    with attack.as_role() as connection:
        connection.execute("SET fivefold.namespace = 'own'")
        for relation in attack.relations:
            if not relation.partition:
                with pytest.raises(psycopg.errors.InvalidTextRepresentation):
                    connection.execute(f"SELECT * FROM {relation.name}".encode())


def test_the_setting_ends_with_its_transaction(attack: Attack) -> None:
    engine = opened(attack.store, "own")
    assert engine.recall("tea").hits
    assert attack.store._primary.rows(0, "SELECT count(*) FROM memories", ()) == [(0,)]


@pytest.mark.parametrize("method", METHODS)
def test_a_reader_that_asks_for_another_namespace_gets_nothing(
    attack: Attack, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The statements name `other`, by mistake, in a transaction of `own`."""
    acting_as: dict[str, int] = {}
    asked = attack.store.ask

    def ask(key: int, *rest: Any) -> list[tuple[Any, ...]]:
        return asked(acting_as.get("key", key), *rest)

    monkeypatch.setattr(attack.store, "ask", ask)
    reader = attack.store.reader("other")
    space = reader.search.vector_space()
    assert space is not None
    acting_as["key"] = OWN
    assert not _rows(METHODS[method](reader, space))


def _rows(answer: Any) -> bool:
    if isinstance(answer, list):
        return any(_rows(part) if isinstance(part, list) else True for part in answer)
    return answer.size > 0 if hasattr(answer, "size") else bool(answer)


CHANGES: tuple[Callable[[PostgresWriter], object], ...] = (
    lambda txn: txn.admin.save_learned_value("x", {}),
    lambda txn: txn.entities.add(Mention("Eve", "name")),
    lambda txn: txn.sessions.log_turn("new", utc_now()),
    lambda txn: txn.vectors.open_space("x@1", 3, "building"),
)


def written_elsewhere(store: PostgresStore, change: Callable[[PostgresWriter], object]) -> None:
    """A transaction of `own` whose statements name `other`, by mistake."""
    with store.write("own") as txn:
        txn._txn.key = OTHER
        change(txn)


def test_a_writer_that_names_another_namespace_is_stopped(attack: Attack) -> None:
    before = attack.owner("SELECT (SELECT count(*) FROM memories), (SELECT count(*) FROM terms)")
    for change in CHANGES:
        with pytest.raises(fivefold.StoreError, match="row-level security"):
            written_elsewhere(attack.store, change)
    written_elsewhere(attack.store, lambda txn: txn.index.lexemes.clear())
    assert attack.owner("SELECT (SELECT count(*) FROM memories), (SELECT count(*) FROM terms)") == before
    assert all(finding.ok for finding in opened(attack.store, "other").doctor())


# keys and notes, which are of no namespace


KEYS, NOTES = (Relation(name, "r", "namespace", False) for name in SHARED_TABLES)


@pytest.fixture(scope="module")
def kept(attack: Attack) -> Attack:
    """With a key, and the note that one was made."""
    Keyring(attack.store).create("ours", "admin", ["own"])
    return attack


@pytest.mark.parametrize("named", [None, "", "7", str(OWN)])
def test_who_has_named_a_namespace_sees_no_key_and_no_note(kept: Attack, named: str | None) -> None:
    with kept.as_role() as connection:
        connection.execute("BEGIN")
        if named is not None:
            connection.execute(f"SET LOCAL fivefold.namespace = '{named}'".encode())
        for relation in (KEYS, NOTES):
            assert kept.owner(f"SELECT count(*) FROM {relation.name}") == [(1,)]
            assert tried(connection, "SELECT count(*) FROM {t}", relation) == [(0,)]
        assert tried(connection, "UPDATE {t} SET revoked_at = 0", KEYS) == 0
        assert tried(connection, "DELETE FROM {t}", NOTES) == 0
        noted = "INSERT INTO {t} (at, action, outcome) VALUES (0, 'x', 'ok')"
        assert tried(connection, noted, NOTES) == REFUSED
        connection.execute("ROLLBACK")


def test_the_role_rewrites_no_note_and_deletes_no_key(kept: Attack) -> None:
    with kept.as_role() as connection:
        connection.execute("BEGIN")
        connection.execute("SET LOCAL fivefold.namespace = '0'")
        assert tried(connection, "SELECT count(*) FROM {t}", NOTES) == [(1,)]
        assert tried(connection, "UPDATE {t} SET outcome = 'refused'", NOTES) == REFUSED
        assert tried(connection, "TRUNCATE {t}", NOTES) == REFUSED
        assert tried(connection, "DELETE FROM {t}", KEYS) == REFUSED
        connection.execute("ROLLBACK")


# the role


def test_the_role_has_no_rights_beyond_its_tables(attack: Attack) -> None:
    rights = attack.owner(
        "SELECT rolsuper, rolbypassrls, rolcreaterole, rolcreatedb, rolcanlogin, rolreplication FROM pg_roles "
        "WHERE rolname = $1",
        attack.store.options.role,
    )
    assert rights == [(False,) * 6]
    owned = "SELECT count(*) FROM pg_class c JOIN pg_roles r ON r.oid = c.relowner WHERE r.rolname = $1"
    assert attack.owner(owned, attack.store.options.role) == [(0,)]
    assert attack.owner("SELECT pg_has_role($1, current_user, 'MEMBER')", attack.store.options.role) == [(False,)]


def test_every_table_has_its_policy_or_is_closed(attack: Attack) -> None:
    guarded = attack.owner(
        "SELECT c.relname, c.relrowsecurity AND EXISTS (SELECT 1 FROM pg_policy p WHERE p.polrelid = c.oid), "
        "has_table_privilege($2, c.oid, 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE') FROM pg_class c "
        "WHERE c.relnamespace = $1::regnamespace AND c.relkind IN ('r', 'p')",
        attack.schema,
        attack.store.options.role,
    )
    names = {relation.name for relation in attack.relations}
    assert [name for name, policy, open in guarded if name in {*names, *SHARED_TABLES} and open and not policy] == []
    assert [name for name, _, open in guarded if name not in {*names, *SHARED_TABLES} and open] == [VERSION.name]


def test_the_role_changes_nothing_of_the_schema(attack: Attack, role: Connection) -> None:
    for relation in attack.relations:
        if relation.kind in ("r", "p"):
            assert tried(role, "ALTER TABLE {t} DISABLE ROW LEVEL SECURITY", relation) == REFUSED
            assert tried(role, "DROP TABLE {t} CASCADE", relation) == REFUSED
            assert tried(role, "CREATE POLICY open ON {t} USING (true)", relation) == REFUSED
    assert tried(role, "UPDATE {t} SET {n} = 99", VERSION) == REFUSED
    assert tried(role, "DELETE FROM {t}", VERSION) == REFUSED


def test_the_policies_cannot_be_left_out(attack: Attack, role: Connection) -> None:
    role.execute("SET LOCAL row_security = off")
    tables = [relation for relation in attack.relations if relation.kind != "v"]
    assert {tried(role, "SELECT * FROM {t}", relation) for relation in tables} == {REFUSED}


def test_the_planners_statistics_tell_the_role_nothing(attack: Attack, role: Connection) -> None:
    with attack.store.administration() as connection:
        connection.execute("ANALYZE")
    told = role.execute("SELECT DISTINCT tablename FROM pg_stats WHERE schemaname = $1", [attack.schema]).fetchall()
    assert told == [(VERSION.name,)]
