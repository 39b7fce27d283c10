"""How memories are packed into a block for a prompt: breadth first, then depth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf

from fivefold.retrieval.prompt_block import TOKEN_LENGTH, Block, Item

MIN_TOKENS = 16
"""A memory that does not fit is shortened if at least this many tokens of it fit."""

MIN_BEST_TOKENS = 4
"""The best memory is cut to as little as this, so that it is never missing without a reason."""

EXCERPTS = ((3, 480, 240), (8, 200, 120), (1_000_000, 110, 90))
"""By rank, the characters that a memory gets at first, and those of an assistant's answer."""

SHARE = 10
"""No excerpt takes more than one part in so many of the room at first, so that many memories come in."""

MIN_EXCERPT = 90
"""Characters of an excerpt however small the room is."""

CHARACTERS_A_TOKEN = 4

STANDING_SHARE = 5
"""Standing instructions and preferences have one part in so many of the room to themselves."""

UNUSED_SHARE = 32
"""The room that may stay empty, as one part in so many, instead of a search for a sentence that fits into it."""

TOO_LONG = 1.5
"""Lines that take so many times the budget one by one do not fit together either, however one counts."""

GUESSES, NEARLY = 3, 0.97
"""Lengths that are guessed by the tokens of the last one before they are halved, and the share that is good enough."""


def pack(block: Block, last: Sequence[Item], best: Sequence[Item], budget: int) -> list[Item]:
    """As many memories as fit, each by its sentences that matter; what is left of the budget makes the best longer.

    `best` is in the order of worth. The first of it comes before all else but a turn that answers better; the last
    turns may have half of what it leaves, and standing instructions have a share of their own.
    """
    if everything := pack_whole(block, (*last, *best), budget):
        return everything
    as_memories = [replace(turn, recent=False) for turn in last if turn.score is not None]
    packing = _Packing(block, budget - block.frame((*last, *best, *as_memories)))
    left, ordered = packing.place_best_turn(last, best)
    packing.fill(left, ordered)
    chosen = packing.chosen
    while chosen and block.count(block.text(chosen, block.sources - len(chosen))) > budget:
        chosen = _fewer(chosen)  # a counter may count more in the whole than in its parts
    return chosen or _only(block, (*ordered, *reversed(last))[0], budget)


def pack_whole(block: Block, items: Sequence[Item], budget: int) -> list[Item]:
    """All memories with all their text, if that fits; else nothing, and not much more than fits is counted."""
    if sum(len(item.memory.content) for item in items) > budget * TOKEN_LENGTH:
        return []
    whole, tokens = list[Item](), 0
    for item in items:
        whole.append(item.whole())
        tokens += block.count(block.line(whole[-1]))
        if tokens > TOO_LONG * budget:
            return []
    return whole if block.count(block.text(whole)) <= budget else []


