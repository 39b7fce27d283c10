"""A recall as a block for a prompt: numbered sources with their dates and speakers, cut to a number of tokens.

A long memory is shown by its sentences that matter, so that many memories fit. They are chosen by worth, then listed in
the order in which they happened: a model that reads "I moved" after "I live in Leeds" needs no rule to see which of
them holds. The last turns of the conversation come first, since they say what the question is about. The text of
memories stands inside a fence, since it may come from anyone.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from datetime import UTC, datetime, tzinfo
from functools import cache
from typing import Literal

from fivefold.retrieval.excerpts import Excerpts
from fivefold.retrieval.prompt_block import TOKEN_LENGTH, Block, Count, Item, pack, pack_whole
from fivefold.retrieval.routes.searches import STANDING
from fivefold.retrieval.stages.selection import words_of
from fivefold.text.display import INDENT
from fivefold.text.lexemes import lexemes
from fivefold.values.explain import NOT_FOUND
from fivefold.values.fields import check
from fivefold.values.html_parts import Html, Part, html_bar, html_lines, html_quiet, html_text
from fivefold.values.memory import Memory
from fivefold.values.recall import Hit, Recall
from fivefold.values.recall_trace import PassageMatch
from fivefold.values.serialize import Value
from fivefold.writing.extract import facets_of
from fivefold.writing.extract.facts import facts

MIN_LINE_CHANCE = 0.05
"""A memory below this chance is not worth a line of its own in a chat."""

BlockStyle = Literal["quotes", "facts"]
"""Memories by as much of their text as fits, or many of them by what matters most."""

MIN_WEIGHT = 0.15
"""A memory of which every clause weighs less is small talk."""

DOUBTFUL_MEMORIES = 3
"""Number of memories in a block if nothing seems to answer: the model is the better judge."""

TOKENS_A_HIT, MIN_HITS, MAX_HITS = 20, 10, 80
"""Tokens of a short memory with its line, and how many memories are recalled for a block."""

BEST_OF_PART = 2
"""Number of memories for each part of a question that come before all others."""

WITH_MEANINGS = 12
"""For so many of the best, sentences are also chosen by words that mean the same; finding those takes time."""

SAME_WORDS, MAX_ECHO = 0.8, 600
"""The share of common words from which an assistant's statement repeats the user's, and its most characters."""

FRAME_SHARE = 6
"""The long opening and the headings are used if they take at most one part in this many of the budget."""


@dataclass(frozen=True, slots=True)
class Source(Value):
    """One memory of the block. `content` is its text in the block; `score` is None for a turn that was not recalled.

    `chance` is the chance that it answers, if the recipe gives chances. `standing` marks an instruction
    or a preference that holds for every request.
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
    standing: bool = False


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
    """True if something stored seems to answer, as the recall says; if not, the text says so in a line."""
    reason: str = ""
    """The reason why there is no source: nothing stored seems to answer, or not even one fits into the budget."""

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        """The block as a notebook shows it: its share of the budget, and the text."""
        share = html_bar([Part(f"{self.tokens} tokens", self.tokens / self.budget)])
        left_out = [f"{cut.count} left out: {cut.why}" for cut in self.cut]
        title = f"{self.tokens:,} of {self.budget:,} tokens, {len(self.sources)} sources"
        text = Html(f'<pre style="white-space:pre-wrap">{html_text(self.text)}</pre>' if self.text else "")
        return html_lines(Html(f"{share} {html_quiet('; '.join([title, *left_out]))}"), text or self.reason)


def compose(
    recall: Recall,
    budget: int,
    count: Count,
    zone: tzinfo = UTC,
    unlikely: int = DOUBTFUL_MEMORIES,
    style: BlockStyle = "quotes",
) -> Context:
    """The block for a recall, with times in `zone`; `count(text)` is never above `budget`.

    In the style `facts` each memory is first shown by what matters most in it, so that more of them fit, and small talk
    stays out. If nothing seems to answer, only the best `unlikely` memories come, marked as such.
    """
    any_length, count = count, _count_once(count, budget)
    last = [_turn(turn, recall) for turn in recall.recent]
    seen = {item.memory.id for item in last}
    as_facts = check(style, BlockStyle, "style") == "facts"
    ranked, repeats = _by_worth([hit for hit in recall if hit.memory.id not in seen], recall, as_facts)
    best, far = (ranked, []) if recall.found else (ranked[:unlikely], ranked[unlikely:])
    if as_facts:
        best = [item for place, item in enumerate(best) if place == 0 or item.standing or _says_something(item.memory)]
    notice = NOT_FOUND if not recall.found and count(NOT_FOUND) <= budget else ""
    block = Block(recall.query.now, count, len(last) + len(best), notice, zone, facts=as_facts)
    block, selection = _select(block, last, best, budget)
    text = block.text(selection, left=len(last) + len(best) - len(selection))
    if count(text) > budget:
        text = block.text(selection)
    sources = [_source(number, item) for number, item in enumerate(block.in_order(selection), 1)]
    ids = {item.memory.id for item in selection}
    cut = [
        *_cut(last, ids, f"no room left in {budget} tokens"),
        *_cut(best, ids, f"no room left in {budget} tokens"),
        *_cut(far, ids, f"beyond the best {unlikely}; nothing seems to answer"),
        *_cut(repeats, ids, "says what another source says"),
    ]
    reason = "" if sources else _reason(replace(block, count=any_length), last, best, budget)
    return Context(
        text, tuple(sources), count(text), budget, tuple(cut), recall.id, recall.query.text, recall.found, reason
    )


