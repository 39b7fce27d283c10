"""Commands that answer questions: a single one, its explanation, a chat, or a file with known answers."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fivefold.cli.app import FullOption, JsonOption, SpaceOptions, app, opened, terminal
from fivefold.cli.output import complain, kind, phrase, print_json, say
from fivefold.cli.recipes import RecipeOption, SetOption, is_still, recipe_of
from fivefold.errors import FivefoldError

if TYPE_CHECKING:
    from fivefold.engine import Engine
    from fivefold.values.recall import Recall
    from fivefold.values.reports import Report

Question = Annotated[str, typer.Argument(help="The question")]
KOption = Annotated[int, typer.Option("-k", help="Number of memories")]
NowOption = Annotated[str | None, typer.Option("--now", help="Answer as of this time, ISO 8601 [default: now]")]
HistoryOption = Annotated[list[str] | None, typer.Option("--history", help="An earlier turn; repeatable")]


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """Options for the way a question is answered."""

    recipe: RecipeOption = "default"
    overrides: SetOption = None
    now: NowOption = None
    history: HistoryOption = None
    effort: Annotated[
        str, typer.Option("--effort", help="The work to do: low (quick), normal, or high (searches deeper, reads more)")
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
    """Options for the way a question is answered, and for the recent turns that come with the answer."""

    recent: Annotated[
        int | None,
        typer.Option("--recent", help="Number of the last turns to add [default: the setting of the namespace]"),
    ] = None
    session: Annotated[
        str | None, typer.Option("--session", help="The session whose turns --recent adds [default: the latest]")
    ] = None
    min_chance: Annotated[
        float | None, typer.Option("--min-chance", help="Leave out memories with a smaller chance to answer, 0 to 1")
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
    trace: Annotated[bool, typer.Option("--trace", help="With --json, the whole trace of the recall")] = False,
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
    """Explain how a recall finds its memories: every route, the arithmetic of fusion, every later step."""
    arguments = options.arguments(still=True)
    with space.reading(anyway=True) as engine:
        answer = engine.recall(question, k, **arguments)
    space.show(answer, lambda _: terminal.show_explanation(answer, full, still=is_still(arguments["recipe"])))


@app.command()
def context(
    question: Question,
    budget: Annotated[int, typer.Option("--budget", help="Maximum number of tokens")] = 1000,
    k: Annotated[int | None, typer.Option("-k", help="Maximum number of memories [default: as many as fit]")] = None,
    *,
    options: RecallOptions,
    space: SpaceOptions,
) -> None:
    """Write the memories of a recall as a block for a prompt, within a number of tokens."""
    with space.reading(anyway=True) as engine:
        block = engine.context(question, token_budget=budget, k=k, **options.arguments())
    space.show(block, terminal.show_context)


@app.command()
def plan(question: Question, k: KOption = 5, *, options: PlanOptions, space: SpaceOptions) -> None:
    """Show the plan of a recall without running it."""
    with space.reading(anyway=True) as engine:
        chosen = engine.plan(question, k, **options.arguments())
    space.show(chosen, terminal.show_plan)


@app.command()
def understand(
    question: Question, now: NowOption = None, history: HistoryOption = None, *, space: SpaceOptions
) -> None:
    """Show the reading of a question: names, times, demands."""
    with space.reading(anyway=True) as engine:
        read = engine.understand(question, now=now, history=history or ())
    space.show(read, terminal.show_query)


# `fivefold chat`: a prompt that remembers and recalls as you type, or a line at a time from a pipe.

PROMPT = "› "
GREETING = "Say something to remember, or ask a question that ends with ?. Ctrl-D ends."

COMES_TO_MIND = 0.3
"""Minimum chance of an earlier memory that is shown with a new one."""


@app.command()
def chat(
    k: Annotated[int, typer.Option("-k", help="Number of memories that answer a question")] = 3,
    speaker: Annotated[str, typer.Option("--speaker", help="The speaker")] = "user",
    session: Annotated[str | None, typer.Option("--session", help="The conversation [default: a new one]")] = None,
    *,
    space: SpaceOptions,
) -> None:
    """Talk to the memory: it remembers statements and answers questions. It also reads lines from a pipe."""
    from fivefold.values.times import utc_now

    with opened(space.store, space.namespace) as engine:
        session_id = session or f"chat {utc_now():%Y-%m-%d %H:%M:%S}"
        for text in _lines(quiet=space.as_json):
            try:
                asks = text.endswith("?")
                answer = engine.recall(text, k=k)
                report = None if asks else engine.remember(text, speaker=speaker, session_id=session_id)
            except FivefoldError as error:  # the line is refused, and the talk goes on
                if space.as_json:
                    print_json({"error": {"type": kind(error), "message": phrase(error)}}, indent=None)
                else:
                    complain(phrase(error))
                continue
            if space.as_json:
                print_json({"text": text, "recall": answer.brief, "report": report}, indent=None)
            else:
                _show_turn(engine, answer, report)


def _lines(quiet: bool) -> Iterator[str]:
    """Each line that is typed after a prompt, or each line of a pipe; empty ones are skipped."""
    if not sys.stdin.isatty():
        yield from filter(None, (line.strip() for line in sys.stdin))
        return
    with suppress(ImportError):
        import_module("readline")  # arrow keys, where Python has it
    if not quiet:
        say(GREETING)
    while True:
        try:
            text = input(PROMPT).strip()
        except EOFError:
            sys.stdout.write("\n")
            return
        if text:
            yield text


def _show_turn(engine: Engine, answer: Recall, report: Report | None) -> None:
    if report is None:
        terminal.show_answer(answer, engine.settings.zone)
        return
    replaced = [engine.get(link.target) for link in report.superseded]
    seen = {*report.stored, *(merge.id for merge in report.merged), *(memory.id for memory in replaced)}
    come = [hit for hit in answer if hit.memory.id not in seen and (hit.chance or 0) >= COMES_TO_MIND]
    terminal.show_remembered(report, replaced, come if answer.found else [], engine.settings.zone)


# `fivefold evaluate`: how well a recipe answers questions of one's own, whose answers are known.


@app.command()
def evaluate(
    file: Annotated[Path, typer.Argument(help="A life in JSON, or JSON lines (.jsonl); plain, .gz or .xz")],
    recipe: RecipeOption = "default",
    overrides: SetOption = None,
    embedder: Annotated[
        str | None, typer.Option("--embedder", help="Model of the vectors [default: the default embedder]")
    ] = None,
    worst: Annotated[int, typer.Option("--worst", min=0, help="Number of wrong answers to show")] = 10,
    as_json: JsonOption = False,
) -> None:
    """Measure recall on your own questions with known answers, and list the wrong ones."""
    chosen = recipe_of(recipe, overrides, still=True)
    from fivefold.evaluation import evaluate as evaluate_file

    found = evaluate_file(file, chosen, embedder, progress=sys.stderr.isatty())
    if as_json:
        print_json(found)
    else:
        terminal.show_evaluation(found, worst)
