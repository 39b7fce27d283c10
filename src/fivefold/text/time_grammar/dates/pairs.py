"""Two dates that are the ends of one stretch: "from 28 June to 3 July", "between Monday and Thursday"."""

from __future__ import annotations

import re
from collections.abc import Sequence

from fivefold.text.time_grammar.dates.forms import Term
from fivefold.text.time_grammar.periods import Span

_OPENS = re.compile(
    r"(?P<word>\b(?:from|between|vom|von|zwischen|del|de|desde|entre|du|dal|fra|tra))(?:\sthe)?\s$", re.I
)
_JOINS = re.compile(
    r"\s*[-–—]\s*|\s(?P<word>to|until|till|through|and|bis|zum|und|al|hasta|y|au|et|e|ao|até)(?:\s(?:the|zum|el))?\s",
    re.I,
)
_BOTH = frozenset("and und y et e".split())
_BETWEEN = frozenset("between zwischen entre fra tra".split())


def join_pairs(text: str, terms: Sequence[Term]) -> list[Term]:
    """The terms, with each pair of ends made one."""
    joined: list[Term] = []
    for term in terms:
        whole = _whole(text, joined[-1], term) if joined else None
        if whole:
            joined[-1] = whole
        else:
            joined.append(term)
    return joined


def _whole(text: str, first: Term, last: Term) -> Term | None:
    joins = _JOINS.fullmatch(text, first.end, last.start)
    if joins is None or first.span.start >= last.span.start or first.span.end > last.span.end:
        return None
    opens = _OPENS.search(text, max(0, first.start - 16), first.start)
    word = (joins["word"] or "").casefold()
    if word in _BOTH and (opens is None or opens["word"].casefold() not in _BETWEEN):
        return None
    if word and opens is None and first.span.end - first.span.start > last.span.end - last.span.start:
        return None
    return Term(first.start, last.end, Span(first.span.start, last.span.end))
