"""`fivefold evaluate`: how well a recipe answers questions of one's own, whose answers are known."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fivefold.cli.app import JsonOption, app
from fivefold.cli.output import print_json
from fivefold.cli.recipes import RecipeOption, SetOption, recipe_of

if TYPE_CHECKING:
    from fivefold.evaluation import Evaluation


@app.command()
def evaluate(
    file: Annotated[Path, typer.Argument(help="A life in JSON, or JSON lines (.jsonl); plain, .gz or .xz")],
    recipe: RecipeOption = "default",
    overrides: SetOption = None,
    embedder: Annotated[
        str | None, typer.Option("--embedder", help="Model of the vectors [default: the default embedder]")
    ] = None,
    worst: Annotated[int, typer.Option("--worst", min=0, help="How many wrong answers are shown")] = 10,
    as_json: JsonOption = False,
) -> None:
    """Ask questions of your own whose answers are known: what is found, what is refused, what goes wrong."""
    chosen = recipe_of(recipe, overrides, still=True)
    from fivefold.evaluation import evaluate as evaluate_file

    found = evaluate_file(file, chosen, embedder, progress=sys.stderr.isatty())
    if as_json:
        print_json(found)
    else:
        _show(found, worst)


def _show(found: Evaluation, worst: int) -> None:
    """The figures, what the answers say of themselves, and the worst misses."""
    from fivefold.cli.terminal import counted, hang, line, table
    from fivefold.evaluation import COVER, HITS, NEVER

    def share(value: float | None) -> str:
        return "–" if value is None else f"{value:.3f}"

    columns = (*HITS, COVER)
    rows = [
        (kind, each["n"], *(share(each[name]) for name in columns))
        for kind, each in found.by_kind.items()
        if kind != NEVER
    ]
    line(
        f"{counted(found.questions, 'question', 'questions')}, recipe {found.recipe}, embedder {found.embedder}", "bold"
    )
    table(("kind of question", "n", *columns), rows, right=("n", *columns))
    line("")
    for name, text in (
        ("hit@1", "answered by the first memory, of all that can be answered"),
        ("hit@5", "answered by one of the first five"),
        ("fresh", "of facts that changed: the newest statement above the older ones"),
        ("cover", "of what windows, lists, counts, dates and negations ask for: found among ten"),
        ("never", "of what was never said: recognised"),
        ("refused", "of what can be answered: wrongly refused"),
    ):
        if found.overall[name] is not None:
            hang(f"{share(found.overall[name])}  {name:<8} ", text)
    if found.calibration is not None:
        hang(f"{share(found.calibration.error)}  error    ", "between the chances of the first five hits and the truth")
        line("")
        bins = [
            (f"{each.start:.1f}–{each.end:.1f}", each.n, share(each.chance), share(each.right))
            for each in found.calibration.bins
        ]
        table(("chance", "hits", "mean chance", "right"), bins, right=("hits", "mean chance", "right"))
    if found.misses:
        line("")
        line(f"{counted(len(found.misses), 'question', 'questions')} not answered as expected", "bold")
    for miss in found.misses[:worst]:
        hang("? ", miss.question, "bold cyan")
        hang("  ", f"{miss.kind}: {miss.why}", "red")
        for id, text in miss.expected.items():
            hang(f"  expected {id}: ", text)
        if miss.first is not None:
            hang("  came first: ", miss.first + ("" if miss.chance is None else f" ({miss.chance:.0%})"), "dim")
    if len(found.misses) > worst:
        line(f"… and {len(found.misses) - worst:,} more; --worst shows them", "dim")
    for note in found.notes:
        hang("", note, "dim")
