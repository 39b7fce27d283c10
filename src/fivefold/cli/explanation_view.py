"""`fivefold explain`: the trace as text, in colour where there is a terminal."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from rich.text import Text

from fivefold.cli.recall_view import route_colours
from fivefold.cli.terminal import hang
from fivefold.retrieval.routes import ROUTES
from fivefold.text.display import brief, visible
from fivefold.values.recall import Hit, Recall

_ROUTE = re.compile(r"^ +(?:route )?([\w-]+)")
_HIT = re.compile(r"^#\d+  [\d.]+")


def explain(answer: Recall, full: bool = False, still: bool = False) -> None:
    """`Recall.explain()`, line by line, wrapped to the terminal, and the models that had a say.

    `still` says that noise was left out.
    """
    shortened = replace(answer, hits=tuple(_shorten(hit, full) for hit in answer.hits))
    lines, colours = visible(shortened.explain()).split("\n"), route_colours(answer)
    for number, line in enumerate(lines, 1):
        text = line.lstrip(" ")
        lead = len(line) - len(text)
        style = "bold cyan" if number == 1 else "dim" if number == len(lines) else ""
        hang(" " * lead, _styled(line, text, colours), style, further=lead + 4)
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


def _shorten(hit: Hit, full: bool) -> Hit:
    memory = replace(hit.memory, content=brief(hit.memory.content, full))
    return replace(hit, candidate=replace(hit.candidate, memory=memory))


def _styled(line: str, text: str, colours: Mapping[str, str]) -> Text:
    """Ranks and scores stand out, each route has its colour, what was dropped steps back."""
    styled = Text(text)
    if hit := _HIT.match(line):
        styled.stylize("bold", 0, hit.end())
    elif text.startswith(("dropped ", "… and ")):
        styled.stylize("dim")
    elif route := _ROUTE.match(line):
        lead = len(line) - len(text)
        styled.stylize(colours.get(route[1], ""), 0, route.end() - lead)
        styled.highlight_regex(r"= -?[\d.]+|→ -?[\d.]+", "bold")
        styled.highlight_regex(r" (?:failed|late) ", "red")
    return styled
