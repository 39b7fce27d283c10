"""Commands that answer a question and show how."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import typer

from fivefold.cli.app import FullOption, SpaceOptions, app, terminal
from fivefold.cli.recipes import RecipeOption, SetOption, is_still, recipe_of

Question = Annotated[str, typer.Argument(help="The question")]
KOption = Annotated[int, typer.Option("-k", help="How many memories")]
NowOption = Annotated[str | None, typer.Option("--now", help="Answer as of this time, ISO 8601 [default: now]")]
HistoryOption = Annotated[list[str] | None, typer.Option("--history", help="An earlier turn; repeatable")]


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """How a question is answered."""

    recipe: RecipeOption = "default"
    overrides: SetOption = None
    now: NowOption = None
    history: HistoryOption = None
    effort: Annotated[
        str, typer.Option("--effort", help="How much work: low (quick), normal, or high (deeper lists, more read)")
    ] = "normal"
    filter: Annotated[
        str | None,
        typer.Option("--filter", help="Only memories that match, as in: speaker:ana tag:work meta.price>=10"),
    ] = None

    def arguments(self, still: bool = False) -> dict[str, Any]:
        """As the engine takes them; `still`, without noise."""
        recipe = recipe_of(self.recipe, self.overrides, still)
        options = {"now": self.now, "history": self.history or (), "effort": self.effort, "filter": self.filter}
        return {"recipe": recipe, **options}


@dataclass(frozen=True, slots=True)
class RecallOptions(PlanOptions):
    """How a question is answered, and which recent turns come with the answer."""

    recent: Annotated[
        int | None,
        typer.Option("--recent", help="How many of the last turns to add [default: as the namespace is set]"),
    ] = None
    session: Annotated[
        str | None, typer.Option("--session", help="The session whose turns --recent adds [default: the latest]")
    ] = None
    min_chance: Annotated[
        float | None, typer.Option("--min-chance", help="Leave out memories that are less likely to answer, 0 to 1")
    ] = None

    def arguments(self, still: bool = False) -> dict[str, Any]:
        turns = {"recent_turns": self.recent, "session_id": self.session, "min_chance": self.min_chance}
        return PlanOptions.arguments(self, still) | turns


@app.command()
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
    space: SpaceOptions,
) -> None:
    """Find the memories that answer a question."""
    arguments = options.arguments()
    with space.reading(anyway=True) as engine:
        answer, zone = engine.recall(question, k, **arguments), engine.settings.zone
    space.show(answer if trace else answer.brief, lambda _: terminal.show_recall(answer, full, verbose, zone))


@app.command()
def explain(
    question: Question, k: KOption = 5, *, options: RecallOptions, full: FullOption = False, space: SpaceOptions
) -> None:
    """Show how a recall finds its memories: every route, the fusion arithmetic, every later step."""
    arguments = options.arguments(still=True)
    with space.reading(anyway=True) as engine:
        answer = engine.recall(question, k, **arguments)
    space.show(answer, lambda _: terminal.show_explanation(answer, full, still=is_still(arguments["recipe"])))


@app.command()
def context(
    question: Question,
    budget: Annotated[int, typer.Option("--budget", help="How many tokens it may take")] = 1000,
    k: Annotated[int | None, typer.Option("-k", help="How many memories at most [default: as many as fit]")] = None,
    *,
    options: RecallOptions,
    space: SpaceOptions,
) -> None:
    """Write what a recall finds as a block for a prompt, cut to a number of tokens."""
    with space.reading(anyway=True) as engine:
        block = engine.context(question, token_budget=budget, k=k, **options.arguments())
    space.show(block, terminal.show_context)


@app.command()
def plan(question: Question, k: KOption = 5, *, options: PlanOptions, space: SpaceOptions) -> None:
    """Show what a recall would do, without doing it."""
    with space.reading(anyway=True) as engine:
        chosen = engine.plan(question, k, **options.arguments())
    space.show(chosen, terminal.show_plan)


@app.command()
def understand(
    question: Question, now: NowOption = None, history: HistoryOption = None, *, space: SpaceOptions
) -> None:
    """Show how a question is read: names, times, what it asks for."""
    with space.reading(anyway=True) as engine:
        read = engine.understand(question, now=now, history=history or ())
    space.show(read, terminal.show_query)
