"""A store on a Citus cluster: distributed with what it holds, every recall on one shard, nothing seen across."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Any

import pytest

from fivefold import sample
from fivefold.engine import Engine
from fivefold.errors import StoreError
from fivefold.service.audit import Audit
from fivefold.service.idempotency import IdempotencyStore, PendingRequest, StoredResponse
from fivefold.service.keys import Keyring
from fivefold.service.maintenance import maintain
from fivefold.stores.postgres import citus
from fivefold.stores.postgres.dialect import ask, namespace_key
from fivefold.stores.postgres.schema import SHARED_TABLES, TABLES
from fivefold.stores.postgres.status import status_of
from fivefold.stores.postgres.store import PostgresStore
from fivefold.values.recall import Recall
from fivefold.values.times import utc_now
from tests.conformance.recipes import steady_recipes
from tests.conformance.vectors import WordVectors
from tests.support.cluster import CITUS, SHARDS, cluster, distributed, on_one_shard, opened, store_of
from tests.support.postgres import Server

__all__ = ["cluster"]

pytestmark = [pytest.mark.postgres, pytest.mark.skipif(not os.environ.get(CITUS), reason=f"{CITUS} names no cluster")]

NAMES = ("one", "other", "third", "fourth", "fifth")
ASKED = [question.query for question in sample.questions()][::9]
NOW = "2026-01-01T12:00:00Z"


@pytest.fixture(scope="module")
def place(cluster: Server) -> str:
    """The sample in each of several namespaces, written before the store was distributed."""
    location = cluster.new_location()
    for name in NAMES:
        engine = opened(location, name)
        engine.remember_many([{**memory, "id": f"{name}-{memory['id']}"} for memory in told()])
        engine.close()
    return location


@pytest.fixture(scope="module")
def before(place: str) -> list[list[tuple[str, float]]]:
    """What every recipe answers while all lies on the coordinator."""
    engine = opened(place, "other")
    try:
        return answers(engine)
    finally:
        engine.close()


@pytest.fixture(scope="module")
def spread(place: str, before: object) -> str:
    """The same, distributed."""
    made = distributed(place)
    assert (made.shards, made.tables) == (SHARDS, ("namespaces", *TABLES))
    return place


@pytest.fixture
def engine(spread: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    """One that can ask no more than one shard."""
    on_one_shard(monkeypatch)
    with opened(spread, "other") as made:
        yield made


def told() -> list[dict[str, Any]]:
    return [dict(memory) for memory in sample.memories()][:120]


def answers(engine: Engine) -> list[list[tuple[str, float]]]:
    return [hits(engine.recall(text, recipe=recipe, now=NOW)) for text in ASKED for recipe in steady_recipes()]


def hits(answer: Recall) -> list[tuple[str, float]]:
    assert not [run for run in answer.routes if run.status == "failed"], answer.routes
    return [(hit.memory.id, hit.score) for hit in answer]


def test_nothing_changes_by_being_distributed(engine: Engine, before: list[list[tuple[str, float]]]) -> None:
    for found, expected in zip(answers(engine), before, strict=True):
        assert [id for id, _ in found] == [id for id, _ in expected]
        assert [score for _, score in found] == pytest.approx([score for _, score in expected], abs=1e-6)
    assert all(finding.ok for finding in engine.doctor())
    assert engine.store.namespaces() == tuple(sorted(NAMES))


def test_all_tables_lie_together_and_none_on_the_coordinator(spread: str) -> None:
    with opened(spread, "one") as engine, store_of(engine).administration() as connection:
        schema = store_of(engine).options.schema
        groups = ask(
            connection,
            "SELECT DISTINCT colocation_id, shard_count FROM citus_tables WHERE table_name IN "
            "(SELECT oid FROM pg_class WHERE relnamespace = ?::regnamespace)",
            (schema,),
        )
        assert [count for _, count in groups] == [SHARDS]
        for table in ("namespaces", "memories", "vectors_full", "documents"):
            assert ask(connection, f"SELECT pg_relation_size('{table}')") == [(0,)]


def test_a_second_time_changes_nothing(spread: str) -> None:
    assert distributed(spread, shards=8) == citus.Distribution(SHARDS, ())


def test_every_statement_of_every_recall_asks_one_shard(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the plan of each statement tells."""
    store, sent = store_of(engine), []
    plain = store.ask

    def noted(key: int, sql: str, values: Any, first: Sequence[str] = (), binary: bool = False) -> list[Any]:
        sent.append((key, sql, values, first))
        return plain(key, sql, values, first, binary)

    monkeypatch.setattr(store, "ask", noted)
    for recipe in steady_recipes():
        for text in ASKED[:4]:
            engine.recall(text, recipe=recipe, now=NOW)
    statements = {sql: (key, sql, values, first) for key, sql, values, first in sent}
    assert len(statements) > 20
    for key, sql, values, first in statements.values():
        (((plan,),),) = plain(key, f"EXPLAIN (FORMAT JSON) {sql}", values, first)
        assert plan["Plan"].get("Custom Plan Provider") == "Citus Adaptive", sql
        assert plan["Plan"]["Distributed Query"]["Job"]["Task Count"] == 1, sql
        assert "Subplans" not in plan["Plan"]["Distributed Query"], sql


