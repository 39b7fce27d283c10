"""Shows memories, recalls and reports in a terminal, and as plain text when piped."""

from __future__ import annotations

import json
import math
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, tzinfo
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.table import Table
from rich.text import Text

from fivefold.cli.output import complain, phrase_note
from fivefold.retrieval.prompt import MIN_LINE_CHANCE, Context
from fivefold.retrieval.routes import ROUTES
from fivefold.text.display import BRIEF_CHARACTERS, brief, visible
from fivefold.values.explain import (
    NOT_FOUND,
    SHOWN_TEXT,
    explain_chance,
    explain_rest,
    explain_score,
    explain_search,
    mark_words,
    marked_line,
    percent,
    shown_score,
)
from fivefold.values.memory import WAYS, Memory
from fivefold.values.query import Query
from fivefold.values.recall import Hit, Recall
from fivefold.values.recall_trace import Evidence, Plan, Step
from fivefold.values.reports import Link, Page, Report, Stats, series_of
from fivefold.values.times import in_zone
from fivefold.values.validate import shorten, shown_name

if TYPE_CHECKING:
    from fivefold.evaluation import Evaluation

PIPE_WIDTH = 1_000_000
"""Columns when the output goes to a program: lines are as long as they are."""

MIN_WIDTH = 20

QUOTE_INDENT = 8
"""Columns before each further line of a memory: deeper than any line of ours below it, so that none can be forged."""


def _console() -> Console:
    """The terminal, as wide as it or COLUMNS says; NO_COLOR takes every style away."""
    columns = os.environ.get("COLUMNS", "")
    width = max(MIN_WIDTH, int(columns)) if columns.isdecimal() else None if sys.stdout.isatty() else PIPE_WIDTH
    colour = None if os.environ.get("NO_COLOR") else "auto"
    return Console(highlight=False, markup=False, emoji=False, width=width, color_system=colour)  # type: ignore[arg-type]


console: Console = _console()


def line(text: str | Text, style: str = "") -> None:
    """One line that stays one, so that it can be copied."""
    console.print(Text(visible(text)) if isinstance(text, str) else text, style=style, soft_wrap=True)


def hang(lead: str, text: str | Text, style: str = "", further: int | None = None) -> None:
    """`text` after `lead`, wrapped to the terminal, its further lines indented as far as its first."""
    body = Text(visible(text)) if isinstance(text, str) else text
    indent = len(lead) if further is None else further
    room = max(MIN_WIDTH, console.width - max(len(lead), indent))
    for number, part in enumerate(body.wrap(console, room, overflow="fold", tab_size=4)):
        part.rstrip()
        line(Text(" " * indent if number else lead, end="").append_text(part), style)


def quote(lead: str, text: str | Text, style: str = "") -> None:
    """A memory's text after `lead`, its further lines indented deeper than any line of ours."""
    hang(lead, text, style, further=QUOTE_INDENT)


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], right: Sequence[str] = ()) -> None:
    """Rows under `columns`; numbers are in `right`. The widest column gives way; without names, no header."""
    grid = Table(header_style="bold", box=None, pad_edge=False, show_header=any(columns))
    for column in columns:
        if column and column in right:
            grid.add_column(column, justify="right", no_wrap=True)
        else:
            grid.add_column(column, overflow="fold")
    for row in rows:
        grid.add_row(*(Text(visible(str(cell))) for cell in row))
    console.print(grid)


def day(moment: datetime | None) -> str:
    return f"{moment:%Y-%m-%d %H:%M}" if moment else "–"


