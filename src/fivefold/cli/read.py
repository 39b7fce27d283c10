"""Commands that answer a question and show how."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import tzinfo
from typing import TYPE_CHECKING, Annotated

import typer

from fivefold.cli.app import FullOption, JsonOption, NamespaceOption, StoreOption, app, print_json, reading
from fivefold.cli.options import with_groups
from fivefold.cli.recipes import RecipeOption, SetOption, is_still, recipe_of

if TYPE_CHECKING:
    from fivefold.retrieval.recipe import Recipe
    from fivefold.values.recall import Recall

Question = Annotated[str, typer.Argument(help="The question")]
KOption = Annotated[int, typer.Option("-k", help="How many memories")]
MaxKOption = Annotated[int | None, typer.Option("-k", help="How many memories at most [default: as many as fit]")]
NowOption = Annotated[str | None, typer.Option("--now", help="Answer as of this time, ISO 8601 [default: now]")]
HistoryOption = Annotated[list[str] | None, typer.Option("--history", help="An earlier turn; repeatable")]

EffortOption = Annotated[
    str, typer.Option("--effort", help="How much work: low (quick), normal, or high (deeper lists, more read)")
]
RecentOption = Annotated[
    int | None, typer.Option("--recent", help="How many of the last turns to add [default: as the namespace is set]")
]
SessionOption = Annotated[
    str | None, typer.Option("--session", help="The session whose turns --recent adds [default: the latest]")
]
MinChanceOption = Annotated[
    float | None, typer.Option("--min-chance", help="Leave out memories that are less likely to answer, 0 to 1")
]
FilterOption = Annotated[
    str | None, typer.Option("--filter", help="Only memories that match, as in: speaker:ana tag:work meta.price>=10")
]


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """How a question is answered."""

    recipe: RecipeOption = "default"
    overrides: SetOption = None
    now: NowOption = None
    history: HistoryOption = None
    effort: EffortOption = "normal"
    filter: FilterOption = None


@dataclass(frozen=True, slots=True)
class RecallOptions(PlanOptions):
    """How a question is answered, and which recent turns come with the answer."""

    recent: RecentOption = None
    session: SessionOption = None
    min_chance: MinChanceOption = None


@app.command()
@with_groups
def recall(
    question: Question,
    k: KOption = 5,
    *,
    options: RecallOptions,
    full: FullOption = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Show the arithmetic: a bar for every route")
    ] = False,
    trace: Annotated[bool, typer.Option("--trace", help="With --json, the whole trace of how they were found")] = False,
    store: StoreOption = None,
    namespace: NamespaceOption = "default",
    as_json: JsonOption = False,
) -> None:
    """Find the memories that answer a question."""
    recipe = recipe_of(options.recipe, options.overrides)
    answer, zone = _recall(question, k, recipe, options, store, namespace)
    if as_json:
        print_json(answer.to_dict() if trace else answer.summary())
    else:
        from fivefold.cli import recall_view

        recall_view.recall(answer, full, verbose, zone)


@app.command()
@with_groups
def explain(
    question: Question,
    k: KOption = 5,
    *,
    options: RecallOptions,
    full: FullOption = False,
    store: StoreOption = None,
    namespace: NamespaceOption = "default",
    as_json: JsonOption = False,
) -> None:
    """Show how a recall finds its memories: every route, the fusion arithmetic, every later step."""
    recipe = recipe_of(options.recipe, options.overrides, still=True)
    answer, _ = _recall(question, k, recipe, options, store, namespace)
    if as_json:
        print_json(answer.to_dict())
    else:
        from fivefold.cli.explanation_view import explain

        explain(answer, full, still=is_still(recipe))


@app.command()
@with_groups
def context(
    question: Question,
    budget: Annotated[int, typer.Option("--budget", help="How many tokens it may take")] = 1000,
    k: MaxKOption = None,
    *,
    options: RecallOptions,
    store: StoreOption = None,
    namespace: NamespaceOption = "default",
    as_json: JsonOption = False,
) -> None:
    """Write what a recall finds as a block for a prompt, cut to a number of tokens."""
    with reading(store, namespace, anyway=True) as engine:
        block = engine.context(
            question,
            token_budget=budget,
            k=k,
            recipe=recipe_of(options.recipe, options.overrides),
            now=options.now,
            history=options.history or (),
            effort=options.effort,  # type: ignore[arg-type]
            recent_turns=options.recent,
            session_id=options.session,
            min_chance=options.min_chance,
            filter=options.filter,
        )
    if as_json:
        print_json(block.to_dict())
    else:
        from fivefold.cli import recall_view

        recall_view.context(block)


@app.command()
@with_groups
def plan(
    question: Question,
    k: KOption = 5,
    *,
    options: PlanOptions,
    store: StoreOption = None,
    namespace: NamespaceOption = "default",
    as_json: JsonOption = False,
) -> None:
    """Show what a recall would do, without doing it."""
    with reading(store, namespace, anyway=True) as engine:
        chosen = engine.plan(
            question,
            k,
            recipe=recipe_of(options.recipe, options.overrides),
            now=options.now,
            history=options.history or (),
            effort=options.effort,  # type: ignore[arg-type]
            filter=options.filter,
        )
    if as_json:
        print_json(chosen.to_dict())
    else:
        from fivefold.cli import recall_view

        recall_view.plan(chosen)


@app.command()
def understand(
    question: Question,
    now: NowOption = None,
    history: HistoryOption = None,
    store: StoreOption = None,
    namespace: NamespaceOption = "default",
    as_json: JsonOption = False,
) -> None:
    """Show how a question is read: names, times, what it asks for."""
    with reading(store, namespace, anyway=True) as engine:
        read = engine.understand(question, now=now, history=history or ())
    if as_json:
        print_json(read.to_dict())
    else:
        from fivefold.cli import recall_view

        recall_view.query(read)


def _recall(
    question: str, k: int, recipe: Recipe, options: RecallOptions, store: str | None, namespace: str
) -> tuple[Recall, tzinfo]:
    """The answer, and the zone in which its times are shown."""
    with reading(store, namespace, anyway=True) as engine:
        answer = engine.recall(
            question,
            k,
            recipe=recipe,
            now=options.now,
            history=options.history or (),
            effort=options.effort,  # type: ignore[arg-type]
            recent_turns=options.recent,
            session_id=options.session,
            min_chance=options.min_chance,
            filter=options.filter,
        )
        return answer, engine.settings.zone
