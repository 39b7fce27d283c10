"""Answers cut to a number of tokens; the answer says how much was left out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from fivefold.text.fence import fenced, harmless
from fivefold.text.tokens import tokens
from fivefold.values.excerpt import excerpt
from fivefold.values.explain import SHOWN_TEXT
from fivefold.values.memory import Memory
from fivefold.values.recall import Hit, Recall
from fivefold.values.recall_trace import FusedRows, PassageMatch

FENCE = tokens(fenced("")) + 1
"""Tokens of the fence around what people and programs have said."""

LINE = 300
"""Characters of a memory where it is one of several lines."""


def count_fitting(lines: Iterable[str], budget: int) -> int:
    """How many of the lines, from the first on, fit."""
    room, count = budget, 0
    for line in lines:
        room -= tokens(line + "\n")
        if room < 0:
            break
        count += 1
    return count


def clip(text: str, budget: int) -> str:
    """A text, or as many of its first characters as fit, and a sign that more follows."""
    if tokens(text) <= budget:
        return text
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if tokens(text[:middle] + "…") <= budget else (low, middle - 1)
    return text[:low] + "…"


def first_lines(text: str, budget: int) -> str:
    """The first whole lines of a text that fit, and a sign that more follows."""
    if tokens(text) <= budget:
        return text
    lines = text.splitlines()
    return "\n".join((*lines[: count_fitting(lines, budget - tokens("\n…"))], "…"))


def fit_trace(recall: Recall, budget: int, closing: Callable[[Sequence[str]], str]) -> tuple[Recall, str]:
    """As much of the trace as fits: first texts are shortened, then lists, at last hits are left out.

    `closing` says what was cut.
    """
    for shorter, cut in _shorter(recall):
        text = f"{fenced(harmless(shorter.explain()))}\n{closing(cut)}"
        if tokens(text) <= budget:
            return shorter, text
    end = closing([*cut, "the end of this text"])
    text = first_lines(harmless(shorter.explain()), budget - tokens(end) - FENCE)
    return shorter, f"{fenced(text)}\n{end}"


def _shorter(recall: Recall) -> Iterator[tuple[Recall, list[str]]]:
    yield recall, []
    short = replace(recall, hits=tuple(map(_shorten_hit, recall.hits)))
    cut = ["memories to a few words"] if short != recall else []
    yield short, cut
    if any(hit.neighbours for hit in short):
        short = replace(short, hits=tuple(_without_neighbours(hit) for hit in short))
        cut = [*cut, "the turns next to each hit"]
        yield short, cut
    if dropped := sum(one.rank is None for one in short.candidates):
        cut = [*cut, f"all {dropped} that were dropped"]
        short = replace(short, dropped=(), fused=FusedRows())
        yield short, cut
    if any(run.top for run in short.routes):
        short = replace(short, routes=tuple(replace(run, top=(), hits=()) for run in short.routes))
        cut = [*cut, "the first hits of each route"]
        yield short, cut
    for count in range(len(short) - 1, -1, -1):
        yield replace(short, hits=short.hits[:count]), [*cut, f"{len(short) - count} of {len(short)} memories"]


def _shorten_hit(hit: Hit) -> Hit:
    short = replace(
        hit.candidate,
        memory=_shorten_memory(hit.memory, hit.passage),
        neighbours=tuple(_shorten_memory(memory) for memory in hit.neighbours),
    )
    return replace(hit, candidate=short)


def _without_neighbours(hit: Hit) -> Hit:
    return replace(hit, candidate=replace(hit.candidate, neighbours=()))


def _shorten_memory(memory: Memory, match: PassageMatch | None = None) -> Memory:
    return replace(
        memory,
        content=_shorten(memory.content, match),
        user_text=memory.user_text and _shorten(memory.user_text),
        assistant_text=memory.assistant_text and _shorten(memory.assistant_text),
        next_user_text=memory.next_user_text and _shorten(memory.next_user_text),
    )


def _shorten(text: str, match: PassageMatch | None = None) -> str:
    return text if len(text) <= SHOWN_TEXT else excerpt(text, match, SHOWN_TEXT)
