"""Care of a Citus cluster: shards move while all goes on, the commands do it, and what is amiss is said."""

from __future__ import annotations

import os
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from fivefold.errors import FivefoldError, ServerAway, StoreError
from fivefold.stores.postgres import citus
from fivefold.stores.postgres.dialect import namespace_key
from fivefold.stores.postgres.schema import TABLES
from fivefold.stores.postgres.status import Node, Status, status_of
from tests.cli.test_commands import documented_keys
from tests.support.cluster import CITUS, SHARDS, Worker, cluster, distributed, opened, store_of
from tests.support.postgres import Server
from tests.support.shell import Ran, process

__all__ = ["cluster"]

pytestmark = [pytest.mark.postgres, pytest.mark.skipif(not os.environ.get(CITUS), reason=f"{CITUS} names no cluster")]


def nodes_of(status: Status) -> list[Node]:
    assert status.citus is not None
    return [node for node in status.citus.nodes if node.role == "worker"]


def test_rebalancing_moves_shards_while_all_goes_on(cluster: Server) -> None:
    location = cluster.new_location()
    distributed(location)
    with opened(location, "busy") as engine:
        engine.remember("tea", id="first")
        store = store_of(engine)
        with store.administration() as connection:
            _crowd(connection, nodes_of(status_of(store))[0].address)
            assert sorted(node.shards for node in nodes_of(status_of(store)))[-1] == SHARDS
            ended = threading.Event()
            failed: list[str] = []
            written: list[str] = []

            def write() -> None:
                while not ended.is_set():
                    try:
                        written.append(engine.remember(f"note {len(written)}").id)
                        engine.recall("note")
                    except FivefoldError as error:
                        failed.append(str(error))

            writing = threading.Thread(target=write)
            writing.start()
            try:
                run = citus.start_rebalance(connection, store.location, store.options)
                assert run.job is not None
                assert citus.start_rebalance(connection, store.location, store.options).job == run.job
                for now in citus.watch_rebalance(connection, run):
                    run = now
            finally:
                ended.set()
                writing.join()
        assert (run.state, run.done) == ("finished", run.moves)
        assert max(node.shards for node in nodes_of(status_of(store))) < SHARDS
        assert failed == []
        assert engine.stats().memories == len(written) + 1
        assert all(finding.ok for finding in engine.doctor())
        with store.administration() as connection:
            again = citus.start_rebalance(connection, store.location, store.options)
        assert again == citus.RebalanceRun(None, "balanced", 0, 0)


def _crowd(connection: Any, address: str) -> None:
    """Put all shards on one node."""
    host, _, port = address.rpartition(":")
    connection.execute(
        "SELECT citus_move_shard_placement(shardid, nodename, nodeport::int, $1, $2::int, 'block_writes') "
        "FROM citus_shards WHERE table_name = 'namespaces'::regclass AND (nodename, nodeport) <> ($1, $2::int)",
        [host, int(port)],
    )


def test_a_worker_that_stops_takes_only_its_own_namespaces_with_it(cluster: Server) -> None:
    location = cluster.new_location()
    distributed(location)
    names = [f"n{number}" for number in range(8)]
    with ExitStack() as stack:
        engines = {name: stack.enter_context(opened(location, name)) for name in names}
        store = store_of(engines[names[0]])
        for name, engine in engines.items():
            engine.remember(f"tea in {name}", id="first")
        with store.administration() as connection:
            worker_of = {name: _worker_of(connection, name) for name in names}
        lost = worker_of[names[0]]
        gone, left = ([name for name in names if (worker_of[name] == lost) is here] for here in (True, False))
        assert left, "the namespaces lie on several workers"
        host, port = lost
        worker = Worker(make_conninfo(cluster.dsn(), host=host, port=port))
        if not worker.is_ours:
            pytest.skip("the workers run elsewhere")
        worker.stop()
        try:
            for name in gone:
                for act in (lambda: engines[name].recall("tea"), lambda: engines[name].remember("lost")):  # noqa: B023
                    with pytest.raises(ServerAway, match=f"{port} failed .* check that the server runs and try again"):
                        act()
            for name in left:
                engines[name].remember("meanwhile", id="second")
                assert len(engines[name].recall("tea")) == 2
            assert {node.address: node.answers for node in nodes_of(status_of(store))}[f"{host}:{port}"] is False
        finally:
            worker.start()
        for name, engine in engines.items():
            engine.remember("afterwards", id="third")
            known = {"first", "third"} if name in gone else {"first", "second", "third"}
            assert {memory.id for memory in engine.memories()} == known
            assert {hit.memory.id for hit in engine.recall("tea meanwhile afterwards")} == known
            assert all(finding.ok for finding in engine.doctor())
        assert all(node.answers for node in nodes_of(status_of(store)))


