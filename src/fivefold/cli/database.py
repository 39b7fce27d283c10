"""`fivefold db`: look at the servers of a PostgreSQL store, and spread it over several with Citus."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from fivefold.cli.app import ADDRESSES, StoreOptions, app, place, terminal
from fivefold.cli.output import say
from fivefold.errors import InvalidInput

if TYPE_CHECKING:
    from fivefold.stores.postgres.status import Cluster, IndexState, Node, ReplicaState, Status
    from fivefold.stores.postgres.store import PostgresStore


db: typer.Typer = typer.Typer(
    help="Look at the servers of a PostgreSQL store, and spread it over several with Citus.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.add_typer(db, name="db")

DEFAULT_SHARDS = 32


@db.command()
def status(options: StoreOptions) -> None:
    """Show versions, sizes, indexes and replicas, and on Citus the nodes with their shards."""
    with _postgres(options.store) as postgres:
        from fivefold.stores.postgres.status import status_of

        report = status_of(postgres)
    options.show(report, show_status)


@db.command()
def distribute(
    shards: Annotated[
        int, typer.Option("--shards", min=1, max=64_000, help="Parts to make, for all nodes there will ever be")
    ] = DEFAULT_SHARDS,
    *,
    options: StoreOptions,
) -> None:
    """Spread the store over the nodes of a Citus cluster, each namespace on one shard."""
    with _postgres(options.store) as postgres:
        from fivefold.stores.postgres.citus import distribute as spread
        from fivefold.stores.postgres.schema import TABLES
        from fivefold.text.display import bar

        with (
            postgres.administration() as connection,
            bar("Distributing tables", len(TABLES) + 1, show=sys.stderr.isatty()) as advance,
        ):
            result = spread(connection, postgres.location, postgres.options, shards, advance)
    told = f"the store was distributed already, over {result.shards} shards"
    if result.tables:
        told = (
            f"{len(result.tables)} tables are distributed over {result.shards} shards; restart what has the store open"
        )
    options.show(result, lambda _: say(told))


@db.command()
def rebalance(
    wait: Annotated[
        bool, typer.Option("--wait/--no-wait", help="Wait until all shards are moved, or return at once")
    ] = True,
    *,
    options: StoreOptions,
) -> None:
    """Let Citus move shards until all nodes have an equal share; recalls and writes go on."""
    with _postgres(options.store) as postgres:
        from fivefold.stores.postgres import citus
        from fivefold.text.display import bar

        with postgres.administration() as connection:
            run = citus.start_rebalance(connection, postgres.location, postgres.options)
            with bar("Moving shards", run.moves if wait else 0, show=sys.stderr.isatty()) as advance:
                for now in citus.watch_rebalance(connection, run) if wait else ():
                    advance(now.done - run.done)
                    run = now
    told = f"rebalance {run.job} {run.state}: {run.done} of {run.moves} shards moved"
    options.show(run, lambda _: say(told if run.job is not None else "the shards are balanced; nothing was moved"))
    if run.state in ("failed", "cancelled"):
        raise typer.Exit(1)


@contextmanager
def _postgres(store: str | None) -> Iterator[PostgresStore]:
    """The store, which must be one on PostgreSQL."""
    from fivefold.stores import open_store

    path = place(store)
    if not path.startswith(ADDRESSES):
        raise InvalidInput(
            f"{path!r} is a file, and `fivefold db` is for stores on PostgreSQL; "
            "name one with --store postgresql://user@host/database"
        )
    handle = open_store(path)
    try:
        yield handle  # type: ignore[misc]
    finally:
        handle.close()


# How `fivefold db status` looks.


def show_status(report: Status) -> None:
    """The server, its contents, and the cluster if there is one."""
    namespaces = "not known while a node is away" if report.namespaces is None else f"{report.namespaces:,}"
    terminal.table(
        ("", ""),
        [
            ("PostgreSQL", report.server),
            ("pgvector", report.pgvector),
            ("schema", f"{report.schema}, version {report.schema_version}"),
            ("namespaces", namespaces),
            ("size", size(report.bytes)),
            *_cluster(report.citus),
        ],
    )
    terminal.line("")
    rows = [(item.name, f"{item.rows:,}", size(item.bytes)) for item in report.tables]
    terminal.table(("table", "rows, about", "size"), rows, right=("rows, about", "size"))
    if report.indexes:
        terminal.line("")
        terminal.table(("index", "m", "ef construction", "state"), [_index(item) for item in report.indexes])
        if any(item.state != "serves" for item in report.indexes):
            terminal.line("fivefold maintain does the maintenance.", "dim")
    if report.replicas:
        terminal.line("")
        terminal.table(("replica", "behind"), [(item.address, _behind(item)) for item in report.replicas])
    if report.citus is not None:
        terminal.line("")
        terminal.table(
            ("node", "role", "answers", "shards", "size", "lexical index"),
            [
                (n.address, n.role, "yes" if n.answers else "no", n.shards, size(n.bytes), _lexical_index(n))
                for n in report.citus.nodes
            ],
            right=("shards", "size"),
        )


def size(count: int) -> str:
    """Bytes in the unit that suits them."""
    amount, unit = float(count), "bytes"
    for larger in ("kB", "MB", "GB", "TB"):
        if amount < 1_000:
            break
        amount, unit = amount / 1_000, larger
    return f"{count} bytes" if unit == "bytes" else f"{amount:.1f} {unit}"


def _cluster(cluster: Cluster | None) -> Iterator[tuple[str, str]]:
    if cluster is None:
        return
    yield "Citus", cluster.version
    if not cluster.distributed:
        yield "distributed", "no; fivefold db distribute does it"
        return
    moves = cluster.planned_moves
    yield "distributed", f"by namespace, {cluster.shards} shards"
    if moves is not None:
        yield "balanced", f"no, {moves} shards should move; fivefold db rebalance does it" if moves else "yes"


def _lexical_index(node: Node) -> str:
    if not node.answers:
        return "–"
    return "serves" if node.lexical_index else "does not serve; fivefold db distribute repairs it"


def _index(item: IndexState) -> tuple[str, str, str, str]:
    m, ef_construction = ("–" if value is None else str(value) for value in (item.m, item.ef_construction))
    return item.name, m, ef_construction, item.state


def _behind(item: ReplicaState) -> str:
    if item.error is not None or item.behind_bytes is None:
        return item.error or "–"
    seconds = "" if item.behind_s is None else f", {item.behind_s:.1f} s"
    return f"{size(item.behind_bytes)}{seconds}" if item.behind_bytes else "nothing"
