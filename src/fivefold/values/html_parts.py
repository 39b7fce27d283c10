"""Parts of what a notebook shows: text that is escaped, bars and tables, in colours for light and dark pages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import NamedTuple

from fivefold.values.validate import visible_text as visible

COLOURS = {
    "dense": "#2f6fed",
    "recency": "#d97706",
    "frequency": "#0f9b74",
    "turns": "#0f9b74",
    "lexical": "#d6409f",
    "graph": "#0b8fae",
    "temporal": "#7c4ddb",
    "window": "#7c4ddb",
    "associative": "#7a8b14",
    "late": "#cf3b2f",
    "other": "#7b776f",
}
"""One colour for each kind of search, in every view: similarity blue, recency amber, frequency emerald (D10)."""

ACCENT = "#2350c4"
"""The colour of a bar that stands for a chance or a share."""

_CELL = "text-align:left;vertical-align:top;padding:.15em .8em .15em 0"


class Html(str):
    """A piece of HTML that is ready; any other text is escaped when it is inserted."""

    __slots__ = ()


def html_text(text: object) -> Html:
    """Text as it is, whatever it contains; its direction of writing does not reach what stands around it."""
    return text if isinstance(text, Html) else Html(f"<bdi>{escape(visible(str(text)))}</bdi>")


def html_quiet(text: object) -> Html:
    return Html(f'<span style="opacity:.65">{html_text(text)}</span>')


class Part(NamedTuple):
    """A part of a bar: what it stands for, its share of the whole bar, and its colour."""

    name: str
    share: float
    colour: str = ACCENT


def html_bar(parts: Iterable[Part], width: float = 12.0) -> Html:
    """A bar of `width` em for shares of 1; pointing at a part shows its name."""
    pieces = []
    for part in parts:
        length = width * min(1.0, max(0.0, part.share))
        style = f"display:inline-block;height:.7em;width:{length:.2f}em;background:{part.colour}"
        pieces.append(f'<span title="{escape(visible(part.name))}" style="{style}"></span>')
    return Html(f'<span style="white-space:nowrap">{"".join(pieces)}</span>')


def html_table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> Html:
    head = "".join(f'<th style="{_CELL}">{html_text(name)}</th>' for name in columns)
    cells = ("".join(f'<td style="{_CELL}">{html_text(content)}</td>' for content in row) for row in rows)
    body = "".join(f"<tr>{row}</tr>" for row in cells)
    return Html(f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>")


def html_lines(*lines: object) -> Html:
    return Html("".join(f"<div>{html_text(line)}</div>" for line in lines))
