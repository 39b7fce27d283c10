"""Text that is safe to show: what a terminal or a page would obey or hide becomes a visible mark."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from fivefold.values.validate import is_obeyed, shorten, shown_name
from fivefold.values.validate import visible_text as visible

__all__ = ["BRIEF_CHARACTERS", "brief", "escaped", "visible"]

BRIEF_CHARACTERS = 300
"""Characters of a memory that are shown if it is one of many."""


def brief(text: str, full: bool = False) -> str:
    """A memory's text as one line of about `BRIEF_CHARACTERS` characters, or all of it."""
    return visible(text) if full else shorten(visible(text), BRIEF_CHARACTERS)


def escaped(text: str) -> str:
    """JSON with the same characters as escapes, so that nothing is lost and nothing is obeyed."""
    if all(line.isprintable() for line in text.split("\n")):
        return text
    return "".join(json.dumps(c)[1:-1] if c != "\n" and is_obeyed(c) else c for c in text)


OPEN, CLOSE = "<memories>", "</memories>"
INDENT = "\n    "
"""Beginning of each further line of a quote."""

_MARK = "·"
_LESS = "<＜﹤‹〈〈⟨❮˂ᐸ"
_SLASH = "/／∕⁄⧸╱|｜¦│∣ǀ"
_UNSEEN = r"[\s\u200c\u200d\u034f\ufe00-\ufe0f\u115f\u1160\u3164\uffa0\u2800]*"
"""Characters that take no place or no ink, and could hide a tag from a plain search."""

_TAGS = (
    "memor(?:y|ies)|system|sys|assistant|human|developer|tool_\\w+|function_\\w+|invoke|antml\\w*|instructions?"
    "|start_of_turn|end_of_turn|bos|eos|s"
)
_TYPES = "user|model|tools?|functions?|parameter|prompt|thinking"
"""Names that are also types of a program, as in List<User>; there they stay as they are."""

_TAG = re.compile(
    rf"[{_LESS}](?={_UNSEEN}(?:[{_SLASH}]|(?:{_TAGS})\b))|(?<!\w)[{_LESS}](?={_UNSEEN}(?:{_TYPES})\b)", re.IGNORECASE
)
"""A closing tag of any name, a token such as <|im_start|>, or a tag that frames a role or a call."""
_BRACKET = re.compile(r"[\[［](?=\s*/?\s*(?:INST|SYS\w*|TOOL_\w+|AVAILABLE_\w+|PREFIX|SUFFIX|MIDDLE)\s*[\]］])", re.I)
"""The control tokens that are written in square brackets."""


def harmless(text: str) -> str:
    """`text` with all its words: control characters visible, and a dot in every tag or token that could end a fence."""
    return _BRACKET.sub(rf"\g<0>{_MARK}", _TAG.sub(rf"\g<0>{_MARK}", visible(text)))


def quote(text: str) -> str:
    """`text` as a quote inside a fence, its further lines indented."""
    return harmless(text).replace("\n", INDENT)


def quote_line(text: str) -> str:
    """`text` as a quote on one line, as for a name."""
    return " ".join(harmless(text).split())


def quote_name(name: str) -> str:
    """The name of a speaker on one line; one that could pose as our own words stands in quotation marks."""
    return shown_name(quote_line(name))


def fenced(text: str) -> str:
    """The fence around quotes."""
    return f"{OPEN}\n{text}\n{CLOSE}"


@contextmanager
def bar(title: str, total: int, *, show: bool) -> Iterator[Callable[[int], None]]:
    """Yields the function to call with the number of items done."""
    if not show or total == 0:
        yield lambda done: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    ) as progress:
        task = progress.add_task(title, total=total, rate="")

        def advance(done: int) -> None:
            progress.advance(task, done)
            speed = progress.tasks[task].speed
            progress.update(task, rate=f"{speed:,.0f}/s" if speed else "")

        yield advance
