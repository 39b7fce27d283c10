"""The text of a tool's answer for the model: the content first, then in one line the possible next steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate, takewhile
from typing import TYPE_CHECKING

from fivefold.text.display import fenced, harmless, quote_line, quote_name
from fivefold.text.passages import tokens
from fivefold.values.explain import SHOWN_TEXT, excerpt
from fivefold.values.memory import Memory
from fivefold.values.recall import Hit, Recall
from fivefold.values.recall_trace import FusedRows, PassageMatch
from fivefold.values.reports import WITH_CHANCE
from fivefold.values.validate import shorten

if TYPE_CHECKING:
    from fivefold.retrieval.prompt import Context
    from fivefold.service.responses import DeletedNamespace, Feedback, ForgottenMemory, Namespaces
    from fivefold.values.memory import Session
    from fivefold.values.reports import Erasure, HealthExample, HealthReport, Page, Report, Stats


FENCE = tokens(fenced("")) + 1
"""Tokens of the fence around what people and programs have said."""

LINE = 300
"""Characters of a memory if it is one of several lines."""


def count_fitting(lines: Iterable[str], budget: int) -> int:
    """Number of lines, from the first on, that fit."""
    return sum(1 for _ in takewhile(lambda used: used <= budget, accumulate(tokens(line + "\n") for line in lines)))


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
    """As much of the trace as fits: texts are shortened, then lists, at last hits go; `closing` says what was cut."""
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
        alone = (replace(hit, candidate=replace(hit.candidate, neighbours=())) for hit in short)
        short = replace(short, hits=tuple(alone))
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
        neighbours=tuple(map(_shorten_memory, hit.neighbours)),
        folded=tuple(map(_shorten_memory, hit.folded)),
    )
    return replace(hit, candidate=short)


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


CLOSING_TOKENS = 60
"""Tokens reserved for the last line under a list."""


def report(done: Report) -> str:
    """The result for one remembered text. Reasons name words of memories."""
    lines = [f"Remembered as {id}." for id in done.stored]
    lines += [f"{id} waits for approval; until then no recall finds it." for id in done.quarantined]
    lines += [f"Already known as {merge.id}: {merge.why}." for merge in done.merged]
    lines += [f"{link.source} supersedes {link.target}: {link.why}." for link in done.superseded]
    read = [link for link in done.linked if link.relation in WITH_CHANCE]
    lines += [f"{link.source} {link.label} {link.target}: {link.why}." for link in read]
    lines += [f"Note: {note}." for note in done.notes]
    return "\n".join(map(quote_line, lines))


def messages_report(done: Report) -> str:
    """The result for the messages of a conversation, in one line each for new, known and replaced."""
    lines = [f"{len(done.stored)} remembered, {len(done.merged)} already known."]
    lines += (
        [f"{len(done.quarantined)} wait for approval; until then no recall finds them."] if done.quarantined else []
    )
    lines += [f"{link.source} supersedes {link.target}: {link.why}." for link in done.superseded]
    lines += [f"Note: {note}." for note in done.notes]
    return "\n".join(lines)


def block(context: Context) -> str:
    """The block of sources, or in a line why there is none: nothing seems to answer, or nothing fits."""
    return context.text or context.reason


def closing(recall_id: str) -> str:
    return f"recall_id {recall_id}. After answering, call used with it and the numbers of the sources you relied on."


def id_list(ids: Sequence[str]) -> str:
    return "\n".join(f"[{number}] id {id}" for number, id in enumerate(ids, 1))


def trace(recall_id: str, cut: Sequence[str]) -> str:
    """The last line of an explanation."""
    left = f" Cut to fit: {'; '.join(cut)}; raise token_budget for more." if cut else ""
    return f"recall_id {recall_id}.{left}"


def forget_message(forgotten: ForgottenMemory) -> str:
    memory = forgotten.memory
    return quote_line(f"Forgotten for good: {memory.id}, {shorten(memory.content, LINE)}") + _remains(forgotten.erasure)


def _remains(erasure: Erasure) -> str:
    """The place where the bytes of forgotten memories may still be; empty once they are gone."""
    return "" if erasure.complete else f"\n{erasure.detail}"


def feedback(report: Feedback) -> str:
    return f"Noted for recall {report.recall_id}: {len(report.used)} used, {len(report.not_used)} of no use."


def namespaces(listed: Namespaces) -> str:
    more = [f"There are more; go on with cursor {listed.cursor}."] if listed.cursor else []
    return "\n".join((*listed.names, *more)) or "There are no namespaces yet."


def deleted_namespace(report: DeletedNamespace) -> str:
    count = f"{report.memories} {'memory' if report.memories == 1 else 'memories'}"
    return f"Deleted for good: namespace {shorten(report.namespace, LINE)} with {count}." + _remains(report.erasure)


def session(item: Session) -> str:
    first, last = (f"{at:%Y-%m-%d %H:%M}" for at in (item.started_at, item.ended_at))
    return f"{quote_line(item.id)}: {turns_of(item)}, {first} to {last}"


def turns_of(item: Session) -> str:
    return f"{item.turns} turn" if item.turns == 1 else f"{item.turns} turns"


def sessions(page: Page[Session]) -> str:
    if not page:
        return "There are no conversations."
    more = [f"There are earlier ones; go on with cursor {page.cursor}."] if page.cursor else []
    return "\n".join((*map(session, page), *more))


def turn(memory: Memory) -> str:
    who = f" {quote_name(memory.speaker)}" if memory.speaker else ""
    return f"{memory.event_at:%Y-%m-%d %H:%M}{who}: {shorten(quote_line(memory.content), LINE)}"


def turns(memories: Sequence[Memory], left_out: int) -> str:
    first = [f"(Earlier turns left out: {left_out}; raise token_budget for more.)"] if left_out else []
    return "\n".join((*first, *map(turn, memories)))


def stats(counts: Stats) -> str:
    kinds = ", ".join(f"{name} {count:,}" for name, count in counts.by_kind.items())
    first, last = counts.first_event_at, counts.last_event_at
    span = f", {first:%Y-%m-%d} to {last:%Y-%m-%d}" if first is not None and last is not None else ""
    return (
        f"Namespace {counts.namespace!r}: {counts.memories:,} memories{f' ({kinds})' if kinds else ''}{span}.\n"
        f"{counts.sessions:,} conversations, {counts.entities:,} entities, {counts.edges:,} relations, "
        f"{counts.superseded:,} superseded.\n"
        f"{counts.recalls:,} recalls, {counts.feedback:,} uses reported; "
        f"embedded by {counts.embedder or 'nothing yet'}."
    )


def health(report: HealthReport, examples: int) -> str:
    """Each finding with what to do and a few of its memories; what is sound is not named."""
    lines = []
    for found in report.findings:
        if found.count:
            lines.append(f"{found.check}, {found.count:,}: {found.meaning}; {found.advice}.")
            lines += map(_example, found.examples[:examples])
    if not lines:
        return f"Nothing to look after among {report.memories:,} memories."
    head = f"Namespace {report.namespace!r}, {report.memories:,} memories."
    return "\n".join((head, fenced("\n".join(lines)) if examples else "\n".join(lines)))


def _example(example: HealthExample) -> str:
    other = "" if example.other is None else f"; {example.other}: {shorten(example.other_text or '', LINE)}"
    return quote_line(f"- {example.id}, {example.why}: {shorten(example.text, LINE)}{other}")
