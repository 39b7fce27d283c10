"""Opening a PostgreSQL store: new schemas, old ones, those of others."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator

import pytest

import fivefold
from fivefold.stores import open_store
from fivefold.stores.postgres import schema
from tests.conformance.passages import Stored, all_tokens, entry_of
from tests.conformance.times import TIMES
from tests.conformance.times import Stored as StoredTimes
from tests.support.own_database import OwnDatabase, opened
from tests.support.postgres import Server

pytestmark = pytest.mark.postgres

KNOWN = schema.migrations()
NEXT = (KNOWN[-1][0] + 1, "ALTER TABLE memories ADD COLUMN flavour text; CREATE TABLE flavours (name text);")


@pytest.fixture
def database(postgres: Server) -> Iterator[OwnDatabase]:
    made = OwnDatabase(postgres)
    yield made
    made.close()


def at_once(*locations: str) -> list[str]:
    """Open them all at the same moment; gives what went wrong."""
    wrong: list[str] = []
    ready = threading.Barrier(len(locations))

    def begin(location: str) -> None:
        ready.wait()
        try:
            open_store(location).close()
        except Exception as error:
            wrong.append(f"{type(error).__name__}: {error}")

    threads = [threading.Thread(target=begin, args=(location,)) for location in locations]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return wrong


# new schemas


def test_each_migration_has_a_number_of_its_own() -> None:
    assert [number for number, _ in KNOWN] == list(range(1, len(KNOWN) + 1))


def test_many_processes_may_open_a_new_schema_at_once(postgres: Server) -> None:
    location = postgres.new_location()
    child = textwrap.dedent(f"""
        import os, sys
        from tests.support.own_database import opened
        sys.stdin.readline()
        with opened({location!r}) as engine:
            engine.remember(f"process {{os.getpid()}} was here")
    """)
    children = [
        subprocess.Popen([sys.executable, "-c", child], stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    errors = [process.communicate("go\n")[1] for process in children]
    assert [process.returncode for process in children] == [0] * 3, errors
    with opened(location) as engine:
        assert engine.stats().memories == 3
        assert all(finding.ok for finding in engine.doctor())


def test_many_schemas_of_a_new_database_may_be_opened_at_once(database: OwnDatabase) -> None:
    """The extension and the role are common to all of them."""
    role = database.new_role()
    assert at_once(*(database.dsn(schema=f"s{number}", role=role) for number in range(6))) == []


def test_two_schemas_are_two_stores(postgres: Server) -> None:
    with opened(postgres.new_location()) as one, opened(postgres.new_location()) as other:
        one.remember("Sarah drinks tea")
        assert other.store.namespaces() == ()
        assert other.stats().memories == 0
        assert one.store.namespaces() == ("default",)


def test_a_schema_made_beforehand_is_taken_and_leaves_room_for_others(database: OwnDatabase) -> None:
    database.run("CREATE SCHEMA first")
    for name in ("first", "second"):
        with opened(database.dsn(schema=name)) as engine:
            assert engine.remember("tea").stored


def test_pgvector_may_lie_in_any_schema(database: OwnDatabase) -> None:
    database.run('CREATE SCHEMA "My Types"', 'CREATE EXTENSION vector SCHEMA "My Types"')
    with opened(database.dsn()) as engine:
        engine.remember("Sarah drinks tea")
        assert engine.recall("tea", recipe="dense").hits


@pytest.mark.parametrize("name", ["user", "select", "table"])
def test_a_word_of_sql_is_no_name(database: OwnDatabase, name: str) -> None:
    for option in ("schema", "role"):
        with pytest.raises(fivefold.FivefoldError, match="word of SQL; choose another"):
            open_store(database.dsn(**{option: name}))


def test_a_database_that_cannot_hold_every_text_is_refused(postgres: Server, database: OwnDatabase) -> None:
    name = f"{database.database}_latin"
    database.run(f"CREATE DATABASE {name} ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
    try:
        with pytest.raises(fivefold.StoreError, match="encoding LATIN1; create one with ENCODING 'UTF8'"):
            open_store(postgres.dsn(name))
    finally:
        database.run(f"DROP DATABASE {name} WITH (FORCE)")


# schemas of others, newer ones, older ones


@pytest.mark.parametrize(
    "table",
    ["accounts (id integer)", "schema_version (version text)", "schema_version (version integer)", "namespaces (id)"],
)
def test_another_programs_schema_is_refused_and_untouched(database: OwnDatabase, table: str) -> None:
    database.run("CREATE SCHEMA fivefold", f"CREATE TABLE fivefold.{table.replace('(id)', '(id integer)')}")
    with pytest.raises(fivefold.StoreError, match=r"another program's tables; choose another with \?schema="):
        open_store(database.dsn())
    assert database.value("SELECT count(*) FROM pg_class WHERE relnamespace = 'fivefold'::regnamespace") == 1
    open_store(database.dsn(schema="beside")).close()


def test_a_newer_schema_is_refused(database: OwnDatabase) -> None:
    opened(database.dsn()).close()
    database.run("UPDATE fivefold.fivefold_version SET version = 99")
    with pytest.raises(fivefold.NewerSchema, match=r"version 99.*upgrade fivefold"):
        open_store(database.dsn())


def test_an_older_schema_is_migrated_once_by_many(database: OwnDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(database.dsn()) as engine:
        engine.remember("Sarah drinks tea")
    monkeypatch.setattr(schema, "migrations", lambda: (*KNOWN, NEXT))
    assert at_once(*[database.dsn()] * 6) == []
    assert database.value("SELECT version FROM fivefold.fivefold_version") == NEXT[0]
    with opened(database.dsn()) as engine:
        assert engine.recall("tea").hits[0].memory.content == "Sarah drinks tea"
    monkeypatch.undo()
    with pytest.raises(fivefold.NewerSchema, match=f"version {NEXT[0]}"):
        open_store(database.dsn())


WITHOUT_LIFE = (
    "ALTER TABLE memories DROP COLUMN expires_at, DROP COLUMN pinned, DROP COLUMN origin, DROP COLUMN echo_count; "
    "DROP INDEX memory_links_relation; DROP TABLE queue, queue_lengths, forgotten, quarantine, facts; "
    "DROP INDEX memories_until"
)
WITHOUT_LABELS = f"{WITHOUT_LIFE}; DROP TABLE memory_labels; DROP INDEX memories_speaker; DROP INDEX memories_written"
WITHOUT_TIMES = (
    f"{WITHOUT_LABELS}; DROP TABLE memory_times; DROP INDEX memories_said; ALTER TABLE memory_links DROP COLUMN chance"
)


def test_a_schema_without_named_times_gets_those_of_its_memories(database: OwnDatabase) -> None:
    with opened(database.dsn()) as engine:
        stored = StoredTimes(engine.store, TIMES)
        before = stored.named()
    database.run(
        "SET search_path = fivefold, public",
        WITHOUT_TIMES,
        "ALTER TABLE memory_links DROP CONSTRAINT memory_links_relation_check",
        "ALTER TABLE memory_links ADD CHECK (relation IN ('equal', 'supersedes'))",
        "UPDATE fivefold_version SET version = 4",
    )
    with opened(database.dsn(), stored.name) as engine:
        reader = engine.store.reader(stored.name)
        assert reader.memories.named_times(list(stored.rows.values())) == {
            stored.rows[id]: times for id, times in before.items()
        }
        assert all(finding.ok for finding in engine.doctor())
        with engine.store.write(stored.name) as txn:
            txn.memories.link(stored.rows["none"], stored.rows["one"], "likely", "the same attribute", 0.25)
        assert engine.history("one").links[0].chance == 0.25


def test_a_schema_without_labels_gets_those_of_its_memories(database: OwnDatabase) -> None:
    with opened(database.dsn()) as engine:
        engine.remember("tea at four", tags=["a,b"], metadata={"order": {"total": 9.5}, "odd": "x\x00y"})
        engine.remember("tea at five")
    database.run("SET search_path = fivefold, public", WITHOUT_LABELS, "UPDATE fivefold_version SET version = 5")
    with opened(database.dsn()) as engine:
        for keep in ('tag:"a,b"', "meta.order.total>9"):
            assert [memory.content for memory in engine.memories(filter=keep)] == ["tea at four"]
        assert all(finding.ok for finding in engine.doctor())


def test_a_schema_without_origins_gets_those_of_its_speakers(database: OwnDatabase) -> None:
    with opened(database.dsn()) as engine:
        engine.remember("tea at four", id="person", speaker="Ann")
        engine.remember("tea at five", id="reply", speaker="Assistant", session_id="s")
    database.run("SET search_path = fivefold, public", WITHOUT_LIFE, "UPDATE fivefold_version SET version = 6")
    with opened(database.dsn()) as engine:
        assert [engine.get(id).origin for id in ("person", "reply")] == ["user", "assistant"]
        assert [memory.origin for memory in engine.memories(kind="session")] == [None]
        assert engine.pin("reply").pinned
        assert all(finding.ok for finding in engine.doctor())


def test_a_schema_without_passages_gets_room_for_them_and_answers_as_before(database: OwnDatabase) -> None:
    with opened(database.dsn()) as engine:
        engine.remember_many([f"Sarah drinks tea number {number}" for number in range(30)])
        before = [(hit.memory.id, hit.score) for hit in engine.recall("tea number 7", recipe="dense")]
    database.run(
        "SET search_path = fivefold, public",
        "DROP TABLE tokens; DROP TABLE vectors_passage; ALTER TABLE spaces DROP COLUMN tokens",
        "ALTER TABLE vectors DROP COLUMN part; ALTER TABLE vectors ADD PRIMARY KEY (namespace, space, field, memory)",
        WITHOUT_TIMES,
        "UPDATE fivefold_version SET version = 3",
    )
    with opened(database.dsn()) as engine:
        assert [(hit.memory.id, hit.score) for hit in engine.recall("tea number 7", recipe="dense")] == before
        assert all(finding.ok for finding in engine.doctor())
        space = engine.store.reader(engine.namespace).search.vector_space()
        assert space is not None
        assert not space.tokens
        stored = Stored(engine.store)
        assert stored.tokens() == all_tokens()
        assert stored.nearest("the mast of the boat", 1) == [("long", 1)]


def test_passages_and_token_vectors_that_are_lost_are_found_and_read_again(database: OwnDatabase) -> None:
    with opened(database.dsn()) as engine:
        stored = Stored(engine.store)
        database.run(
            "SET search_path = fivefold, public",
            "DELETE FROM vectors WHERE part = 29",
            "DELETE FROM tokens WHERE part = 1 AND octet_length(tokens) < 2000",
            "UPDATE tokens SET memory = 999 WHERE octet_length(tokens) = 0",
        )
        found = {name: finding.detail for name, finding in stored.findings().items() if not finding.ok}
        assert found == {
            "vectors": "0 memories have none, 1 are lost",
            "passages": "2 memories disagree with their passages",
            "token vectors": "1 memories have none, 2 belong to no memory",
        }
        with engine.store.write(stored.name) as txn:
            txn.index.clear()
            lost = txn.vectors.missing("active", 9)
            assert [memory.id for memory, _ in lost] == ["long", "empty", "longer"]
            for memory, _ in lost:
                entry = entry_of(memory.id, stored.name)
                txn.vectors.put(memory, entry.vectors, "active", entry.passages)
        assert stored.tokens() == all_tokens()
        assert all(finding.ok for name, finding in stored.findings().items() if "lexical" not in name)


def test_a_migration_that_fails_says_why_and_changes_nothing(
    database: OwnDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened(database.dsn()).close()
    broken = (NEXT[0] + 1, "ALTER TABLE memories ADD COLUMN smell text; ALTER TABLE nowhere ADD COLUMN x text")
    monkeypatch.setattr(schema, "migrations", lambda: (*KNOWN, NEXT, broken))
    with pytest.raises(fivefold.StoreError, match='relation "nowhere" does not exist'):
        open_store(database.dsn())
    assert database.value("SELECT version FROM fivefold.fivefold_version") == KNOWN[-1][0]
    assert database.value("SELECT count(*) FROM pg_attribute WHERE attname IN ('flavour', 'smell')") == 0
    monkeypatch.undo()
    opened(database.dsn()).close()


def test_what_cannot_be_opened_says_why_at_once(database: OwnDatabase) -> None:
    missing = database.dsn().replace(database.database, "no_such_database")
    with pytest.raises(fivefold.StoreError, match='database "no_such_database" does not exist'):
        open_store(missing)
    with pytest.raises(fivefold.StoreError, match="no_such_user"):
        open_store(database.dsn("no_such_user"))


def test_a_closed_store_says_so(postgres: Server) -> None:
    engine = opened(postgres.new_location())
    engine.remember("tea")
    engine.close()
    engine.close()
    for use in (lambda: engine.recall("tea"), lambda: engine.remember("milk"), engine.stats):
        with pytest.raises(fivefold.StoreClosed, match="closed; open the store again"):
            use()


def test_connections_end_with_the_store(database: OwnDatabase) -> None:
    own = (
        f"SELECT count(*) FROM pg_stat_activity WHERE datname = '{database.database}' AND application_name = 'fivefold'"
    )
    with opened(database.dsn()) as engine:
        engine.remember("tea")
        engine.recall("tea")
        assert database.value(own) > 0
    until = time.monotonic() + 10
    while database.value(own) and time.monotonic() < until:
        time.sleep(0.01)
    assert database.value(own) == 0
