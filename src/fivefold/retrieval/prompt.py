"""A recall as a block for a prompt: numbered sources with their dates and speakers, cut to a number of tokens.

The best memories are chosen by score, then listed in the order in which they happened: a model that reads "I moved"
after "I live in Leeds" needs no rule to see which of them holds. The last turns of the conversation come first, since
they say what the question is about. The text of memories stands inside a fence, since it may come from anyone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, tzinfo
from functools import cache

from fivefold.retrieval.prompt_block import TOKEN_LENGTH, Block, Count, Item
from fivefold.text.fence import INDENT, quote
from fivefold.values.explain import NOT_FOUND
from fivefold.values.html_parts import Html, Part, html_bar, html_lines, html_quiet, html_text
from fivefold.values.reading import Span
from fivefold.values.recall import Hit, Recall
from fivefold.values.serialize import Value

LIKELY = 0.05
"""Where nothing seems to answer, a memory below this chance stays out: nineteen in twenty of such would mislead."""

FRAME_SHARE = 3
"""The long opening and the headings are used where they take at most one part in this many of the budget."""


@dataclass(frozen=True, slots=True)
class Source(Value):
    """One memory of the block. `content` is its text in the block; `score` is None for a turn that was not recalled.

    `chance` is how likely it answers, where it was recalled by a recipe that judges that.
    """

    number: int
    id: str
    content: str
    speaker: str | None
    event_at: datetime
    session_id: str | None
    score: float | None
    recent: bool
    superseded_by: str | None = None
    shortened: bool = False
    chance: float | None = None


@dataclass(frozen=True, slots=True)
class Cut(Value):
    """Memories or last turns that were found and are not in the block, and why."""

    recent: bool
    count: int
    why: str
    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Context(Value):
    """A block of text for a prompt, its sources, and what was left out. `str()` of it is the text."""

    text: str
    sources: tuple[Source, ...]
    tokens: int
    budget: int
    cut: tuple[Cut, ...]
    recall_id: str
    question: str
    found: bool = True
    """Whether something stored seems to answer, as the recall says; if not, the text says so in a line."""
    reason: str = ""
    """Why there is no source: nothing stored seems to answer, or not even one fits into the budget."""

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        """What a notebook shows: how much of the budget it takes, and the text."""
        share = html_bar([Part(f"{self.tokens} tokens", self.tokens / self.budget)])
        left_out = [f"{cut.count} left out: {cut.why}" for cut in self.cut]
        title = f"{self.tokens:,} of {self.budget:,} tokens, {len(self.sources)} sources"
        text = Html(f'<pre style="white-space:pre-wrap">{html_text(self.text)}</pre>' if self.text else "")
        return html_lines(Html(f"{share} {html_quiet('; '.join([title, *left_out]))}"), text or self.reason)


def compose(recall: Recall, budget: int, count: Count, zone: tzinfo = UTC) -> Context:
    """The block for a recall, with times in `zone`; `count(text)` is never above `budget`."""
    any_length, count = count, _count_once(count, budget)
    last = _turns(recall)
    seen = {item.memory.id for item in last}
    memories = [_memory(hit) for hit in recall if hit.memory.id not in seen]
    far = [] if recall.found else [item for item in memories if item.chance is not None and item.chance < LIKELY]
    best = [item for item in memories if recall.found or item.chance is None or item.chance >= LIKELY]
    notice = NOT_FOUND if not recall.found and count(NOT_FOUND) <= budget else ""
    block, selection = _select(Block(recall.query.now, count, len(last) + len(best), notice, zone), last, best, budget)
    text = block.text(selection, left=len(last) + len(best) - len(selection))
    if count(text) > budget:
        text = block.text(selection)
    sources = [_source(number, item) for number, item in enumerate(block.in_order(selection), 1)]
    ids = {item.memory.id for item in selection}
    full, unlikely = f"no room left in {budget} tokens", f"a chance below {LIKELY:g} where nothing seems to answer"
    cut = [*_cut(last, ids, full), *_cut(best, ids, full), *_cut(far, ids, unlikely)]
    reason = "" if sources else _reason(replace(block, count=any_length), last, best, budget)
    return Context(
        text, tuple(sources), count(text), budget, tuple(cut), recall.id, recall.query.text, recall.found, reason
    )


def _select(block: Block, last: list[Item], best: list[Item], budget: int) -> tuple[Block, list[Item]]:
    """As much as fits, under the long opening where that leaves most of the room to the memories."""
    everything = last + best
    if block.count(block.text(everything)) <= budget:
        return block, everything
    if FRAME_SHARE * block.frame(last, best) <= budget and (selection := block.choose_fitting(last, best, budget)):
        return block, selection
    brief = block.briefly()
    if brief.count(brief.text(everything)) <= budget:
        return brief, everything
    return brief, brief.choose_fitting(last, best, budget)


def _reason(block: Block, last: list[Item], best: list[Item], budget: int) -> str:
    if not last and not best:
        return NOT_FOUND
    return f"not even the beginning of one memory fits into {budget} tokens; {block.least(last, best)} are enough"


def _turns(recall: Recall) -> list[Item]:
    scores = {hit.memory.id: hit.score for hit in recall}
    chances = {hit.memory.id: hit.chance for hit in recall}
    return [
        Item(turn, scores.get(turn.id), True, quote(turn.content), chance=chances.get(turn.id))
        for turn in recall.recent
    ]


def _memory(hit: Hit) -> Item:
    return Item(hit.memory, hit.score, False, quote(hit.memory.content), _passage(hit), chance=hit.chance)


def _count_once(count: Count, budget: int) -> Count:
    """Counts a text once, and not at all where it is too long for the budget whatever its tokens are."""
    once = cache(count)
    return lambda text: budget + 1 if len(text) > budget * TOKEN_LENGTH else once(text)


def _source(number: int, item: Item) -> Source:
    memory = item.memory
    return Source(
        number,
        memory.id,
        item.text.replace(INDENT, "\n"),
        memory.speaker,
        memory.event_at,
        memory.session_id,
        item.score,
        item.recent,
        memory.superseded_by,
        item.shortened,
        item.chance,
    )


def _cut(items: Sequence[Item], selected: set[str], why: str) -> list[Cut]:
    missing = [item for item in items if item.memory.id not in selected]
    if not missing:
        return []
    ids = tuple(item.memory.id for item in missing)
    return [Cut(missing[0].recent, len(missing), why, ids)]


def _passage(hit: Hit) -> Span:
    found = hit.passage
    return (found.start, found.end) if found is not None and found.parts > 1 else (0, 0)
