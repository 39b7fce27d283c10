"""Commands that look things up."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from fivefold.cli.app import JsonOption, NamespaceOption, StoreOption, app, print_json, reading

Question = Annotated[str, typer.Argument(help="The question")]
KOption = Annotated[int, typer.Option("-k", help="How many memories")]
RecipeOption = Annotated[str, typer.Option("--recipe", "-r", help="The recipe that ranks them")]
NowOption = Annotated[str | None, typer.Option("--now", help="Answer as of this time, ISO 8601 [default: now]")]


@app.command()
def recall(
    question: Question,
    k: KOption = 5,
    recipe: RecipeOption = "default",
    now: NowOption = None,
    context: Annotated[list[str] | None, typer.Option("--context", help="An earlier turn; may be given again")] = None,
    store: StoreOption = None,
    namespace: NamespaceOption = "default",
    as_json: JsonOption = False,
) -> None:
    """Find the memories that answer a question."""
    with reading(store, namespace) as engine:
        answer = engine.recall(question, k=k, recipe=recipe, now=now, context=context or ())
    if as_json:
        print_json(answer.to_dict())
    else:
        from fivefold.cli import show

        show.recall(answer)


@app.command()
def explain(
    question: Question,
    k: KOption = 3,
    recipe: RecipeOption = "default",
    now: NowOption = None,
    store: StoreOption = None,
    namespace: NamespaceOption = "default",
    as_json: JsonOption = False,
) -> None:
    """Show how a recall came about: every route, the fusion arithmetic, every later step."""
    with reading(store, namespace) as engine:
        answer = engine.recall(question, k=k, recipe=recipe, now=now)
    if as_json:
        print_json(answer.to_dict())
    else:
        sys.stdout.write(answer.explain() + "\n")


@app.command()
def plan(
    question: Question,
    k: KOption = 10,
    recipe: RecipeOption = "default",
    now: NowOption = None,
    store: StoreOption = None,
    namespace: NamespaceOption = "default",
    as_json: JsonOption = False,
) -> None:
    """Show what a recall would do, without doing it."""
    with reading(store, namespace) as engine:
        chosen = engine.plan(question, k=k, recipe=recipe, now=now)
    if as_json:
        print_json(chosen.to_dict())
    else:
        from fivefold.cli import show

        show.plan(chosen)


@app.command()
def get(
    id: Annotated[str, typer.Argument(help="The memory's id")],
    store: StoreOption = None,
    namespace: NamespaceOption = "default",
    as_json: JsonOption = False,
) -> None:
    """Show one memory."""
    with reading(store, namespace) as engine:
        memory = engine.get(id)
    if as_json:
        print_json(memory.to_dict())
    else:
        from fivefold.cli import show

        show.memory(memory)


@app.command()
def sessions(
    limit: Annotated[int, typer.Option(help="How many, latest first")] = 20,
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
        show.table(None, ("session", "turns", "started", "ended"), rows)


@app.command()
def stats(store: StoreOption = None, namespace: NamespaceOption = "default", as_json: JsonOption = False) -> None:
    """Show what a namespace holds."""
    with reading(store, namespace) as engine:
        held = engine.stats()
    if as_json:
        print_json(held.to_dict())
    else:
        from fivefold.cli import show

        rows = [
            (
                name,
                ", ".join(f"{key} {count}" for key, count in value.items()) if isinstance(value, dict) else value,
            )
            for name, value in held.to_dict().items()
            if value not in (None, {})
        ]
        show.table(None, ("", ""), rows)


@app.command()
def export(
    file: Annotated[Path, typer.Argument(help="Where to write the JSON lines")],
    store: StoreOption = None,
    namespace: NamespaceOption = "default",
    as_json: JsonOption = False,
) -> None:
    """Write every memory of a namespace as JSON lines."""
    with reading(store, namespace) as engine:
        count = engine.export(file)
    if as_json:
        print_json({"file": str(file), "memories": count})
    else:
        sys.stdout.write(f"{count} memories written to {file}\n")
