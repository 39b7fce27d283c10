"""Commands for how long memories live: pin, unpin, sweep."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from fivefold.cli.app import JsonOption, NamespaceOption, StoreOption, app, print_json, reading, say

if TYPE_CHECKING:
    from fivefold.values.memory import Memory

MemoryArgument = Annotated[str, typer.Argument(help="The memory's id")]

SHOWN = 20
"""How many memories of a sweep are named."""


@app.command()
def pin(
    id: MemoryArgument, store: StoreOption = None, namespace: NamespaceOption = "default", as_json: JsonOption = False
) -> None:
    """Let a memory stay: it does not expire, and later texts do not replace it by themselves."""
    with reading(store, namespace) as engine:
        _show(engine.pin(id), as_json)


@app.command()
def unpin(
    id: MemoryArgument, store: StoreOption = None, namespace: NamespaceOption = "default", as_json: JsonOption = False
) -> None:
    """Let a pinned memory expire and be replaced again."""
    with reading(store, namespace) as engine:
        _show(engine.unpin(id), as_json)


@app.command()
def sweep(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be forgotten")] = False,
    store: StoreOption = None,
    namespace: NamespaceOption = "default",
    as_json: JsonOption = False,
) -> None:
    """Forget the memories that have expired; pinned ones stay."""
    with reading(store, namespace) as engine:
        done = engine.sweep(dry_run=dry_run)
    if as_json:
        print_json(done.to_dict())
        return
    say(f"{len(done.swept):,} expired, {'nothing forgotten yet' if dry_run else 'forgotten'}")
    for id in done.swept[:SHOWN]:
        say(f"  {id}")
    if len(done.swept) > SHOWN:
        say(f"  … and {len(done.swept) - SHOWN:,} more")


def _show(memory: Memory, as_json: bool) -> None:
    if as_json:
        print_json(memory.to_dict())
        return
    from fivefold.cli import memory_view

    memory_view.memory(memory)
