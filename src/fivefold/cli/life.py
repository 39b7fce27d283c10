"""Commands for how long memories live: pin, unpin, sweep, health."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from fivefold.cli.app import JsonOption, NamespaceOption, StoreOption, app, print_json, reading, say

if TYPE_CHECKING:
    from fivefold.values.health import HealthReport
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


@app.command()
def health(
    stale_days: Annotated[
        int, typer.Option("--stale-days", min=1, help="After how many days without being written or used it is stale")
    ] = 180,
    unused_days: Annotated[
        int, typer.Option("--unused-days", min=0, help="For how many days it may wait for its first use")
    ] = 30,
    soon_days: Annotated[
        int, typer.Option("--soon-days", min=0, help="How many days ahead it is said what expires")
    ] = 7,
    examples: Annotated[int, typer.Option("--examples", min=0, help="How many of each are named")] = 3,
    link_repeats: Annotated[
        bool, typer.Option("--link-repeats", help="First link near-duplicates that were stored without being compared")
    ] = False,
    store: StoreOption = None,
    namespace: NamespaceOption = "default",
    as_json: JsonOption = False,
) -> None:
    """Report what is stale, never used, expiring, said twice, contradicted or a secret; no memory is changed."""
    with reading(store, namespace) as engine:
        if link_repeats:
            engine.link_repeats(progress=sys.stderr.isatty())
        found = engine.health(stale_days=stale_days, unused_days=unused_days, soon_days=soon_days, examples=examples)
    if as_json:
        print_json(found.to_dict())
    else:
        _show_health(found)


def _show_health(found: HealthReport) -> None:
    from fivefold.cli import terminal

    rows = [
        (item.check, f"{item.count:,}", item.meaning, item.advice if item.count else "–") for item in found.findings
    ]
    terminal.table(("check", "memories", "which", "what to do"), rows, right=("memories",))
    for item in found.findings:
        if item.examples:
            terminal.line(f"\n{item.check}", "bold")
        for example in item.examples:
            terminal.hang("  ", f"{example.id} · {example.why}: {example.text}", further=terminal.QUOTED)
            if example.other is not None:
                terminal.hang("    ", f"{example.other}: {example.other_text}", "dim", further=terminal.QUOTED)
    if any(item.count for item in found.findings if item.check == "expired"):
        terminal.line("\n`fivefold sweep --dry-run` lists what a sweep would forget.", "dim")
    terminal.line(f"{terminal.counted(found.memories, 'memory', 'memories')} looked at", "dim")


def _show(memory: Memory, as_json: bool) -> None:
    if as_json:
        print_json(memory.to_dict())
        return
    from fivefold.cli import memory_view

    memory_view.memory(memory)