def _worker_of(connection: Any, namespace: str) -> tuple[str, int]:
    """The host and port of the worker that has a namespace."""
    row = connection.execute(
        "SELECT nodename, nodeport FROM citus_shards WHERE table_name = 'namespaces'::regclass "
        "AND shardid = get_shard_id_for_distribution_column('namespaces', $1::bigint)",
        [namespace_key(namespace)],
    ).fetchone()
    return str(row[0]), int(row[1])


def test_the_commands_do_it_all(cluster: Server, tmp_path: Path) -> None:
    where = ("--store", cluster.new_location())

    def ran(*args: str) -> Ran:
        done = process("db", *args, *where, folder=str(tmp_path))
        assert (done.code, done.err) == (0, "")
        return done

    assert "no; fivefold db distribute does it" in ran("status").out
    made = ran("distribute", "--shards", "2", "--json").json
    assert set(made) == documented_keys("db distribute")
    assert (made["shards"], len(made["tables"])) == (2, len(TABLES) + 1)
    assert ran("distribute").out == "the store was distributed already, over 2 shards\n"
    assert "by namespace, 2 shards" in ran("status").out
    run = ran("rebalance", "--no-wait", "--json").json
    assert set(run) == documented_keys("db rebalance")
    assert run["job"] is None
    assert ran("rebalance").out == "the shards are balanced; nothing was moved\n"


def test_a_worker_is_told_apart_from_the_coordinator(cluster: Server) -> None:
    with opened(cluster.new_location(), "one") as engine:
        store = store_of(engine)
        host, _, port = nodes_of(status_of(store))[0].address.rpartition(":")
        address = psycopg.conninfo.make_conninfo(cluster.dsn(), host=host, port=port)
        with psycopg.connect(address, cursor_factory=psycopg.RawCursor) as worker:
            for act in (
                lambda: citus.distribute(worker, "that server", store.options, 4, lambda done: None),
                lambda: citus.start_rebalance(worker, "that server", store.options),
            ):
                with pytest.raises(StoreError, match="that server is a worker; name the coordinator"):
                    act()


def test_what_only_an_administrator_may_do_is_said(cluster: Server) -> None:
    role = cluster.new_schema()
    with cluster.connect() as connection:
        connection.execute(f"CREATE ROLE {role} LOGIN")
        try:
            connection.execute(f"GRANT CREATE ON DATABASE {connection.info.dbname} TO {role}")
            connection.execute(f"GRANT fivefold_app TO {role}")
            location = f"{cluster.new_location()}".replace(f"{connection.info.user}@", f"{role}@")
            unmarked = citus.LEAKPROOF.replace("LEAKPROOF", "NOT LEAKPROOF")
            connection.execute("SELECT run_command_on_all_nodes(%s)", [unmarked])
            with pytest.raises(StoreError, match="administrator has run on the coordinator: SELECT run_command_on_all"):
                distributed(location)
            connection.execute("SELECT run_command_on_all_nodes(%s)", [citus.LEAKPROOF])
            assert distributed(location).shards == SHARDS
            with opened(location, "own") as engine:
                engine.remember("tea without milk")
                assert len(engine.recall("tea")) == 1
        finally:
            connection.execute("SELECT run_command_on_all_nodes(%s)", [citus.LEAKPROOF])
            cluster.clean()
            connection.execute(f"DROP OWNED BY {role}")
            connection.execute(f"DROP ROLE {role}")


def test_a_store_that_is_not_distributed_has_nothing_to_rebalance(cluster: Server) -> None:
    with opened(cluster.new_location(), "one") as engine:
        store = store_of(engine)
        with (
            store.administration() as connection,
            pytest.raises(StoreError, match="is not distributed yet; distribute it with distribute"),
        ):
            citus.start_rebalance(connection, store.location, store.options)
        found = status_of(store).citus
        assert found is not None
        assert (found.distributed, found.shards) == (False, 0)
