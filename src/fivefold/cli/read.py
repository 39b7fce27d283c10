"""Commands that answer a question, and show how."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from fivefold.cli.app import FullOption, JsonOption, NamespaceOption, StoreOption, app, print_json, reading

if TYPE_CHECKING:
    pass

Question = Annotated[str, typer.Argument(help="The question")]
KOption = Annotated[int, typer.Option("-k", help="How many memories")]
RecipeOption = Annotated[str, typer.Option("--recipe", "-r", help="The recipe that ranks them")]
NowOption = Annotated[str | None, typer.Option("--now", help="Answer as of this time, ISO 8601 [default: now]")]
ContextOption = Annotated[list[str] | None, typer.Option("--context", help="An earlier turn; may be given again")]


@app.command()
def recall(
    question: Question,
    k: KOption = 5,
    recipe: RecipeOption = "default",
    now: NowOption = None,
    context: ContextOption = None,
    full: FullOption = False,
    store: StoreOption = None,
    namespace: NamespaceOption = "default",
    as_json: JsonOption = False,
) -> None:
    """Find the memories that answer a question."""
    with reading(store, namespace, anyway=True) as engine:
        answer = engine.recall(question, k=k, recipe=recipe, now=now, context=context or ())
    if as_json:
        print_json(answer.to_dict())
    else:
        from fivefold.cli import show

        show.recall(answer, full)


@app.command()
def explain(
    question: Question,
    k: KOption = 5,
    recipe: RecipeOption = "default",
    now: NowOption = None,
    context: ContextOption = None,
    full: FullOption = False,
    store: StoreOption = None,
    namespace: NamespaceOption = "default",
    as_json: JsonOption = False,
) -> None:
    """Show how a recall came about: every route, the fusion arithmetic, every later step."""
    with reading(store, namespace, anyway=True) as engine:
        answer = engine.recall(question, k=k, recipe=recipe, now=now, context=context or ())
    if as_json:
        print_json(answer.to_dict())
    else:
        from fivefold.cli.explained import explain

        explain(answer, full)


@app.command()
def plan(
    question: Question,
    k: KOption = 5,
    recipe: RecipeOption = "default",
    now: NowOption = None,
    context: ContextOption = None,
    store: StoreOption = None,
    namespace: NamespaceOption = "default",
    as_json: JsonOption = False,
) -> None:
    """Show what a recall would do, without doing it."""
    with reading(store, namespace, anyway=True) as engine:
        chosen = engine.plan(question, k=k, recipe=recipe, now=now, context=context or ())
    if as_json:
        print_json(chosen.to_dict())
    else:
        from fivefold.cli import show

        show.plan(chosen)
