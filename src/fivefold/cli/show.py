"""How values look in a terminal: bars for the signals, tables for lists, plain text when piped."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from textwrap import shorten
from typing import Any

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.table import Table
from rich.text import Text

from fivefold.cli.app import complain, with_options
from fivefold.retrieval.prompt import Context
from fivefold.text.display import brief, visible
from fivefold.values.memory import Memory
from fivefold.values.paging import Page
from fivefold.values.recall import SHOWN_TEXT, Evidence, Hit, Plan, Recall
from fivefold.values.reports import Drift, Report, Stats

COLOURS = {
    "dense": "blue",
    "lexical": "magenta",
    "graph": "cyan",
    "temporal": "bright_blue",
    "recency": "yellow",
    "frequency": "green",
    "associative": "bright_cyan",
}
"""One colour a kind of search, wherever it is shown (D10)."""

PIPED = 1_000_000
"""Columns when the output goes to a program: lines are as long as they are."""

NARROWEST = 20
WIDE = 110
"""From here on a list has one line a memory."""

BAR = 24
SHORTEST_BAR = 4
FIGURES = 13
"""Columns of a rank and a contribution."""


def _console() -> Console:
    """The terminal, as wide as it or COLUMNS says; NO_COLOR takes every style away."""
    given = os.environ.get("COLUMNS", "")
    width = max(NARROWEST, int(given)) if given.isdecimal() else None if sys.stdout.isatty() else PIPED
    colour = None if os.environ.get("NO_COLOR") else "auto"
    return Console(highlight=False, markup=False, emoji=False, width=width, color_system=colour)  # type: ignore[arg-type]


console = _console()


def line(text: str | Text, style: str = "") -> None:
    """One line that stays one, so that it can be copied."""
    console.print(Text(visible(text)) if isinstance(text, str) else text, style=style, soft_wrap=True)


def hang(lead: str, text: str | Text, style: str = "", further: int | None = None) -> None:
    """`text` after `lead`, wrapped to the terminal, its further lines indented as far as its first."""
    body = Text(visible(text)) if isinstance(text, str) else text
    indent = len(lead) if further is None else further
    room = max(NARROWEST, console.width - max(len(lead), indent))
    for number, part in enumerate(body.wrap(console, room, overflow="fold", tab_size=4)):
        part.rstrip()
        line(Text(" " * indent if number else lead, end="").append_text(part), style)


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], right: Sequence[str] = ()) -> None:
    """Rows under `columns`, numbers in those of `right`. The widest column gives way; without names, no header."""
    shown = Table(header_style="bold", box=None, pad_edge=False, show_header=any(columns))
    for column in columns:
        if column and column in right:
            shown.add_column(column, justify="right", no_wrap=True)
        else:
            shown.add_column(column, overflow="fold")
    for row in rows:
        shown.add_row(*(Text(visible(str(cell))) for cell in row))
    console.print(shown)


def day(moment: datetime | None) -> str:
    return f"{moment:%Y-%m-%d %H:%M}" if moment else "–"


def counted(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"


def recall(answer: Recall, full: bool = False) -> None:
    """The hits, each with a bar for every route that found it."""
    if not answer.hits:
        line("Nothing found.", "dim")
    best = max((item.contribution for hit in answer for item in hit.candidate.evidence), default=1.0) or 1.0
    room = min((_room(hit) for hit in answer), default=BAR)
    colours = colours_of(answer)
    for hit in answer:
        hang(f"{hit.rank:>2}. ", brief(hit.memory.content, full))
        hang("    ", _origin(hit.memory))
        if room >= SHORTEST_BAR:
            hang("    ", Text("  ").join(_parts(hit, best, room, colours)))
        else:
            _stacked(hit, best, colours)
        _company(hit, full)
    for turn in answer.recent:
        who = f"{turn.speaker}: " if turn.speaker else ""
        hang("recent  ", f"{who}{brief(turn.content, full)}", "dim")
    for run in answer.routes:
        if run.status in ("failed", "late"):
            hang("", f"route {run.route} {run.status}: {run.reason}", "red")
    for note in answer.notes:
        if note.status == "failed":
            hang("", f"stage {note.stage} failed: {note.why}", "red")
    hang("", _closing(answer), "dim")


def colours_of(answer: Recall) -> dict[str, str]:
    """The colour of each route of a recall, whatever the recipe calls it."""
    return {part.route: COLOURS.get(part.search, "white") for part in answer.plan.routes}


def _origin(memory: Memory) -> Text:
    who = f" {memory.speaker}" if memory.speaker else ""
    what = f"session {memory.session_id}" if memory.kind == "session" else memory.type
    told = Text(visible(f"{memory.event_at:%d %b %Y}{who} · {what} · {memory.id}"), style="dim")
    if memory.superseded_by:
        told.append(visible(f" · superseded by {memory.superseded_by}"), style="yellow")
    return told


def _parts(hit: Hit, best: float, room: int, colours: Mapping[str, str]) -> Iterator[Text]:
    """On one line: the bar and figures of each route, what later stages did, and the score."""
    for item in hit.candidate.evidence:
        part = Text(_bar(item, best, room), style=colours.get(item.route, "white"))
        part.append(visible(f" {item.route} #{item.rank} {item.contribution:.3f}"), style="dim")
        yield part
    for step in hit.candidate.steps:
        yield Text(visible(f"{step.stage} {step.why}"), style="yellow")
    yield Text(f"= {hit.score:.3f}", style="bold")


def _stacked(hit: Hit, best: float, colours: Mapping[str, str]) -> None:
    """The same below each other, in columns."""
    evidence, steps = hit.candidate.evidence, hit.candidate.steps
    named = [cell_len(visible(item.route)) for item in evidence] + [cell_len(step.stage) for step in steps]
    names = min(max(named, default=0), console.width // 2)
    room = min(BAR, console.width // 3, console.width - names - 4 - FIGURES)
    for item in evidence:
        figures = f"{set_cell_size(visible(item.route), names)} #{item.rank:<4} {item.contribution:.3f} "
        part = Text(figures, style="dim").append(_bar(item, best, room), style=f"not dim {colours.get(item.route, '')}")
        hang("    ", part)
    for step in steps:
        told = Text(visible(f"{set_cell_size(step.stage, names)} {step.why}"), style="yellow")
        hang("    ", told, further=min(names + 5, console.width // 2))
    hang("    ", Text(f"{set_cell_size('=', names)} {hit.score:.3f}", style="bold"))


def _bar(item: Evidence, best: float, room: int) -> str:
    return "█" * max(1, round(room * item.contribution / best)) if item.contribution > 0 and room > 0 else ""


def _room(hit: Hit) -> int:
    """How long each bar may be for the whole of a hit's evidence to stand on one line."""
    figures = Text("  ").join(_parts(hit, 1.0, 0, {})).cell_len
    return min(BAR, (console.width - 4 - figures) // max(1, len(hit.candidate.evidence)))


def _company(hit: Hit, full: bool) -> None:
    """What speaks for a session, and the turns a recipe brings along with a hit."""
    if hit.support is not None:
        ranks = ", ".join(f"{route} #{rank}" for route, rank in hit.support.best_turn_routes.items())
        turns = counted(hit.support.supporting_turn_count, "turn speaks", "turns speak")
        hang("    ", f"{turns} for it" + (f", the best is {ranks}" if ranks else ""), "dim")
    for memory in hit.neighbours:
        who = f"{memory.speaker}: " if memory.speaker else ""
        text = brief(memory.content, full)
        hang("    ", f"beside  {who}{text if full else shorten(text, SHOWN_TEXT, placeholder='…')}", "dim", further=12)


def _closing(answer: Recall) -> str:
    encode = sum(timing.ms for timing in answer.timings if timing.stage == "encode")
    total = sum(timing.ms for timing in answer.timings) - encode
    took = f"{total:.1f} ms" + (f" (+ {encode:.0f} ms to encode the question)" if encode >= 0.1 else "")
    recipe = f"recipe {answer.plan.recipe}{answer.plan.describe_effort()}"
    return f"{counted(len(answer), 'memory', 'memories')} · {recipe} · {took} · recall {answer.id}"


def plan(chosen: Plan) -> None:
    then = ", ".join(chosen.stages) or "nothing"
    hang("", f"recipe {chosen.recipe}{chosen.describe_effort()} · k {chosen.k} · {chosen.fusion} · then {then}", "bold")
    table(
        ("route", "runs", "depth", "weight", "why"),
        [
            (part.route, "yes" if part.run else "no", part.depth, f"{part.weight:g}", part.reason)
            for part in chosen.routes
        ],
        right=("depth", "weight"),
    )


def memory(item: Memory) -> None:
    """Every field that is filled."""
    table(("", ""), [(name, _cell(value)) for name, value in item.to_dict().items() if value not in (None, [], {}, "")])


def memories(found: Page[Memory], full: bool = False) -> None:
    """One line each where there is room, else the text below its origin."""
    if console.width >= WIDE:
        rows = [(day(m.event_at), m.speaker or "–", m.type, m.id, brief(m.content, full)) for m in found]
        table(("date", "speaker", "type", "id", "text"), rows)
    else:
        for item in found:
            hang("", f"{day(item.event_at)} {item.speaker or '–'} · {item.type} · {item.id}", "dim")
            hang("    ", brief(item.content, full))
    line(counted(len(found), "memory", "memories"), "dim")
    further(found)


def further(found: Page[Any]) -> None:
    """How to see the rest of a list, if there is any."""
    if found.cursor is not None:
        hang("", f"more with --cursor {found.cursor}", "dim")


def context(made: Context) -> None:
    """The block as it is, so that it can be piped, and below it what it took."""
    if made.text:
        sys.stdout.write(visible(made.text) + "\n\n")
    told = f"{made.tokens:,} of {counted(made.budget, 'token', 'tokens')} · "
    told += counted(len(made.sources), "source", "sources")
    for cut in made.cut:
        what = counted(cut.count, "turn", "turns") if cut.recent else counted(cut.count, "memory", "memories")
        told += f" · {what} left out: {cut.why}"
    sys.stdout.flush()
    complain(f"{told} · recall {made.recall_id}")


def stats(held: Stats, learned: Mapping[str, str], namespaces: Sequence[str]) -> None:
    """What there is, what use has taught, and the other namespaces."""
    sessions = held.by_kind.get("session", 0)
    remembered = f"{held.memories - sessions:,} remembered"
    whole = f" + {counted(sessions, 'session memory', 'session memories')}" if sessions else ""
    rows = {name: _cell(value) for name, value in held.to_dict().items() if value not in (None, {}, [])}
    rows["memories"] = f"{held.memories:,} ({remembered}{whole})"
    if held.drift is not None:
        rows["drift"] = _drift(held.drift)
    rows |= learned
    rows["namespaces"] = ", ".join(namespaces)
    table(("", ""), [(name.replace("_", " "), value) for name, value in rows.items()])


def _drift(found: Drift) -> str:
    """The last look at the vocabulary, in words."""
    alike = "nothing to compare with" if found.jaccard is None else f"{found.jaccard:.0%} as the time before"
    again = ", indexed anew" if found.reindexed else ""
    return f"{found.lexemes:,} lexemes, {alike}{again}; looked at {day(found.checked_at)}"


def report(done: Report, read: Memory | None = None) -> None:
    """What a write did, in a few lines; for a single memory also what was read out of it."""
    line(
        f"{len(done.stored):,} stored, {len(done.merged):,} merged, {len(done.superseded):,} superseded, "
        f"{len(done.linked):,} linked"
    )
    if len(done.stored) == 1:
        line(f"  {done.stored[0]}", "bold")
    if read is not None:
        named = ", ".join(done.entities) or "–"
        for name, value in (("type", read.type), ("predicate", read.predicate or "–"), ("entities", named)):
            hang(f"  {name:<9}  ", brief(value))
    for merge in done.merged[:5]:
        hang("  ", f"merged {merge.id}: {brief(merge.why)}", "dim", further=4)
    if len(done.merged) > 5:
        line(f"  … and {len(done.merged) - 5:,} more merged", "dim")
    for link in (*done.superseded[:10], *done.linked[:5]):
        hang("  ", f"{link.source} {link.relation} {link.target}: {brief(link.why)}", "yellow", further=4)
    for note in done.notes[:5]:
        hang("  ", f"note: {with_options(note)}", "dim", further=4)


def _cell(value: object) -> str:
    """A value of a JSON object in words: lists and counts joined by commas."""
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if isinstance(value, dict) and all(isinstance(item, int) for item in value.values()):
        return ", ".join(f"{key} {item:,}" for key, item in value.items())
    if isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    return f"{value:,}" if isinstance(value, int) else str(value)