def test_the_guard_against_several_shards_works(engine: Engine) -> None:
    with pytest.raises(StoreError, match="multi-task query"):
        store_of(engine).ask(0, "SELECT count(*) FROM memories", ())


def test_writing_and_care_ask_one_shard_too(spread: str, monkeypatch: pytest.MonkeyPatch) -> None:
    on_one_shard(monkeypatch)
    with opened(spread, "written") as engine:
        for round in range(8):  # plans are kept from the sixth time on
            memories = [
                {**memory, "id": f"{round}-{memory['id']}", "content": f"{memory['content']} ({round})"}
                for memory in told()[:6]
            ]
            engine.remember_many([*memories, {"content": f"I live in town {round}", "id": f"home{round}"}])
            engine.update(f"{round}-s01.01", content=f"Sarah met Anna in Paris {round}")
            engine.supersede(f"{round}-s01.02", f"Tom {round} lives in Rome now")
            engine.reinstate(f"{round}-s01.02")
            answer = engine.recall("where does Tom live?")
            engine.feedback(answer, used=[answer[0].memory.id])
            engine.graph.relate("Sarah", "owns", "Rome")
            engine.forget(f"{round}-s01.03")
        engine.graph.merge("Paris", "Rome")
        engine.configure(recent_days=3)
        assert engine.check_drift().lexemes > 0
        assert all(finding.ok for finding in engine.doctor(repair=True))
        engine.reembed(WordVectors(48))
        assert engine.forget_session("s01") > 0
        assert (engine.stats().bytes_on_disk or 0) > 1_000_000
        assert [item.ok for item in engine.doctor()] == [True] * len(engine.doctor())


def test_nothing_is_seen_across_namespaces(engine: Engine) -> None:
    store, here, there = store_of(engine), namespace_key("other"), namespace_key("one")
    for table in TABLES:
        assert store.ask(here, f"SELECT 1 FROM {table} WHERE namespace = ? LIMIT 1", (there,)) == []
    assert store.ask(here, "SELECT name FROM namespaces WHERE key = ?", (there,)) == []
    assert store.ask(here, "SELECT 1 FROM lexicon WHERE namespace = ?", (there,)) == []


def test_keys_and_notes_stay_on_the_coordinator_and_answers_go_with_their_namespace(engine: Engine) -> None:
    store = store_of(engine)
    with closing(IdempotencyStore(store)) as kept, closing(Audit(store)) as audit:
        key, secret = Keyring(store).create("the bot", "writer", ["other"])
        begun = kept.begin("other", "POST", "once", b"digest")
        assert isinstance(begun, PendingRequest)
        kept.finish(begun, StoredResponse(201, '{"id": "told"}'))
        audit.note(Keyring(store).caller(secret), "remember", "other", "told")
        assert [entry.key_id for entry in audit.entries()] == [key.id, None]
        assert kept.begin("other", "POST", "once", b"digest") == StoredResponse(201, '{"id": "told"}')
        engine.remember("Told only once", id="told")
        engine.forget("told")
        assert kept.begin("other", "POST", "once", b"digest") == StoredResponse(201, None)
    sql = "SELECT count(*) FROM pg_dist_partition WHERE logicalrelid = ?::regclass"
    with store.administration() as connection:
        spread = {table: ask(connection, sql, (table,))[0][0] for table in ("answers", *SHARED_TABLES)}
    assert spread == {"answers": 1, "api_keys": 0, "audit": 0}


