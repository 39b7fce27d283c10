"""Commands that show what is there."""

from __future__ import annotations

from typing import Annotated

import typer

from fivefold.cli.app import (
    FullOption,
    JsonOption,
    NamespaceOption,
    StoreOption,
    app,
    list_namespaces,
    print_json,
    reading,
)

LimitOption = Annotated[int, typer.Option("--limit", help="How many, latest first")]
CursorOption = Annotated[
    str | None, typer.Option("--cursor", help="Where to continue: the cursor at the end of the previous list")
]


@app.command()
def get(
    id: Annotated[str, typer.Argument(help="The memory's id")],
    store: StoreOption = None,
    namespace: NamespaceOption = "default",
    as_json: JsonOption = False,
) -> None:
    """Show one memory in full."""
    with reading(store, namespace) as engine:
        memory, links = engine.get(id), engine.history(id).links
    if as_json:
        print_json(memory.to_dict())
    else:
        from fivefold.cli import memory_view

        memory_view.memory(memory)
        memory_view.links(links)


@app.command("list")
def list_(
    session: Annotated[str | None, typer.Option("--session", help="Only this conversation")] = None,
    kind: Annotated[str | None, typer.Option("--kind", help="Only this kind: turn, note or session")] = None,
    type: Annotated[str | None, typer.Option("--type", help="Only this type: fact, preference, event, …")] = None,
    tag: Annotated[str | None, typer.Option("--tag", help="Only what has this tag")] = None,
    speaker: Annotated[str | None, typer.Option("--speaker", help="Only what this speaker said")] = None,
    text: Annotated[str | None, typer.Option("--text", help="Only what has all of these words")] = None,
    superseded: Annotated[
        bool | None, typer.Option("--superseded/--current", help="Only what was replaced, or only what was not")
    ] = None,
    since: Annotated[str | None, typer.Option("--since", help="Only from this time on, ISO 8601")] = None,
    until: Annotated[str | None, typer.Option("--until", help="Only before this time, ISO 8601")] = None,
    filter: Annotated[
        str | None, typer.Option("--filter", help="More conditions, as in: tag:work,home meta.price>=10")
    ] = None,
    limit: LimitOption = 20,
    cursor: CursorOption = None,
    full: FullOption = False,
    store: StoreOption = None,
    namespace: NamespaceOption = "default",
    as_json: JsonOption = False,
) -> None:
    """List memories, latest first."""
    with reading(store, namespace) as engine:
        memories = engine.memories(
            kind=kind,  # type: ignore[arg-type]
            type=type,  # type: ignore[arg-type]
            speaker=speaker,
            session_id=session,
            tag=tag,
            text=text,
            superseded=superseded,
            since=since,
            until=until,
            filter=filter,
            cursor=cursor,
            limit=limit,
        )
    if as_json:
        print_json(memories.to_dict())
    else:
        from fivefold.cli import memory_view

        memory_view.memories(memories, full)


@app.command()
def sessions(
    limit: LimitOption = 20,
    cursor: CursorOption = None,
    store: StoreOption = None,
    namespace: NamespaceOption = "default",
    as_json: JsonOption = False,
) -> None:
    """List conversations, latest first."""
    with reading(store, namespace) as engine:
        page = engine.sessions(limit, cursor)
    if as_json:
        print_json(page.to_dict())
    else:
        from fivefold.cli import terminal

        rows = [(s.id, s.turns, terminal.day(s.started_at), terminal.day(s.ended_at)) for s in page]
        terminal.table(("session", "turns", "started", "ended"), rows, right=("turns",))
        terminal.next_page(page)


@app.command()
def stats(store: StoreOption = None, namespace: NamespaceOption = "default", as_json: JsonOption = False) -> None:
    """Show what a namespace holds and has learned, and which others there are."""
    with reading(store, namespace) as engine:
        figures, learned, namespaces = engine.stats(), engine.learned(), list_namespaces(engine)
    if as_json:
        print_json({**figures.to_dict(), "learned": learned.to_dict(), "namespaces": list(namespaces)})
    else:
        from fivefold.cli import memory_view
        from fivefold.cli.learn import lines

        memory_view.stats(figures, lines(learned), namespaces)
