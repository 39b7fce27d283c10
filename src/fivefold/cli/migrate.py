"""The command that moves namespaces from one store to another."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from fivefold.cli.app import JsonOption, app, print_json


@app.command()
def migrate(
    source: Annotated[str, typer.Argument(help="Where they are: a file or a PostgreSQL address")],
    target: Annotated[str, typer.Argument(help="Where they go: a file or a PostgreSQL address, created if needed")],
    namespace: Annotated[
        list[str] | None, typer.Option("--namespace", "-n", help="Only this namespace; repeatable")
    ] = None,
    restart: Annotated[bool, typer.Option("--restart", help="Begin an unfinished copy again")] = False,
    as_json: JsonOption = False,
) -> None:
    """Copy namespaces with all their vectors to another store; a repeated run continues an interrupted one."""
    from fivefold.transfer.migrate import migrate as copy

    moved = copy(source, target, namespace or (), restart=restart, progress=sys.stderr.isatty())
    if as_json:
        print_json([item.to_dict() for item in moved])
        return
    from fivefold.cli import terminal

    terminal.table(
        ("namespace", "memories", "vectors", "checksum", "seconds"),
        [(item.namespace, item.memories, item.vectors, item.checksum[:12], f"{item.seconds:.1f}") for item in moved],
        right=("memories", "vectors", "seconds"),
    )
