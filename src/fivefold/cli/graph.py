"""`fivefold graph`: look at the entity graph and correct it by hand."""

from __future__ import annotations

from shlex import quote
from typing import Annotated

import typer

from fivefold.cli.app import SpaceOptions, app, terminal
from fivefold.values.serialize import Value

graph: typer.Typer = typer.Typer(
    help="Look at the entity graph and correct it.", no_args_is_help=True, rich_markup_mode=None
)
app.add_typer(graph, name="graph")

MAX_UNDONE = 1_000
"""Maximum number of ids in the command that undoes a merge."""

Who = Annotated[str, typer.Argument(help="A name, an alias or an id")]


@graph.command()
def show(
    who: Annotated[str | None, typer.Argument(help="A name, an alias or an id [default: the most frequent]")] = None,
    limit: Annotated[int, typer.Option(help="Maximum number of entries")] = 20,
    *,
    space: SpaceOptions,
) -> None:
    """Show an entity with its relations, or the most frequent entities."""
    with space.reading() as engine:
        entities = engine.graph.entities(limit=limit) if who is None else [engine.graph.entity(_which(who))]
        edges = () if who is None else engine.graph.edges(entities[0].id, limit).items

    def draw(_: object) -> None:
        rows = [(item.id, item.name, item.kind, item.links, ", ".join(item.aliases)) for item in entities]
        terminal.table(("id", "name", "kind", "mentions", "also"), rows)
        relations = [
            (e.id, e.source, e.relation, e.target, e.kind, f"{e.confidence:.2f}", terminal.day(e.valid_to))
            for e in edges
        ]
        if relations:
            terminal.table(("edge", "source", "relation", "target", "kind", "confidence", "ended"), relations)

    space.show({"entities": entities, "edges": edges}, draw)


@graph.command()
def merge(
    kept: Annotated[str, typer.Argument(help="The entity that stays")],
    gone: Annotated[str, typer.Argument(help="The entity that becomes part of it")],
    *,
    space: SpaceOptions,
) -> None:
    """Merge two entities, and print the command that undoes it."""
    with space.reading() as engine:
        other = engine.graph.entity(_which(gone))
        ids = [memory.id for memory in engine.graph.memories(other.id, MAX_UNDONE)]
        entity = engine.graph.merge(_which(kept), other.id)
    undo = f"fivefold graph split {entity.id} {quote(other.name)} {' '.join(map(quote, ids))}" if ids else ""

    def draw(item: Value) -> None:
        _draw(item)
        if undo:
            terminal.line(f"To undo: {undo}")

    space.show(entity, draw)


@graph.command()
def split(
    who: Who,
    name: Annotated[str, typer.Argument(help="The name of the other entity")],
    memories: Annotated[list[str], typer.Argument(help="Ids of the memories about the other one")],
    *,
    space: SpaceOptions,
) -> None:
    """Split one entity into two; 'graph merge' undoes it."""
    with space.reading() as engine:
        space.show(engine.graph.split(_which(who), name, memories), _draw)


@graph.command()
def alias(who: Who, name: Annotated[str, typer.Argument(help="Another name for it")], *, space: SpaceOptions) -> None:
    """Give an entity another name."""
    with space.reading() as engine:
        space.show(engine.graph.alias(_which(who), name), _draw)


@graph.command()
def relate(
    source: Who,
    relation: Annotated[str, typer.Argument(help="Such as 'reports to'")],
    target: Who,
    until: Annotated[str | None, typer.Option("--until", help="When it ended, ISO 8601")] = None,
    *,
    space: SpaceOptions,
) -> None:
    """Relate two entities."""
    with space.reading() as engine:
        kind = "structural" if until is None else "lifecycle"
        edge = engine.graph.relate(_which(source), relation, _which(target), kind=kind, valid_to=until)  # type: ignore[arg-type]
    space.show(edge, _draw)


def _which(text: str) -> str | int:
    return int(text) if text.isdigit() else text


def _draw(item: Value) -> None:
    filled = [(name, value) for name, value in item.to_dict().items() if value not in (None, [])]
    terminal.table(("field", "value"), filled)
