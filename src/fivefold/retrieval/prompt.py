"""A recall as a block for a prompt: numbered sources with their dates and speakers, cut to a number of tokens.

The best memories are chosen by score, then listed in the order in which they happened: a model that reads "I moved"
after "I live in Leeds" needs no rule to see which of them holds. The last turns of the conversation come first, since
they say what the question is about.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache

from fivefold.values.explain import NOT_FOUND
from fivefold.values.memory import Memory
from fivefold.values.reading import Span
from fivefold.values.recall import Hit, Recall
from fivefold.values.serialize import Value
from fivefold.values.times import MONTHS, WEEKDAYS

Count = Callable[[str], int]
"""How many tokens a text takes."""

SHORTEST = 16
"""A memory that does not fit is shortened if at least this many tokens of it fit."""

ONE = 80
"""No memory takes more than half of the room, unless that is less than this."""

TOKEN_LENGTH = 16
"""The most characters of a token; a longer text than the budget allows for is not counted."""

LIKELY = 0.05
"""Where nothing seems to answer, a memory below this chance stays out: nineteen in twenty of such would mislead."""

INDENT = "\n    "
"""Further lines of a memory are indented, so that nothing in a memory can look like another source."""


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
    """A block of text for a prompt, its sources, and what was left out."""

    text: str
    sources: tuple[Source, ...]
    tokens: int
    budget: int
    cut: tuple[Cut, ...]
    recall_id: str
    question: str
    found: bool = True
    """Whether something stored seems to answer, as the recall says; if not, the text says so in a line."""


@dataclass(frozen=True, slots=True)
class Item:
    """A memory on its way into the block, with as much of its text as fits."""

    memory: Memory
    score: float | None
    recent: bool
    text: str
    passage: Span = (0, 0)
    """The characters of the content to keep where not all fits: those of the passage that matched."""
    shortened: bool = False
    chance: float | None = None


def compose(recall: Recall, budget: int, count: Count) -> Context:
    """The block for a recall; `count(text)` is never above `budget`."""
    count = _count_once(count, budget)
    last = _turns(recall)
    seen = {item.memory.id for item in last}
    memories = [_memory(hit) for hit in recall if hit.memory.id not in seen]
    far = [] if recall.found else [item for item in memories if item.chance is not None and item.chance < LIKELY]
    best = [item for item in memories if recall.found or item.chance is None or item.chance >= LIKELY]
    notice = NOT_FOUND if not recall.found and count(NOT_FOUND) <= budget else ""
    block = Block(recall.query.now, count, len(last) + len(best), notice)
    selection = last + best
    if count(block.text(selection)) > budget:
        selection = block.choose_fitting(last, best, budget)
    items_in_order, text = block.in_order(selection), block.text(selection, left=len(last) + len(best) - len(selection))
    if count(text) > budget:
        text = block.text(selection)
    sources = [_source(number, item) for number, item in enumerate(items_in_order, 1)]
    ids = {item.memory.id for item in selection}
    full, unlikely = f"no room left in {budget} tokens", f"a chance below {LIKELY:g} where nothing seems to answer"
    cut = [*_cut(last, ids, full), *_cut(best, ids, full), *_cut(far, ids, unlikely)]
    return Context(text, tuple(sources), count(text), budget, tuple(cut), recall.id, recall.query.text, recall.found)


def _turns(recall: Recall) -> list[Item]:
    scores = {hit.memory.id: hit.score for hit in recall}
    chances = {hit.memory.id: hit.chance for hit in recall}
    return [
        Item(turn, scores.get(turn.id), True, _indent_lines(turn.content), chance=chances.get(turn.id))
        for turn in recall.recent
    ]


def _memory(hit: Hit) -> Item:
    text = _indent_lines(hit.memory.content)
    return Item(hit.memory, hit.score, False, text, _passage(hit), chance=hit.chance)


class Block:
    """The wording of the block, and the tokens that its parts take."""

    def __init__(self, now: datetime, count: Count, most: int, notice: str = "") -> None:
        """`most` is how many sources there may be: none has a number with more digits. `notice` precedes memories."""
        self.now = now
        self.count = count
        self.most = most
        self.notice = notice

    def in_order(self, items: Iterable[Item]) -> list[Item]:
        """The last turns as they were said, then memories as they happened."""
        items = list(items)
        memories = sorted((i for i in items if not i.recent), key=lambda i: (i.memory.event_at, i.memory.row))
        return [item for item in items if item.recent] + memories

    def text(self, items: Sequence[Item], left: int = 0) -> str:
        """The whole block, with a last line on how much was left out, if anything."""
        items_in_order = self.in_order(items)
        numbers = {item.memory.id: number for number, item in enumerate(items_in_order, 1)}
        parts = []
        for recent in (True, False):
            if self.notice and not recent:
                parts.append(self.notice)
            lines = [self.line(item, numbers) for item in items_in_order if item.recent is recent]
            if lines:
                parts.append("\n".join((self.heading(recent), *lines)))
        if left and items:
            parts.append(self.closing(left))
        return "\n\n".join(parts)

    def heading(self, recent: bool) -> str:
        if recent:
            return "Last turns of the conversation:"
        return f"Memories, oldest first (now it is {_moment(self.now)}):"

    def closing(self, left: int) -> str:
        return f"({left} more did not fit.)"

    def line(self, item: Item, numbers: dict[str, int] | None = None) -> str:
        """One source; without numbers, as long as it can become."""
        number = self.most if numbers is None else numbers[item.memory.id]
        when = _moment(item.memory.event_at) if item.recent else _day(item.memory.event_at)
        who = f", {item.memory.speaker}" if item.memory.speaker else ""
        return f"[{number}] {when}{who}{self._validity(item.memory, numbers)}: {item.text}"

    def _validity(self, memory: Memory, numbers: dict[str, int] | None) -> str:
        """Whether a memory no longer holds, and by which source or since when."""
        if memory.superseded_by is not None and numbers and memory.superseded_by in numbers:
            return f" (superseded by [{numbers[memory.superseded_by]}])"
        if memory.superseded_by is None and memory.is_current(self.now):
            return ""
        word = "superseded" if memory.superseded_by else "no longer so"
        return f" ({word} since {_day(memory.valid_to)})" if memory.valid_to else f" ({word})"

    def choose_fitting(self, last: Sequence[Item], best: Sequence[Item], budget: int) -> list[Item]:
        """As many as fit. The last turns may have half of the room, and what the memories do not need."""
        room = budget - self._frame(last, best)
        turns_cost = sum(self.cost(item) for item in last)
        memories_cost = sum(self.cost(item) for item in best)
        turns = self._fill(reversed(last), min(turns_cost, max(room // 2, room - memories_cost)))
        left = room - sum(self.cost(item) for item in turns)
        memories = self._fill(best, left, most=max(left // 2, ONE))
        selection = [*reversed(turns), *memories]
        while selection and self.count(self.text(selection)) > budget:
            selection.pop(0 if selection[-1].recent else -1)  # a counter may count more in the whole than in its parts
        return selection

    def _fill(self, items: Iterable[Item], room: int, most: int | None = None) -> list[Item]:
        """In the order given, each whole or shortened; none takes more than `most`, so that one cannot fill it all."""
        selection: list[Item] = []
        for item in items:
            allowed = room if most is None else min(room, most)
            fitting = item if self.cost(item) <= allowed else self._shorten(item, allowed)
            if fitting is None:
                if most is None:
                    break  # turns follow each other without a gap
                continue
            selection.append(fitting)
            room -= self.cost(fitting)
        return selection

    def _shorten(self, item: Item, allowed: int) -> Item | None:
        """The passage that matched and what stands around it, or the beginning of a memory, as long as fits."""
        if allowed - self.cost(replace(item, text="")) < SHORTEST:
            return None
        low, high = 0, min(len(item.memory.content), allowed * TOKEN_LENGTH)
        while low < high:
            middle = (low + high + 1) // 2
            if self.cost(replace(item, text=_part(item, middle))) <= allowed:
                low = middle
            else:
                high = middle - 1
        return replace(item, text=_part(item, low), shortened=True) if low else None

    def cost(self, item: Item) -> int:
        return self.count(self.line(item) + "\n")

    def _frame(self, last: Sequence[Item], best: Sequence[Item]) -> int:
        """What headings and the closing line cost."""
        lines = [self.heading(recent) for recent, items in ((True, last), (False, best)) if items]
        return self.count("\n\n".join((self.notice, *lines, self.closing(self.most))) + "\n\n")


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


def _indent_lines(text: str) -> str:
    return INDENT.join(text.splitlines())


def _passage(hit: Hit) -> Span:
    found = hit.passage
    return (found.start, found.end) if found is not None and found.parts > 1 else (0, 0)


def _part(item: Item, length: int) -> str:
    """So many characters: from the start of the passage, and where it has room to spare on both sides of it."""
    content, (first, last) = item.memory.content, item.passage
    start = max(0, first - max(0, length - (last - first)) // 2)
    start = min(start, max(0, len(content) - length))
    text = _end_with_a_word(content[start : start + length], start + length < len(content))
    if start not in (0, first):
        text = _begin_with_a_word(text)
    return _indent_lines(f"… {text}" if start else text)


def _end_with_a_word(text: str, goes_on: bool) -> str:
    """Back to the last whole word where one is near, and a sign that more follows."""
    if not goes_on:
        return text
    space = max(text.rfind(" "), text.rfind("\n"))
    return (text[:space] if space > len(text) // 2 else text).rstrip() + " …"


def _begin_with_a_word(text: str) -> str:
    """On to the first whole word where one is near."""
    space = min((at for at in (text.find(" "), text.find("\n")) if at >= 0), default=-1)
    return (text[space:] if 0 <= space < len(text) // 4 else text).lstrip()


def _moment(moment: datetime) -> str:
    return f"{_day(moment)} {moment:%H:%M}"


def _day(moment: datetime) -> str:
    return f"{WEEKDAYS[moment.weekday()][:3]} {moment.day} {MONTHS[moment.month - 1][:3]} {moment.year}"
