"""`fivefold db`: look at the servers of a PostgreSQL store, and spread it over several with Citus."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from fivefold.cli.app import ADDRESSES, JsonOption, StoreOption, app, place, print_json, say
from fivefold.errors import InvalidInput

if TYPE_CHECKING:
    from fivefold.stores.postgres.store import PostgresStore

db = typer.Typer(
    help="Look at the servers of a PostgreSQL store, and spread it over several with Citus.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.add_typer(db, name="db")

SHARDS = 32


@db.command()
def status(store: StoreOption = None, as_json: JsonOption = False) -> None:
    """Show versions, sizes, indexes and replicas, and on Citus the nodes with their shards."""
    with _postgres(store) as postgres:
        from fivefold.stores.postgres.status import status_of

        report = status_of(postgres)
    if as_json:
        print_json(report.to_dict())
    else:
        from fivefold.cli import database_view

        database_view.status(report)


@db.command()
def distribute(
    shards: Annotated[
        int, typer.Option("--shards", min=1, max=64_000, help="Parts to make, for all nodes there will ever be")
    ] = SHARDS,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Spread the store over the nodes of a Citus cluster, each namespace on one shard."""
    with _postgres(store) as postgres:
        from fivefold.stores.postgres.citus import distribute as spread
        from fivefold.stores.postgres.row_level_security import TABLES
        from fivefold.text.progress import bar

        with (
            postgres.administration() as connection,
            bar("Distributing tables", len(TABLES) + 1, show=_is_terminal()) as advance,
        ):
            result = spread(connection, postgres.location, postgres.options, shards, advance)
    if as_json:
        print_json(result.to_dict())
    elif result.tables:
        say(f"{len(result.tables)} tables are distributed over {result.shards} shards; restart what has the store open")
    else:
        say(f"the store was distributed already, over {result.shards} shards")


@db.command()
def rebalance(
    wait: Annotated[
        bool, typer.Option("--wait/--no-wait", help="Wait until all shards are moved, or let it go on alone")
    ] = True,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Let Citus move shards until all nodes have an equal share; recalls and writes go on."""
    with _postgres(store) as postgres:
        from fivefold.stores.postgres import citus
        from fivefold.text.progress import bar

        with postgres.administration() as connection:
            run = citus.start_rebalance(connection, postgres.location, postgres.options)
            with bar("Moving shards", run.moves if wait else 0, show=_is_terminal()) as advance:
                for now in citus.watch_rebalance(connection, run) if wait else ():
                    advance(now.done - run.done)
                    run = now
    if as_json:
        print_json(run.to_dict())
    elif run.job is None:
        say("the shards are balanced; nothing was moved")
    else:
        say(f"rebalance {run.job} {run.state}: {run.done} of {run.moves} shards moved")
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


def _is_terminal() -> bool:
    return sys.stderr.isatty()