def hits_for(budget: int) -> int:
    """Number of memories that a block of so many tokens may have use for."""
    return max(MIN_HITS, min(MAX_HITS, budget // TOKENS_A_HIT))


def _by_worth(hits: Sequence[Hit], recall: Recall, as_facts: bool) -> tuple[list[Item], list[Item]]:
    """The memories in the order in which they deserve room, and those that only repeat others.

    That is by rank, but the best of each part of the question comes first, what replaced a memory comes before it
    unless that is the best of all, and of two that say the same the user's own words stay.
    """
    asked = frozenset(recall.query.lexemes)
    items = [_memory(hit, asked, as_facts) for hit in hits]
    early = _best_of_parts(items, recall.query.parts)
    ordered = list(dict.fromkeys([*range(min(1, len(items))), *early, *range(len(items))]))
    place = {item.memory.id: i for i, item in enumerate(items)}
    with_heirs = dict.fromkeys(ordered[:1])
    for i in ordered:
        heir = place.get(items[i].memory.superseded_by or "")
        if heir is not None:
            with_heirs.setdefault(heir)
        with_heirs.setdefault(i)
    return _without_echoes([items[i] for i in with_heirs])


def _best_of_parts(items: Sequence[Item], parts: Sequence[str]) -> list[int]:
    """The places of the best few memories for each part of the question, in turn."""
    words = [words_of(item.memory.content) for item in items] if parts else []
    found: list[list[int]] = []
    for part in parts:
        rarity = {word: 1 / (1 + sum(word in known for known in words)) for word in set(lexemes(part))}
        value = [sum(rarity[word] for word in rarity.keys() & known) for known in words]
        order = sorted((i for i in range(len(items)) if value[i] > 0), key=lambda i: (-value[i], i))
        found.append(order[:BEST_OF_PART])
    return [places[turn] for turn in range(BEST_OF_PART) for places in found if turn < len(places)]


def _without_echoes(items: Sequence[Item]) -> tuple[list[Item], list[Item]]:
    """Without what an assistant or a tool says again in nearly the same words; the original has its place."""
    stays: dict[str, Item] = {}
    echoes: list[Item] = []
    short = [item for item in items if len(item.memory.content) <= MAX_ECHO]
    originals = [(item, words_of(item.memory.content)) for item in short if not _is_answer(item)]
    for item in items:
        original = _original(item, originals) if _is_answer(item) else None
        if original is not None:
            echoes.append(item)
        stays.setdefault((original or item).memory.id, original or item)
    return list(stays.values()), echoes


def _original(answer: Item, originals: Sequence[tuple[Item, Set[str]]]) -> Item | None:
    """The item that an answer repeats, if any; with a number of its own it is not a repetition."""
    if len(answer.memory.content) > MAX_ECHO or not (words := words_of(answer.memory.content)):
        return None
    for item, known in originals:
        least, most = sorted((len(words), len(known)))
        if least < SAME_WORDS * most or len(words & known) < SAME_WORDS * len(words | known):
            continue
        if not any(map(str.isdigit, "".join(words - known))):
            return item
    return None


def _is_answer(item: Item) -> bool:
    return (item.memory.speaker or "").casefold() in ("assistant", "tool")


def _select(block: Block, last: list[Item], best: list[Item], budget: int) -> tuple[Block, list[Item]]:
    """As much as fits, under the long opening if that leaves most of the room to the memories."""
    if not last and not best:
        return block, []
    if everything := pack_whole(block, (*last, *best), budget):
        return block, everything
    roomy = not block.facts and FRAME_SHARE * block.frame((*last, *best)) <= budget
    if roomy and (selection := pack(block, last, best, budget)):
        return block, selection
    brief = block.briefly()
    return brief, pack(brief, last, best, budget)


def _says_something(memory: Memory) -> bool:
    """True unless a memory is small talk."""
    return any(span.weight >= MIN_WEIGHT for span in facts(memory.content, memory.speaker))


def _reason(block: Block, last: list[Item], best: list[Item], budget: int) -> str:
    if not last and not best:
        return NOT_FOUND
    enough = block.min_tokens((best or last[-1:])[0])
    return f"not even the beginning of one memory fits into {budget} tokens; {enough} are enough"


def _turn(turn: Memory, recall: Recall) -> Item:
    hit = next((hit for hit in recall if hit.memory.id == turn.id), None)
    excerpts = Excerpts(turn.content, asked=frozenset(recall.query.lexemes))
    return Item(turn, hit.score if hit else None, recent=True, excerpts=excerpts, chance=hit.chance if hit else None)


def _memory(hit: Hit, asked: Set[str], as_facts: bool) -> Item:
    """The memory of a hit; in a standing one, the sentences that state the wish matter too."""
    standing = any(item.route == STANDING for item in hit.candidate.evidence)
    match = hit.passage
    if match is not None and hit.rank > WITH_MEANINGS:
        match = PassageMatch(match.score, match.part, match.parts, match.start, match.end)
    wishes = facets_of(hit.memory.content).get("preferences", "") if standing else ""
    asked = asked | frozenset(lexemes(wishes)) if wishes else asked
    excerpts = Excerpts(hit.memory.content, match, asked, as_facts and not standing)
    return Item(hit.memory, hit.score, standing=standing, excerpts=excerpts, chance=hit.chance, again=len(hit.folded))


def _count_once(count: Count, budget: int) -> Count:
    """Counts a text once, and not at all if it is too long for the budget whatever its tokens are."""
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
        item.standing,
    )


def _cut(items: Sequence[Item], selected: set[str], why: str) -> list[Cut]:
    missing = [item for item in items if item.memory.id not in selected]
    if not missing:
        return []
    ids = tuple(item.memory.id for item in missing)
    return [Cut(missing[0].recent, len(missing), why, ids)]