def counted(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"


def next_page(page: Page[Any]) -> None:
    """The way to see the rest of a list, if there is any."""
    if page.cursor is not None:
        hang("", f"more with --cursor {page.cursor}", "dim")


# Memories, reports of writes, the figures of a namespace.

MIN_LIST_WIDTH = 110
"""From here on a list has one line a memory."""


def memory(item: Memory) -> None:
    """Every field that is filled."""
    table(("", ""), [(name, _cell(value)) for name, value in item.to_dict().items() if value not in (None, [], {}, "")])


def links(items: Sequence[Link], lead: str = "") -> None:
    """The memories it replaces, repeats or equals, and the reverse."""
    for link in items:
        hang(lead, f"{link.source} {link.label} {link.target}: {brief(link.why)}", "yellow", further=4)


def memories(page: Page[Memory], full: bool = False) -> None:
    """One line each if there is room, else the text below its origin."""
    if console.width >= MIN_LIST_WIDTH:
        rows = [(day(m.event_at), m.speaker or "–", m.type, m.id, brief(m.content, full)) for m in page]
        table(("date", "speaker", "type", "id", "text"), rows)
    else:
        for item in page:
            hang("", f"{day(item.event_at)} {shown_name(item.speaker or '–')} · {item.type} · {item.id}", "dim")
            hang("    ", brief(item.content, full))
    line(counted(len(page), "memory", "memories"), "dim")
    next_page(page)


def stats(figures: Stats, learned: Mapping[str, str], namespaces: Sequence[str]) -> None:
    """The contents, the learned parts, and the other namespaces."""
    sessions = figures.by_kind.get("session", 0)
    remembered = f"{figures.memories - sessions:,} remembered"
    whole = f" + {counted(sessions, 'session memory', 'session memories')}" if sessions else ""
    rows = {name: _cell(value) for name, value in figures.to_dict().items() if value not in (None, {}, [])}
    rows["memories"] = f"{figures.memories:,} ({remembered}{whole})"
    if drift := figures.drift:
        alike = "nothing to compare with" if drift.jaccard is None else f"{drift.jaccard:.0%} as the time before"
        again = ", indexed again" if drift.reindexed else ""
        rows["drift"] = f"{drift.lexemes:,} lexemes, {alike}{again}; looked at {day(drift.checked_at)}"
    rows["graph"] = figures.graph_expectation
    rows.pop("periods", None)
    if periods := figures.periods:
        first, last = (f"{each.start:%Y-%m-%d}" for each in (periods[0], periods[-1]))
        rows["over time"] = f"by {'day' if periods[0].days == 1 else 'week'}, {first} to {last}"
    for series in series_of(figures.periods):
        if any(series.heights):
            bars = "".join(BARS[math.ceil(height * (len(BARS) - 1))] for height in series.heights)
            rows[series.title.lower()] = f"{bars} {series.summary}"
    rows |= learned
    rows["namespaces"] = ", ".join(namespaces)
    table(("", ""), [(name.replace("_", " "), value) for name, value in rows.items()])


def report(done: Report, read: Memory | None = None) -> None:
    """The result of a write, in a few lines; for a single memory also the facts read out of it."""
    line(
        f"{len(done.stored):,} stored, {len(done.merged):,} merged, {len(done.superseded):,} superseded, "
        f"{len(done.linked):,} linked" + (f", {len(done.quarantined):,} in quarantine" if done.quarantined else "")
    )
    if len(done.stored) == 1:
        line(f"  {done.stored[0]}", "bold")
    if read is not None:
        entities = ", ".join(done.entities) or "–"
        for name, value in (("type", read.type), ("predicate", read.predicate or "–"), ("entities", entities)):
            hang(f"  {name:<9}  ", brief(value))
    for merge in done.merged[:5]:
        hang("  ", f"merged {merge.id}: {brief(merge.why)}", "dim", further=4)
    if len(done.merged) > 5:
        line(f"  … and {len(done.merged) - 5:,} more merged", "dim")
    links((*done.superseded[:10], *done.linked[:5]), "  ")
    for note in done.notes[:5]:
        hang("  ", f"note: {phrase_note(note)}", "dim", further=4)


def _cell(value: object) -> str:
    """A value of a JSON object in words: lists and counts joined by commas."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if isinstance(value, dict) and all(isinstance(item, int) for item in value.values()):
        return ", ".join(f"{key} {item:,}" for key, item in value.items())
    if isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    return f"{value:,}" if isinstance(value, int) else str(value)


BARS = " ▁▂▃▄▅▆▇█"
"""The columns of a plot of one line, from nothing to the largest value."""

# How a recall, a plan, a question and a context look in a terminal.

BAR_WIDTH = 24
FIGURES_WIDTH = 13
"""Columns of a rank and a contribution."""


def show_recall(answer: Recall, full: bool = False, verbose: bool = False, zone: tzinfo = UTC) -> None:
    """The hits with when, who and a short reason; `verbose` adds ids, and a bar for every route that found one."""
    if not answer.found:
        line(NOT_FOUND, "yellow")
    best = max((item.contribution for hit in answer for item in hit.candidate.evidence), default=1.0) or 1.0
    for hit in answer:
        told = percent(hit.chance) if hit.chance is not None else shown_score(hit.score, True) if hit.composite else ""
        chance = f"{told:>4}  " if told else ""
        quote(f"{hit.rank:>2}. {chance}", marked_text(hit, full))
        hang("    ", _origin(hit, zone, verbose))
        if verbose:
            _arithmetic(hit, best, answer.plan.colours())
            _company(hit, full)
    for turn in answer.recent:
        who = f"{shown_name(turn.speaker)}: " if turn.speaker else ""
        hang("recent  ", f"{who}{brief(turn.content, full)}", "dim")
    for run in answer.routes:
        if run.status in ("failed", "late"):
            hang("", f"route {run.route} {run.status}: {run.reason}", "red")
    empty = [run.route for run in answer.routes if run.status == "hits" and not run.found]
    if verbose and empty:
        hang("", f"routes that found nothing: {', '.join(empty)}", "dim")
    for note in answer.notes:
        if note.status == "failed":
            hang("", f"stage {note.stage} failed: {note.why}", "red")
    for text in answer.query.describe_weights():
        hang("", text, "dim")
    hang("", _closing(answer, verbose), "dim")


def marked_text(hit: Hit, full: bool) -> Text:
    """The memory, whole or in brief; a word that matches the question is underlined, and bold if it is near."""
    content, match = hit.memory.content, hit.passage
    words = match.words if match else ()
    segments = mark_words(content, words) if full else marked_line(content, match, BRIEF_CHARACTERS)
    text = Text()
    for segment in segments:
        style = ("", "underline", "bold underline", "bold underline")[segment.strength]
        text.append(visible(segment.text), style)
    return text


def _origin(hit: Hit, zone: tzinfo, verbose: bool) -> Text:
    memory = hit.memory
    what = f"session {memory.session_id}" if memory.kind == "session" else memory.type
    details = (what, memory.id) if verbose else (hit.reason,)
    text = Text(visible(" · ".join((when_and_who(memory, zone), *details, *_way(memory)))), style="dim")
    if memory.superseded_by:
        text.append(visible(f" · superseded by {memory.superseded_by}" if verbose else " · superseded"), style="yellow")
    return text


def _way(memory: Memory) -> Iterator[str]:
    """Shows the origin (tool, import) and the pin, if any."""
    if memory.origin in WAYS:
        yield WAYS[memory.origin]
    if memory.pinned:
        yield "pinned"


def when_and_who(memory: Memory, zone: tzinfo = UTC) -> str:
    """The day by the clocks of the namespace, and who said it."""
    who = f", {shown_name(memory.speaker)}" if memory.speaker else ""
    day = in_zone(memory.event_at, zone)
    return f"{day.day} {day:%b %Y}{who}"


def _arithmetic(hit: Hit, best: float, colours: Mapping[str, str]) -> None:
    """The bar and figures of each route, what later stages did, and the score, below each other in columns."""
    evidence, steps = hit.candidate.evidence, hit.candidate.steps
    widths = [cell_len(visible(item.route)) for item in evidence] + [cell_len(step.stage) for step in steps]
    names = min(max(widths, default=0), console.width // 2)
    room = min(BAR_WIDTH, console.width // 3, console.width - names - 4 - FIGURES_WIDTH)
    for item in evidence:
        figures = f"{set_cell_size(visible(item.route), names)} #{item.rank:<4} {item.contribution:.3f} "
        part = Text(figures, style="dim").append(_bar(item, best, room), style=f"not dim {colours.get(item.route, '')}")
        hang("    ", part)
    for step in steps:
        text = Text(visible(f"{set_cell_size(step.stage, names)} {_reason(step)}"), style="yellow")
        hang("    ", text, further=min(names + 5, console.width // 2))
    hang("    ", Text(f"{set_cell_size('=', names)} {shown_score(hit.score, hit.composite, 3)}", style="bold"))


def _reason(step: Step) -> str:
    """The first part of the reason; `explain` has all of it."""
    return step.why.partition("; ")[0]


def _bar(item: Evidence, best: float, room: int) -> str:
    return "█" * max(1, round(room * item.contribution / best)) if item.contribution > 0 and room > 0 else ""


def _company(hit: Hit, full: bool) -> None:
    """The evidence for a session, the turns that a recipe adds to a hit, and the duplicates that it replaces."""
    if hit.support is not None:
        ranks = ", ".join(f"{route} #{rank}" for route, rank in hit.support.best_turn_routes.items())
        turns = counted(hit.support.supporting_turn_count, "turn speaks", "turns speak")
        hang("    ", f"{turns} for it" + (f", the best is {ranks}" if ranks else ""), "dim")
    company = [("nearby", memory) for memory in hit.neighbours] + [("also", memory) for memory in hit.folded]
    for what, memory in company:
        who = f"{shown_name(memory.speaker)}: " if memory.speaker else ""
        text = brief(memory.content, full)
        hang("    ", f"{what:<6}  {who}{text if full else shorten(text, SHOWN_TEXT)}", "dim", further=12)


def _closing(answer: Recall, verbose: bool) -> str:
    if not verbose:
        return f"{counted(len(answer), 'memory', 'memories')} · recall {answer.id}"
    encode = sum(timing.ms for timing in answer.timings if timing.stage == "encode")
    total = sum(timing.ms for timing in answer.timings) - encode
    took = f"{total:.1f} ms" + (f" (+ {encode:.0f} ms waited for the model)" if encode >= 0.1 else "")
    recipe = f"recipe {answer.plan.recipe}{answer.plan.describe_effort()}"
    if answer.plan.filter:
        recipe += f" · filter {answer.plan.filter}"
    return f"{counted(len(answer), 'memory', 'memories')} · {recipe} · {took} · recall {answer.id}"


def show_plan(outline: Plan) -> None:
    hang("", outline.describe(), "bold")
    if outline.filter:
        hang("", f"filter {outline.filter}", "bold")
    for hint in outline.type_hints:
        hang("  ", hint.describe(), further=4)
    table(
        ("route", "runs", "depth", "weight", "why"),
        [
            (part.route, "yes" if part.run else "no", part.depth, f"{part.weight:g}", part.reason)
            for part in outline.routes
        ],
        right=("depth", "weight"),
    )


def show_query(read: Query) -> None:
    """The question as it is read, what is marked in it, and what follows from that."""
    hang("", read.marked(), "bold cyan")
    for text in read.describe():
        hang("  ", text.strip(), further=4)


def show_context(block: Context) -> None:
    """The block as it is, so that it can be piped, and below it what it took."""
    if block.text:
        sys.stdout.write(visible(block.text) + "\n\n")
    summary = f"{block.tokens:,} of {counted(block.budget, 'token', 'tokens')} · "
    summary += counted(len(block.sources), "source", "sources")
    for cut in block.cut:
        what = counted(cut.count, "turn", "turns") if cut.recent else counted(cut.count, "memory", "memories")
        summary += f" · {what} left out: {cut.why}"
    if not block.text:
        summary += f" · {block.reason}"
    sys.stdout.flush()
    complain(f"{summary} · recall {block.recall_id}")


# `fivefold explain`: the trace as text, in colour where there is a terminal.

_FAILED = re.compile(r"^  [\w-]+ +(failed|late) ")
_ROUTE = re.compile(r"^ +(?:route )?([\w-]+)")


def show_explanation(answer: Recall, full: bool = False, still: bool = False) -> None:
    """Prints `Recall.explain()`, wrapped to the terminal, matched words marked, and the models that took part.

    `still` says that noise was left out.
    """
    colours = answer.plan.colours()
    question, *search = _lines(explain_search(answer.query, answer.plan, answer.routes, answer.notes))
    _print(question, colours, "bold cyan")
    for text in search:
        _print(text, colours)
    for text in explain_chance(answer.chance, answer.found):
        _print(text, colours, "bold" if answer.found else "yellow")
    _print("", colours)
    for hit in answer.hits:
        heading = Text(f"#{hit.rank}  {shown_score(hit.score, hit.composite)}", style="bold")
        quote("", Text.assemble(heading, "  ", marked_text(hit, full)))
        for text in _lines(explain_score(hit.candidate)):
            _print(text, colours)
    *rest, times = _lines(explain_rest(answer.recent, answer.candidates, answer.timings))
    for text in rest:
        _print(text, colours)
    _print(times, colours, "dim")
    hang("  ", f"models: {', '.join(models(answer)) or 'none'}", "dim", further=6)
    if still:
        hang("  ", "the recipe's noise is left out here, so that the explanation can be repeated", "dim")


def models(answer: Recall) -> list[str]:
    """The models behind an answer, each with what it was asked for."""
    encoded = any(part.run and ROUTES[part.search].encodes for part in answer.plan.routes)
    names = [f"{answer.embedder} (embedder)"] if encoded and answer.embedder else []
    weights = answer.query.weights
    if weights is not None and not weights.source.startswith("fallback"):
        names.append(f"{weights.source.partition(';')[0].removeprefix('model ')} (weights)")
    return names + [f"{note.model} ({note.stage})" for note in answer.notes if note.status == "done" and note.model]


def _lines(parts: Sequence[str]) -> list[str]:
    return visible("\n".join(parts)).split("\n")


def _print(line: str, colours: Mapping[str, str], style: str = "") -> None:
    text = line.lstrip(" ")
    lead = len(line) - len(text)
    hang(" " * lead, _styled(line, text, colours), style, further=lead + 4)


def _styled(line: str, text: str, colours: Mapping[str, str]) -> Text:
    """Results stand out, each route has its colour, what was dropped steps back."""
    styled = Text(text)
    if text.startswith(("dropped ", "… and ")):
        styled.stylize("dim")
    elif route := _ROUTE.match(line):
        lead = len(line) - len(text)
        styled.stylize(colours.get(route[1], ""), 0, route.end() - lead)
        styled.highlight_regex(r"= -?[\d.]+|→ -?[\d.]+", "bold")
        if failed := _FAILED.match(line):
            styled.stylize("red", failed.start(1) - lead, failed.end(1) - lead)
    return styled


# A talk with the memory: what came up, what was kept, what it replaces.


def show_answer(found: Recall, zone: tzinfo) -> None:
    """The memories that answer, best first; if nothing seems to, one line that says so."""
    if not found.found:
        line(f"  {NOT_FOUND}", "yellow")
    else:
        likely = [hit for hit in found if hit.chance is None or hit.chance >= MIN_LINE_CHANCE]
        for hit in likely or found.hits[:1]:
            _hit(hit, zone)
    sys.stdout.flush()


def show_remembered(report: Report, replaced: Sequence[Memory], come: Sequence[Hit], zone: tzinfo) -> None:
    """The result for a remembered line, and the memories it calls to mind."""
    line("  remembered" if report.stored else "  known already", "dim")
    for memory in replaced:
        quote("  no longer so: ", brief(memory.content), "yellow")
    for hit in come:
        _hit(hit, zone)
    sys.stdout.flush()


def _hit(hit: Hit, zone: tzinfo) -> None:
    chance = "" if hit.chance is None else f"{percent(hit.chance):>4}  "
    quote(f"  {chance}", marked_text(hit, full=False))
    hang("    ", f"{when_and_who(hit.memory, zone)} · {hit.reason}", "dim")


def show_evaluation(found: Evaluation, worst: int) -> None:
    """The figures, what the answers say of themselves, and the worst misses."""
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
