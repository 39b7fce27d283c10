"""Commands that answer a question, and show how."""

from __future__ import annotations

from typing import Annotated

import typer

from fivefold.cli.app import FullOption, JsonOption, NamespaceOption, StoreOption, app, print_json, reading
from fivefold.cli.recipes import RecipeOption, SetOption, is_still, recipe_of

Question = Annotated[str, typer.Argument(help="The question")]
KOption = Annotated[int, typer.Option("-k", help="How many memories")]
NowOption = Annotated[str | None, typer.Option("--now", help="Answer as of this time, ISO 8601 [default: now]")]
HistoryOption = Annotated[list[str] | None, typer.Option("--history", help="An earlier turn; may be given again")]

EffortOption = Annotated[
    str, typer.Option("--effort", help="How much work: low (quick), normal, or high (deeper lists, more read)")
]
RecentOption = Annotated[
    int | None,
    typer.Option("--recent", help="Bring the last turns of the talk along, so many [default: as the namespace has it]"),
]
SessionOption = Annotated[
    str | None, typer.Option("--session", help="The session whose turns --recent brings [default: the latest]")
]


@app.command()
def recall(
    question: Question,
    k: KOption = 5,
    recipe: RecipeOption = "default",
    overrides: SetOption = None,
    now: NowOption = None,
    history: HistoryOption = None,
    effort: EffortOption = "normal",
    recent: RecentOption = None,
    session: SessionOption = None,
    full: FullOption = False,
    store: StoreOption = None,
    namespace: NamespaceOption = "default",
    as_json: JsonOption = False,
) -> None:
    """Find the memories that answer a question."""
    with reading(store, namespace, anyway=True) as engine:
        chosen = recipe_of(recipe, overrides)
        answer = engine.recall(
            question,
            k,
            recipe=chosen,
            now=now,
            history=history or (),
            effort=effort,  # type: ignore[arg-type]
            recent_turns=recent,
            session_id=session,
        )
    if as_json:
        print_json(answer.to_dict())
    else:
        from fivefold.cli import recall_view

        recall_view.recall(answer, full)


@app.command()
def explain(
    question: Question,
    k: KOption = 5,
    recipe: RecipeOption = "default",
    overrides: SetOption = None,
    now: NowOption = None,
    history: HistoryOption = None,
    effort: EffortOption = "normal",
    recent: RecentOption = None,
    session: SessionOption = None,
    full: FullOption = False,
    store: StoreOption = None,
    namespace: NamespaceOption = "default",
    as_json: JsonOption = False,
) -> None:
    """Show how a recall came about: every route, the fusion arithmetic, every later step."""
    with reading(store, namespace, anyway=True) as engine:
        chosen = recipe_of(recipe, overrides, still=True)
        answer = engine.recall(
            question,
            k,
            recipe=chosen,
            now=now,
            history=history or (),
            effort=effort,  # type: ignore[arg-type]
            recent_turns=recent,
            session_id=session,
        )
    if as_json:
        print_json(answer.to_dict())
    else:
        from fivefold.cli.explanation_view import explain

        explain(answer, full, still=is_still(chosen))


@app.command()
def context(
    question: Question,
    budget: Annotated[int, typer.Option("--budget", help="How many tokens it may take")] = 1000,
    k: KOption = 10,
    recipe: RecipeOption = "default",
    overrides: SetOption = None,
    now: NowOption = None,
    history: HistoryOption = None,
    effort: EffortOption = "normal",
    recent: RecentOption = None,
    session: SessionOption = None,
    store: StoreOption = None,
    namespace: NamespaceOption = "default",
    as_json: JsonOption = False,
) -> None:
    """Write what a recall finds as a block for a prompt, cut to a number of tokens."""
    with reading(store, namespace, anyway=True) as engine:
        made = engine.context(
            question,
            token_budget=budget,
            k=k,
            recipe=recipe_of(recipe, overrides),
            now=now,
            history=history or (),
            effort=effort,  # type: ignore[arg-type]
            recent_turns=recent,
            session_id=session,
        )
    if as_json:
        print_json(made.to_dict())
    else:
        from fivefold.cli import recall_view

        recall_view.context(made)


@app.command()
def plan(
    question: Question,
    k: KOption = 5,
    recipe: RecipeOption = "default",
    overrides: SetOption = None,
    now: NowOption = None,
    history: HistoryOption = None,
    effort: EffortOption = "normal",
    store: StoreOption = None,
    namespace: NamespaceOption = "default",
    as_json: JsonOption = False,
) -> None:
    """Show what a recall would do, without doing it."""
    with reading(store, namespace, anyway=True) as engine:
        chosen = recipe_of(recipe, overrides)
        made = engine.plan(question, k, recipe=chosen, now=now, history=history or (), effort=effort)  # type: ignore[arg-type]
    if as_json:
        print_json(made.to_dict())
    else:
        from fivefold.cli import recall_view

        recall_view.plan(made)
