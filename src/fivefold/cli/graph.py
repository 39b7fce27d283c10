"""`fivefold graph`: look at the entity graph and put it right by hand."""

from __future__ import annotations

from typing import Annotated

import typer

from fivefold.cli.app import JsonOption, NamespaceOption, StoreOption, app, print_json, reading

graph = typer.Typer(help="Look at the entity graph and put it right.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(graph, name="graph")

Who = Annotated[str, typer.Argument(help="A name, an alias or an id")]


@graph.command()
def show(
    who: Annotated[
        str | None, typer.Argument(help="A name, an alias or an id; the most mentioned when left out")
    ] = None,
    limit: Annotated[int, typer.Option(help="How many")] = 20,
    store: StoreOption = None,
    namespace: NamespaceOption = "default",
    as_json: JsonOption = False,
) -> None:
    """Show an entity with its relations, or the entities mentioned most."""
    with reading(store, namespace) as engine:
        entities = engine.graph.entities(limit=limit) if who is None else [engine.graph.entity(_which(who))]
        edges = () if who is None else engine.graph.edges(entities[0].id, limit).items
    if as_json:
        print_json({"entities": [item.to_dict() for item in entities], "edges": [edge.to_dict() for edge in edges]})
        return
    from fivefold.cli import terminal

    rows = [(item.id, item.name, item.kind, item.links, ", ".join(item.aliases)) for item in entities]
    terminal.table(("id", "name", "kind", "mentions", "also"), rows)
    if edges:
        relations = [
            (e.id, e.source, e.relation, e.target, e.kind, f"{e.confidence:.2f}", terminal.day(e.valid_to))
            for e in edges
        ]
        terminal.table(("edge", "source", "relation", "target", "kind", "confidence", "ended"), relations)


@graph.command()
def merge(
    kept: Annotated[str, typer.Argument(help="The entity that stays")],
    gone: Annotated[str, typer.Argument(help="The entity that was the same")],
    store: StoreOption = None,
    namespace: NamespaceOption = "default",
    as_json: JsonOption = False,
) -> None:
    """Make two entities one."""
    with reading(store, namespace) as engine:
        _done(engine.graph.merge(_which(kept), _which(gone)).to_dict(), as_json)


@graph.command()
def alias(
    who: Who,
    name: Annotated[str, typer.Argument(help="Another name for it")],
    store: StoreOption = None,
    namespace: NamespaceOption = "default",
    as_json: JsonOption = False,
) -> None:
    """Give an entity another name."""
    with reading(store, namespace) as engine:
        _done(engine.graph.alias(_which(who), name).to_dict(), as_json)


@graph.command()
def relate(
    source: Who,
    relation: Annotated[str, typer.Argument(help="Such as 'reports to'")],
    target: Who,
    until: Annotated[str | None, typer.Option("--until", help="When it ended, ISO 8601")] = None,
    store: StoreOption = None,
    namespace: NamespaceOption = "default",
    as_json: JsonOption = False,
) -> None:
    """Relate two entities."""
    with reading(store, namespace) as engine:
        kind = "structural" if until is None else "lifecycle"
        _done(
            engine.graph.relate(_which(source), relation, _which(target), kind=kind, valid_to=until).to_dict(),  # type: ignore[arg-type]
            as_json,
        )


def _which(text: str) -> str | int:
    return int(text) if text.isdigit() else text


def _done(value: dict[str, object], as_json: bool) -> None:
    if as_json:
        print_json(value)
        return
    from fivefold.cli import terminal

    terminal.table(("field", "value"), [(name, item) for name, item in value.items() if item not in (None, [])])
