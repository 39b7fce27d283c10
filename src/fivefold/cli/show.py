"""How values look in a terminal: bars for the signals, tables for lists, plain text when piped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from rich.console import Console
from rich.table import Table
from rich.text import Text

from fivefold.memory import Memory, Report
from fivefold.recall import Hit, Plan, Recall

COLOURS = {"dense": "blue", "lexical": "magenta", "recency": "yellow", "frequency": "green"}
"""One colour a signal, wherever it is shown."""

console = Console(highlight=False, soft_wrap=True)

_WIDTH = 24


def table(title: str | None, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    shown = Table(*columns, title=title, title_justify="left", header_style="bold", box=None, pad_edge=False)
    for row in rows:
        shown.add_row(*(Text(str(cell)) for cell in row))
    console.print(shown)


def day(moment: datetime | None) -> str:
    return f"{moment:%Y-%m-%d %H:%M}" if moment else "–"


def recall(answer: Recall) -> None:
    """The hits, each with a bar for every route that found it."""
    if not answer.hits:
        console.print("Nothing found.", style="dim")
    best = max((item.contribution for hit in answer for item in hit.candidate.evidence), default=1.0) or 1.0
    for hit in answer:
        console.print(_heading(hit))
        console.print(_bars(hit, best))
    for run in answer.routes:
        if run.status == "failed":
            console.print(f"route {run.route} failed: {run.reason}", style="red")
    total = sum(timing.ms for timing in answer.timings)
    console.print(f"{len(answer)} of {answer.plan.recipe} in {total:.1f} ms · recall {answer.id}", style="dim")


def _heading(hit: Hit) -> Text:
    memory = hit.memory
    who = f" {memory.speaker}" if memory.speaker else ""
    line = Text(f"{hit.rank:>2}. ", style="bold")
    line.append(memory.content.replace("\n", " "))
    line.append(f"\n    {memory.event_at:%d %b %Y}{who} · {memory.type} · {memory.id}", style="dim")
    if memory.superseded_by:
        line.append(f" · superseded by {memory.superseded_by}", style="yellow")
    return line


def _bars(hit: Hit, best: float) -> Text:
    line = Text("    ")
    for item in hit.candidate.evidence:
        filled = max(1, round(_WIDTH * item.contribution / best)) if item.contribution > 0 else 0
        line.append("█" * filled, style=COLOURS.get(item.route, "cyan"))
        line.append(f" {item.route} #{item.rank} {item.contribution:.3f}  ", style="dim")
    for step in hit.candidate.steps:
        line.append(f"{step.stage} {step.why}  ", style="yellow")
    line.append(f"= {hit.score:.3f}", style="bold")
    return line


def plan(chosen: Plan) -> None:
    table(
        f"recipe {chosen.recipe} · k {chosen.k} · {chosen.fusion} · then {', '.join(chosen.stages) or 'nothing'}",
        ("route", "runs", "depth", "weight", "why"),
        [(part.route, "yes" if part.run else "no", part.depth, part.weight, part.reason) for part in chosen.routes],
    )


def memory(item: Memory) -> None:
    rows = [(name, value) for name, value in item.to_dict().items() if value not in (None, [], {}, "")]
    table(None, ("field", "value"), rows)


def report(done: Report) -> None:
    """What a write did, in a few lines."""
    counted = f"{len(done.stored)} stored, {len(done.merged)} merged, {len(done.superseded)} superseded"
    console.print(f"{counted}, {len(done.linked)} linked")
    if len(done.stored) == 1:
        console.print(f"  {done.stored[0]}", style="bold")
    for merge in done.merged[:5]:
        console.print(f"  merged {merge.id}: {merge.why}", style="dim")
    for link in (*done.superseded[:10], *done.linked[:5]):
        console.print(f"  {link.source} {link.relation} {link.target}: {link.why}", style="yellow")
    for note in done.notes[:5]:
        console.print(f"  note: {note}", style="dim")
