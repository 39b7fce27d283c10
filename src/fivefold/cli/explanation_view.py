"""`fivefold explain`: the trace as text, in colour where there is a terminal."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from rich.text import Text

from fivefold.cli.recall_view import marked_text
from fivefold.cli.terminal import QUOTED, hang
from fivefold.retrieval.routes import ROUTES
from fivefold.text.display import visible
from fivefold.values.explain import explain_chance, explain_rest, explain_score, explain_search, shown_score
from fivefold.values.recall import Recall

_FAILED = re.compile(r"^  [\w-]+ +(failed|late) ")
_ROUTE = re.compile(r"^ +(?:route )?([\w-]+)")


def explain(answer: Recall, full: bool = False, still: bool = False) -> None:
    """What `Recall.explain()` says, wrapped to the terminal, words that met marked, and the models that had a say.

    `still` says that noise was left out.
    """
    colours = answer.plan.colours()
    question, *search = _lines(explain_search(answer.query, answer.plan, answer.routes, answer.notes))
    _print(question, colours, "bold cyan")
    for line in search:
        _print(line, colours)
    for line in explain_chance(answer.chance, answer.found):
        _print(line, colours, "bold" if answer.found else "yellow")
    _print("", colours)
    for hit in answer.hits:
        heading = Text(f"#{hit.rank}  {shown_score(hit.score, hit.composite)}", style="bold")
        hang("", Text.assemble(heading, "  ", marked_text(hit, full)), further=QUOTED)
        for line in _lines(explain_score(hit.candidate)):
            _print(line, colours)
    *rest, times = _lines(explain_rest(answer.recent, answer.candidates, answer.timings))
    for line in rest:
        _print(line, colours)
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