class _Packing:
    """A block that is being filled: what is chosen so far, best first after the last turns, and the room left."""

    def __init__(self, block: Block, room: int) -> None:
        self.block, self.room, self.total = block, room, room
        self.chosen: list[Item] = []
        self._days: set[tuple[bool, str]] = set()

    def place_best_turn(self, last: Sequence[Item], best: Sequence[Item]) -> tuple[Sequence[Item], Sequence[Item]]:
        """If one of the last turns is the best hit, it comes first: with the turns after it, or else as a memory."""
        since = _best_turn(last, best)
        if since == len(last):
            return last, best
        if sum(self._price(turn.whole()) for turn in last[since:]) <= self.room // 2:
            return self._add_turns(last, self.room // 2), best
        return last[since + 1 :], [replace(last[since], recent=False), *best]

    def fill(self, last: Sequence[Item], best: Sequence[Item]) -> None:
        if best and not self._add_best(best[0]):
            return
        left = self._add_turns(last, self.room // 2 if len(best) > 1 else self.room)
        standing = [item for item in best[1:] if item.standing]
        waiting = self._add_standing(standing, self.total // STANDING_SHARE)
        for rank, item in enumerate(best[1:], 1):
            if not item.standing:
                self._add(item, _first_length(item, rank, self.total), self.room)
        self._add_standing(waiting, self.room)
        self._lengthen()
        self._add_turns(left, self.room)

    def _price(self, item: Item) -> int:
        """Tokens of its line, and of the day above it if that is not there yet."""
        return self.block.count(f"{self.block.line(item)}\n") + self._day_price(item)

    def _label_price(self, item: Item) -> int:
        """Tokens of all that but its text."""
        return self.block.count(f"{self.block.label(item)}\n") + self._day_price(item)

    def _day_price(self, item: Item) -> int:
        day = self._day(item)
        return 0 if day is None or day in self._days else self.block.count(f"{day[1]}\n")

    def _day(self, item: Item) -> tuple[bool, str] | None:
        return None if item.recent else (item.standing, self.block.day(item.memory.event_at))

    def _take(self, item: Item, price: int) -> None:
        self.chosen.append(item)
        self.room -= price
        if (day := self._day(item)) is not None:
            self._days.add(day)

    def _add(self, item: Item, length: int, room: int, min_tokens: int = MIN_TOKENS) -> bool:
        """Add `length` characters of it, or what fits, if that is enough to say something."""
        allowed = room - self._label_price(item)
        if allowed < min_tokens and len(item.memory.content) > max(0, allowed) * TOKEN_LENGTH:
            return False
        part = item.cut(length)
        price = self._price(part)
        if price > room:
            shorter = self._longest(item, room) if allowed >= min_tokens else None
            if shorter is None or self.block.count(shorter.text) < min_tokens:
                return False
            part, price = shorter, self._price(shorter)
        self._take(part, price)
        return True

    def _add_best(self, item: Item) -> bool:
        """The best memory: whole if it takes at most a third of the room, else an excerpt of that size."""
        whole = item.whole()
        if (price := self._price(whole)) <= self.room // 3:
            self._take(whole, price)
            return True
        return self._add(item, _first_length(item, 0, self.total), self.room, MIN_BEST_TOKENS)

    def _add_standing(self, items: Sequence[Item], share: int) -> list[Item]:
        """As many standing instructions as fit into that share of the room; returns the others."""
        end = self.room - share
        return [item for item in items if not self._add(item, EXCERPTS[-1][1], self.room - end)]

    def _add_turns(self, last: Sequence[Item], room: int) -> Sequence[Item]:
        """The last turns, the latest first, without a gap, before all memories; returns the earlier ones.

        The first that does not fit is shortened, if it is the latest of all or no memory can use the room.
        """
        left, latest = list(last), not any(item.recent for item in self.chosen)
        while left:
            turn = left.pop().whole()
            if self._price(turn) > room:
                shorter = self._longest(turn, room, fill=True) if latest or room == self.room else None
                if shorter is None or self.block.count(shorter.text) < MIN_TOKENS:
                    return [*left, turn]
                turn = shorter
            price, latest = self._price(turn), False
            self.chosen.insert(0, turn)
            self.room, room = self.room - price, room - price
            if turn.shortened:
                break
        return left

    def _lengthen(self) -> None:
        """What is left goes to the memories that were shortened, the best first: by sentences, then by parts of one."""
        enough = max(MIN_BEST_TOKENS, self.total // UNUSED_SHARE)
        for fill in (False, True):
            for place, item in enumerate(self.chosen):
                if self.room < enough:
                    return
                if item.shortened:
                    price = self._price(item)
                    longer = self._longest(item, price + self.room, fill) or item
                    if len(longer.text) > len(item.text):
                        self.room -= self._price(longer) - price
                        self.chosen[place] = longer

    def _longest(self, item: Item, allowed: int, fill: bool = False) -> Item | None:
        """About the longest excerpt that takes at most `allowed` tokens; None if not even a few characters do."""
        best: Item | None = None
        low, high = 0, min(len(item.memory.content), max(1, allowed) * TOKEN_LENGTH)
        length, guesses = CHARACTERS_A_TOKEN * allowed, GUESSES
        while high - low > (allowed // TOKEN_LENGTH if best else 0):
            length = max(low + 1, min(high, length))
            part = item.cut(length, fill)
            price = self._price(part)
            if price <= allowed:
                low, best = length, part
                if price >= NEARLY * allowed:
                    break
            else:
                high = length - 1
            guesses -= 1
            length = length * allowed // max(1, price) if guesses > 0 else (low + high + 1) // 2
        return best


def _best_turn(last: Sequence[Item], best: Sequence[Item]) -> int:
    """The place of the turn that answers better than all memories do; behind the last one if none does."""
    scores = [turn.score if turn.score is not None else -inf for turn in last]
    top = max(scores, default=-inf)
    least = (best[0].score or 0.0) if best else -inf
    return scores.index(top) if top > least else len(last)


def _fewer(chosen: list[Item]) -> list[Item]:
    """Without the memory of the lowest rank; without the oldest turn if only the best memory is left."""
    memories = [item for item in chosen if not item.recent]
    gone = memories[-1] if len(memories) > 1 else chosen[0]
    return [item for item in chosen if item is not gone]


def _only(block: Block, item: Item, budget: int) -> list[Item]:
    """One source alone, as much of it as fits if the whole block is counted."""
    low, high = 0, min(len(item.memory.content), budget * TOKEN_LENGTH)
    while low < high:
        middle = (low + high + 1) // 2
        if block.count(block.text([item.cut(middle)])) <= budget:
            low = middle
        else:
            high = middle - 1
    fitting = item.cut(low)
    enough = low and (not fitting.shortened or block.count(fitting.text) >= MIN_BEST_TOKENS)
    return [fitting] if enough else []


def _first_length(item: Item, rank: int, room: int) -> int:
    """Characters that a memory gets before the room that is left is shared out."""
    own, answer = next((own, answer) for last, own, answer in EXCERPTS if rank < last)
    length = answer if (item.memory.speaker or "").casefold() == "assistant" else own
    return max(MIN_EXCERPT, min(length, CHARACTERS_A_TOKEN * room // SHARE))
