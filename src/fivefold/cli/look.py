"""Commands that show what is there."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from fivefold.cli.app import FullOption, JsonOption, NamespaceOption, StoreOption, app, print_json, reading
from fivefold.errors import InvalidInput
from fivefold.memory import TYPES, Memory

if TYPE_CHECKING:
    from fivefold.stores.base import Reader

LimitOption = Annotated[int, typer.Option("--limit", help="How many, latest first")]


@app.command()
def get(
    id: Annotated[str, typer.Argument(help="The memory's id")],
    store: StoreOption = None,
    namespace: NamespaceOption = "default",
    as_json: JsonOption = False,
) -> None:
    """Show one memory in full."""
    with reading(store, namespace) as engine:
        memory = engine.get(id)
    if as_json:
        print_json(memory.to_dict())
    else:
        from fivefold.cli import show

        show.memory(memory)


@app.command("list")
def list_(
    session: Annotated[str | None, typer.Option("--session", help="Only this conversation")] = None,
    type: Annotated[str | None, typer.Option("--type", help="Only this type: fact, preference, event, …")] = None,
    tag: Annotated[str | None, typer.Option("--tag", help="Only what has this tag")] = None,
    speaker: Annotated[str | None, typer.Option("--speaker", help="Only what this speaker said")] = None,
    limit: LimitOption = 20,
    full: FullOption = False,
    store: StoreOption = None,
    namespace: NamespaceOption = "default",
    as_json: JsonOption = False,
) -> None:
    """List memories, latest first."""
    from fivefold.intake import checked_limit

    if type is not None and type not in TYPES:
        raise InvalidInput(f"type {type!r} is unknown; it is one of {', '.join(TYPES)}")
    checked_limit(limit)
    counted = 0

    def wanted(reader: Reader) -> Iterator[Memory]:
        nonlocal counted
        for memory in _remembered(reader):
            if (
                session in (None, memory.session_id)
                and type in (None, memory.type)
                and (tag is None or tag in memory.tags)
                and speaker in (None, memory.speaker)
            ):
                counted += 1
                yield memory

    with reading(store, namespace) as engine:
        reader = engine.store.reader(engine.namespace)
        found = heapq.nlargest(limit, wanted(reader), key=lambda memory: (memory.event_at, memory.row))
    if as_json:
        print_json([memory.to_dict() for memory in found])
    else:
        from fivefold.cli import show

        show.memories(found, counted, full)


def _remembered(reader: Reader) -> Iterator[Memory]:
    """Every memory but those of whole sessions, which only repeat their turns."""
    after = 0
    while batch := reader.scan(after):
        after = batch[-1][0].row
        yield from (memory for memory, _ in batch if memory.kind != "session")


@app.command()
def sessions(
    limit: LimitOption = 20,
    store: StoreOption = None,
    namespace: NamespaceOption = "default",
    as_json: JsonOption = False,
) -> None:
    """List conversations, latest first."""
    with reading(store, namespace) as engine:
        found = engine.sessions(limit)
    if as_json:
        print_json([session.to_dict() for session in found])
    else:
        from fivefold.cli import show

        rows = [(s.id, s.turns, show.day(s.started_at), show.day(s.ended_at)) for s in found]
        show.table(("session", "turns", "started", "ended"), rows, right=("turns",))


@app.command()
def stats(store: StoreOption = None, namespace: NamespaceOption = "default", as_json: JsonOption = False) -> None:
    """Show what a namespace holds and has learned, and which others there are."""
    with reading(store, namespace) as engine:
        held, learned, namespaces = engine.stats(), engine.learned(), engine.store.namespaces()
    if as_json:
        print_json({**held.to_dict(), "learned": learned.to_dict(), "namespaces": list(namespaces)})
    else:
        from fivefold.cli import show
        from fivefold.cli.learn import lines

        show.stats(held, lines(learned), namespaces)