def test_nothing_is_written_across_namespaces(engine: Engine) -> None:
    put = "INSERT INTO sessions (namespace, id, started_at, ended_at, turns) VALUES ($1, 'x', 0, 0, 0)"
    here, there = namespace_key("other"), namespace_key("one")
    with (
        pytest.raises(StoreError, match="row-level security"),
        store_of(engine)._primary.transaction(here) as connection,
    ):
        connection.execute(put, [there])


def test_without_a_filter_only_the_own_rows_come(spread: str) -> None:
    store = PostgresStore(spread)
    try:
        for table in ("memories", "vectors", "documents", "lexicon", "terms", "recalls"):
            found = store.ask(namespace_key("one"), f"SELECT DISTINCT namespace FROM {table}", ())
            assert found in ([(namespace_key("one"),)], [])
        assert store.ask(namespace_key("one"), "SELECT name FROM namespaces", ()) == [("one",)]
        assert store.ask(0, "SELECT count(*) FROM memories", ()) == [(0,)]
    finally:
        store.close()


def test_the_lexical_index_serves_behind_the_policy(spread: str) -> None:
    """On the shard the role is bound by the policy, behind which only what is leakproof may use an index."""
    with opened(spread, "wordy") as engine:
        engine.configure(recent_days=3)
        store, key = store_of(engine), namespace_key("wordy")
        with store.administration() as connection:
            connection.execute(
                "INSERT INTO documents (namespace, memory, sessions, type, length, keys, counts) "
                "SELECT n.key, g, false, 0, 2, ARRAY[g, g + 100000]::bigint[], ARRAY[1, 1] FROM namespaces n "
                f"CROSS JOIN generate_series(1, 3000) AS g WHERE n.key = {key}"
            )
            connection.execute("ANALYZE documents")
        wanted = "SELECT memory FROM lexicon WHERE namespace = ? AND keys && ARRAY[7, 100009]::bigint[] ORDER BY memory"
        assert store.ask(key, wanted, (key,)) == [(7,), (9,)]
        plan = "\n".join(line for (line,) in store.ask(key, f"EXPLAIN {wanted}", (key,)))
    assert "Bitmap Index Scan on documents_keys_" in plan, plan


def test_status_shows_the_nodes_with_their_shards(spread: str) -> None:
    with opened(spread, "one") as engine:
        list(store_of(engine).maintain())
        found = status_of(store_of(engine))
    assert found.citus is not None
    assert (found.citus.distributed, found.citus.shards) == (True, SHARDS)
    workers = [node for node in found.citus.nodes if node.role == "worker"]
    assert len(workers) >= 2
    assert sum(node.shards for node in workers) == SHARDS
    assert all(node.answers and node.lexical_index for node in found.citus.nodes)
    assert sum(node.bytes for node in found.citus.nodes) == found.bytes
    rows = {table.name: table.rows for table in found.tables}
    assert rows["memories"] >= len(NAMES) * len(told())
    assert found.namespaces is not None
    assert found.namespaces >= len(NAMES)


def test_a_large_field_gets_an_index_on_every_shard(spread: str, monkeypatch: pytest.MonkeyPatch) -> None:
    on_one_shard(monkeypatch)
    with opened(f"{spread}&exact_up_to=50&hnsw_m=8", "third") as engine:
        exact = hits(engine.recall(ASKED[0], recipe="dense", now=NOW))
        done = [item for item in maintain(engine.store, utc_now()) if item.part == "index of full, 32 numbers"]
        assert [(item.ok, item.changed) for item in done] == [(True, True)]
        assert store_of(engine).indexes.get(("full", 32)) is not None
        assert [id for id, _ in hits(engine.recall(ASKED[0], recipe="dense", now=NOW))] == [id for id, _ in exact]
        with store_of(engine).administration() as connection:
            made = ask(
                connection,
                "SELECT result FROM run_command_on_shards('vectors_full', "
                "'SELECT count(*) FROM pg_indexes WHERE schemaname || ''.'' || tablename = ''%s'' "
                "AND indexdef LIKE ''%%hnsw%%''')",
            )
        assert made == [("1",)] * SHARDS
    with opened(f"{spread}&exact_up_to=50&hnsw_m=6", "third") as engine:
        done = [item for item in store_of(engine).maintain() if item.part == "index of full, 32 numbers"]
        assert done[0].detail.startswith("rebuilt with m 6")
        assert [index.m for index in status_of(store_of(engine)).indexes] == [6]
