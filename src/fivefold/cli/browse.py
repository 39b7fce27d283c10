"""Commands that look inside a store."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass
from typing import Annotated, Any

import typer

from fivefold.cli.app import FullOption, SpaceOptions, StoreOptions, app, existing, list_namespaces, terminal
from fivefold.cli.output import say
from fivefold.cli.write import MemoryArgument
from fivefold.errors import InvalidInput

LimitOption = Annotated[int, typer.Option("--limit", help="Maximum number of entries, latest first")]
CursorOption = Annotated[
    str | None, typer.Option("--cursor", help="Where to continue: the cursor at the end of the previous list")
]


@app.command()
def get(id: MemoryArgument, space: SpaceOptions) -> None:
    """Show one memory in full."""
    with space.reading() as engine:
        memory, links = engine.get(id), engine.history(id).links

    def draw(_: object) -> None:
        terminal.memory(memory)
        terminal.links(links)

    space.show(memory, draw)


@dataclass(frozen=True, slots=True)
class ListOptions:
    """Conditions for the memories of a list."""

    session_id: Annotated[str | None, typer.Option("--session", help="Only this conversation")] = None
    kind: Annotated[str | None, typer.Option("--kind", help="Only this kind: turn, note or session")] = None
    type: Annotated[str | None, typer.Option("--type", help="Only this type: fact, preference, event, …")] = None
    tag: Annotated[str | None, typer.Option("--tag", help="Only memories with this tag")] = None
    speaker: Annotated[str | None, typer.Option("--speaker", help="Only memories of this speaker")] = None
    text: Annotated[str | None, typer.Option("--text", help="Only memories with all of these words")] = None
    superseded: Annotated[
        bool | None, typer.Option("--superseded/--current", help="Only replaced memories, or only the others")
    ] = None
    since: Annotated[str | None, typer.Option("--since", help="Only from this time on, ISO 8601")] = None
    until: Annotated[str | None, typer.Option("--until", help="Only before this time, ISO 8601")] = None
    filter: Annotated[
        str | None, typer.Option("--filter", help="More conditions, as in: tag:work,home meta.price>=10")
    ] = None


@app.command("list")
def list_(
    conditions: ListOptions,
    limit: LimitOption = 20,
    cursor: CursorOption = None,
    full: FullOption = False,
    *,
    space: SpaceOptions,
) -> None:
    """List memories, latest first."""
    with space.reading() as engine:
        memories = engine.memories(**asdict(conditions), cursor=cursor, limit=limit)
    space.show(memories, lambda page: terminal.memories(page, full))


@app.command()
def sessions(limit: LimitOption = 20, cursor: CursorOption = None, *, space: SpaceOptions) -> None:
    """List conversations, latest first."""
    with space.reading() as engine:
        page = engine.sessions(limit, cursor)

    def draw(_: object) -> None:
        rows = [(s.id, s.turns, terminal.day(s.started_at), terminal.day(s.ended_at)) for s in page]
        terminal.table(("session", "turns", "started", "ended"), rows, right=("turns",))
        terminal.next_page(page)

    space.show(page, draw)


@app.command()
def stats(space: SpaceOptions) -> None:
    """Show the contents of a namespace, what it has learned, and the other namespaces."""
    with space.reading() as engine:
        figures, learned, namespaces = engine.stats(), engine.learned(), list_namespaces(engine)
    from fivefold.cli.learn import lines

    shown = {**figures.to_dict(), "learned": learned, "namespaces": namespaces}
    space.show(shown, lambda _: terminal.stats(figures, lines(learned), namespaces))


# `fivefold namespaces`: which there are, and one of them deleted for good.

namespaces: typer.Typer = typer.Typer(help="List the namespaces of a store, or delete one.", rich_markup_mode=None)
app.add_typer(namespaces, name="namespaces")


@namespaces.callback(invoke_without_command=True)
def _namespaces(ctx: typer.Context, options: StoreOptions) -> None:
    """List the namespaces of a store, or delete one."""
    if ctx.invoked_subcommand is None:
        show_namespaces(options)
    elif options != StoreOptions():
        raise typer.BadParameter(f"options stand after {ctx.invoked_subcommand!r}")


@namespaces.command("list")
def show_namespaces(options: StoreOptions) -> None:
    """List the namespaces of a store, each with the number of its memories."""
    from fivefold.engine import store as open_shared

    with open_shared(existing(options.store)) as opened:
        counts = [(name, opened.namespace(name).stats().memories) for name in opened.namespaces()]

    def draw(_: object) -> None:
        if counts:
            rows = [(name, f"{count:,}") for name, count in counts]
            terminal.table(("namespace", "memories"), rows, right=("memories",))
        else:
            say("There are no namespaces yet; `fivefold add TEXT` makes the first one.")

    options.show([{"namespace": name, "memories": count} for name, count in counts], draw)


@namespaces.command()
def delete(
    name: Annotated[str, typer.Argument(help="The namespace")],
    yes: Annotated[bool, typer.Option("--yes", help="Delete it without asking")] = False,
    *,
    options: StoreOptions,
) -> None:
    """Delete a namespace with everything in it, for good; the audit log says so."""
    from fivefold.engine import store as open_shared

    def memories(count: int) -> str:
        return f"{count:,} {'memory' if count == 1 else 'memories'}"

    with open_shared(existing(options.store)) as opened:
        if not yes:
            count = opened.namespace(name).stats().memories
            if not sys.stdin.isatty():
                raise typer.BadParameter("it deletes for good; repeat it with --yes to confirm")
            typer.confirm(f"Delete namespace {name!r} with {memories(count)} for good?", abort=True, err=True)
        count = opened.delete_namespace(name)
    done = {"namespace": name, "memories": count}
    options.show(done, lambda _: say(f"deleted: namespace {name!r} with {memories(count)}"))


# `fivefold settings`: look at and change what a namespace has set.


@app.command()
def settings(
    changes: Annotated[
        list[str] | None, typer.Argument(help="NAME=VALUE to set, NAME= to restore the default", show_default=False)
    ] = None,
    *,
    space: SpaceOptions,
) -> None:
    """Show the settings of a namespace, or change them."""
    values = dict(_change(text) for text in changes or ())
    with space.reading(anyway=bool(values)) as engine:
        current = engine.configure(**values) if values else engine.settings
    default = type(current)().to_dict()
    rows = [
        (name, value, "" if value == default[name] else f"default {default[name]}")
        for name, value in current.to_dict().items()
    ]
    space.show(current, lambda _: terminal.table(("setting", "value", ""), rows))


def _change(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals:
        raise InvalidInput(f"{text!r} sets nothing; write NAME=VALUE, such as timezone=Europe/Berlin")
    if not value:
        return name.strip(), None
    try:
        return name.strip(), json.loads(value)
    except ValueError:
        return name.strip(), value
