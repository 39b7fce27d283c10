"""Commands that answer a question and show how."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, tzinfo
from typing import TYPE_CHECKING, Annotated

import typer
from rich.cells import cell_len, set_cell_size
from rich.text import Text

from fivefold.cli.app import (
    FullOption,
    JsonOption,
    NamespaceOption,
    StoreOption,
    app,
    complain,
    print_json,
    reading,
    with_groups,
)
from fivefold.cli.recipes import RecipeOption, SetOption, is_still, recipe_of
from fivefold.cli.terminal import QUOTED, console, counted, hang, line, table
from fivefold.retrieval.prompt import Context
from fivefold.retrieval.routes import ROUTES
from fivefold.text.display import SHOWN, brief, visible
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
from fivefold.values.times import in_zone
from fivefold.values.validate import shorten, shown_name

if TYPE_CHECKING:
    from fivefold.retrieval.recipe import Recipe


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
        show_recall(answer, full, verbose, zone)


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
        show_explanation(answer, full, still=is_still(recipe))


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
        show_context(block)


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
        show_plan(chosen)


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
        show_query(read)


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


# How a recall, a plan, a question and a context look in a terminal.

BAR = 24
SHORTEST_BAR = 4
FIGURES = 13
"""Columns of a rank and a contribution."""


def show_recall(answer: Recall, full: bool = False, verbose: bool = False, zone: tzinfo = UTC) -> None:
    """The hits with when, who and a short reason; `verbose` adds ids, and a bar for every route that found one."""
    if not answer.found:
        line(NOT_FOUND, "yellow")
    arithmetic = Arithmetic(answer) if verbose else None
    for hit in answer:
        told = percent(hit.chance) if hit.chance is not None else shown_score(hit.score, True) if hit.composite else ""
        chance = f"{told:>4}  " if told else ""
        hang(f"{hit.rank:>2}. {chance}", marked_text(hit, full), further=QUOTED)
        hang("    ", _origin(hit, zone, verbose))
        if arithmetic is not None:
            arithmetic.show(hit)
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
    """The memory, whole or in brief; a word that met one of the question is underlined, and bold where it is near."""
    content, match = hit.memory.content, hit.passage
    words = match.words if match else ()
    segments = mark_words(content, words) if full else marked_line(content, match, SHOWN)
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


class Arithmetic:
    """Bars for the routes of a recall, on one line for each hit where the terminal is wide enough for all of them."""

    def __init__(self, answer: Recall) -> None:
        shares = [item.contribution for hit in answer for item in hit.candidate.evidence]
        self.best = max(shares, default=1.0) or 1.0
        self.room = min((_room(hit) for hit in answer), default=BAR)
        self.colours = answer.plan.colours()

    def show(self, hit: Hit) -> None:
        if self.room >= SHORTEST_BAR:
            hang("    ", Text("  ").join(_parts(hit, self.best, self.room, self.colours)))
        else:
            _stacked(hit, self.best, self.colours)


def _parts(hit: Hit, best: float, room: int, colours: Mapping[str, str]) -> Iterator[Text]:
    """On one line: the bar and figures of each route, what later stages did, and the score."""
    for item in hit.candidate.evidence:
        part = Text(_bar(item, best, room), style=colours.get(item.route, "white"))
        part.append(visible(f" {item.route} #{item.rank} {item.contribution:.3f}"), style="dim")
        yield part
    for step in hit.candidate.steps:
        yield Text(visible(f"{step.stage} {_reason(step)}"), style="yellow")
    yield Text(f"= {shown_score(hit.score, hit.composite, 3)}", style="bold")


def _stacked(hit: Hit, best: float, colours: Mapping[str, str]) -> None:
    """The same below each other, in columns."""
    evidence, steps = hit.candidate.evidence, hit.candidate.steps
    widths = [cell_len(visible(item.route)) for item in evidence] + [cell_len(step.stage) for step in steps]
    names = min(max(widths, default=0), console.width // 2)
    room = min(BAR, console.width // 3, console.width - names - 4 - FIGURES)
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
        who = f"{shown_name(memory.speaker)}: " if memory.speaker else ""
        text = brief(memory.content, full)
        hang("    ", f"nearby  {who}{text if full else shorten(text, SHOWN_TEXT)}", "dim", further=12)


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
    then = ", ".join(outline.stages) or "nothing"
    hang(
        "",
        f"recipe {outline.recipe}{outline.describe_effort()} · k {outline.k} · {outline.fusion} · then {then}",
        "bold",
    )
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
    """What `Recall.explain()` says, wrapped to the terminal, words that met marked, and the models that had a say.

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
        hang("", Text.assemble(heading, "  ", marked_text(hit, full)), further=QUOTED)
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
