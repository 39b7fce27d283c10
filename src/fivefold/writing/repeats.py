"""Near-duplicates: a new memory that says in nearly the same words what the same speaker said before. Both stay."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice

from fivefold.namespace import Namespace
from fivefold.stores.interface import Reader, VectorSpace, Writer
from fivefold.text.lexemes import lexemes
from fivefold.values.memory import Memory
from fivefold.values.reports import Link, Merged, Report
from fivefold.writing.change import (
    AROUND,
    Near,
    Neighbourhood,
    Side,
    changes_sense,
    in_time,
    may_state,
    memory_of,
    stored_memory,
)
from fivefold.writing.draft import Draft, ReportBuilder

ALIKE = 0.7
"""How like the vectors of two memories must be."""

COVERED = 0.75
"""The share of the words of the longer text that the shorter one has at least; it has no others."""

FEWEST = 2
"""Words that a text has at least, apart from those that say little."""

MOST = 3
"""How many earlier memories a new one is linked with, the nearest of them."""

SAME_EVENT = timedelta(days=1)
"""How far apart two events in the same words are at most; what happens on another day is another event."""

WHY = "says nearly the same as an earlier memory"

_WORD = re.compile(r"[^\W_]+")
_NOT = re.compile(r"n['’]t\b", re.IGNORECASE)
_NUMBER = re.compile(r"[-−+$€£¥#]?\d[\d.,:/-]*\s?[%$€£¥°]?")
_LITTLE = frozenset(
    "a an the is are am be been being do does did have has had that this it its i me my mine myself m s re ve ll d "
    "user users just really very so well oh hey hi hello yes yeah ok okay please actually btw fyi note remember".split()
)
"""Words that two texts may differ in and still say the same."""


@dataclass(frozen=True, slots=True)
class Repeat:
    """A newer memory that says nearly the same as an older one; one of both is new."""

    older: Side
    newer: Side
    shared: float
    """The share of the longer text's words that the shorter one has."""


def find_repeats(compared: Sequence[Neighbourhood]) -> list[Repeat]:
    """What the new memories say again, of what is stored and of what was given before them."""
    return [repeat for each in compared for repeat in repeats_of(each.item, each.around)]


def repeats_of(item: Side, around: Sequence[Near]) -> list[Repeat]:
    """What one memory says again of the nearest around it."""
    return list(islice(_repeated(item, around), MOST))


def mark_repeats(repeats: Sequence[Repeat], txn: Writer, report: ReportBuilder) -> None:
    """Link near-duplicates, unless one of both has ended, or they are equal and linked as that."""
    for repeat in repeats:
        older, newer = stored_memory(repeat.older, txn), stored_memory(repeat.newer, txn)
        if older is None or newer is None or older.row == newer.row or older.content == newer.content:
            continue
        if older.superseded_by is None and newer.superseded_by is None:
            txn.memories.link(newer.row, older.row, "repeats", WHY, repeat.shared)
            report.linked.append(Link(newer.id, older.id, "repeats", WHY, repeat.shared))


def same_share(one: str, other: str) -> float:
    """The share of common words where two texts differ in a few words that change nothing of what is said; else 0.

    Numbers and names must be the same in the same order. What one text has more may not deny, date or count anything,
    nor speak of somebody else.
    """
    if ("?" in one) != ("?" in other) or _numbers(one) != _numbers(other):
        return 0
    words, others = _words(one), _words(other)
    less, more = sorted((words, others), key=len)
    if len(less) < FEWEST or not less.keys() <= more.keys() or len(less) < COVERED * len(more):
        return 0
    added = [more[word] for word in more if word not in less]
    if any(not word.islower() for word in added) or changes_sense(" ".join(added)):
        return 0
    names = {word for each in (words, others) for word, written in each.items() if not written.islower()}
    in_order = [word for word in less if word in names] == [word for word in more if word in names and word in less]
    return round(len(less) / len(more), 4) if in_order else 0


def _repeated(item: Side, around: Sequence[Near]) -> Iterator[Repeat]:
    memory = memory_of(item)
    for near in around:
        other = memory_of(near.side)
        if near.likeness >= ALIKE and _comparable(memory, other):
            shared = same_share(memory.content, other.content)
            if shared:
                yield Repeat(*in_time(near.side, item), shared)


def _comparable(one: Memory, other: Memory) -> bool:
    if (one.kind, one.speaker) != (other.kind, other.speaker) or other.superseded_by is not None:
        return False
    return one.type != "event" or abs(one.event_at - other.event_at) <= SAME_EVENT


def _words(text: str) -> dict[str, str]:
    """The words that say something in their order, each by its form without an ending in s, as it is written."""
    words: dict[str, str] = {}
    for word in _WORD.findall(_NOT.sub(" not", unicodedata.normalize("NFKC", text))):
        if word.casefold() not in _LITTLE:
            words.setdefault(_form(word), word)
    return words


def _form(word: str) -> str:
    folded = word.casefold()
    return folded[:-1] if len(folded) > 3 and folded.endswith("s") and not folded.endswith("ss") else folded


def _numbers(text: str) -> list[str]:
    return [number.replace(" ", "").rstrip(".,:/-") for number in _NUMBER.findall(text)]


# Near-duplicates among memories that are stored already, for those that were not compared when they were written.

PAGE = 200
"""Memories that are compared at once, and linked in one transaction."""


def link_earlier_repeats(namespace: Namespace, advance: Callable[[int], None] = lambda done: None) -> Report:
    """Link each memory with the near-duplicates written before it, as if it were written now.

    What is linked already is not linked again, so that it can be stopped and run again.
    """
    reader, report = namespace.reader, ReportBuilder()
    space = reader.search.vector_space()
    if space is None:
        return report.build()
    for page in _pages(reader):
        repeats = [repeat for memory, near in _around(page, reader, space) for repeat in repeats_of(memory, near)]
        if new := _without_known(repeats, reader):
            with namespace.transaction() as txn:
                mark_repeats(new, txn, report)
        advance(len(page))
    return report.build()


def _pages(reader: Reader) -> Iterator[list[Memory]]:
    after = 0
    while rows := reader.memories.scan(after, PAGE):
        after = rows[-1][0].row
        yield [memory for memory, _ in rows]


def _around(page: Sequence[Memory], reader: Reader, space: VectorSpace) -> Iterator[tuple[Memory, list[Near]]]:
    """The memories that may state something, each with the nearest that were written before it."""
    own = {memory.row: memory for memory in page if _is_open(memory)}
    vectors = reader.search.vectors(space, list(own))
    found = reader.search.dense_each(space, "full", list(vectors.values()), AROUND + 1)
    others = reader.memories.fetch(sorted({hit.row for hits in found for hit in hits}))
    for row, hits in zip(vectors, found, strict=True):
        yield own[row], [Near(others[hit.row], hit.score) for hit in hits if hit.row < row and hit.row in others]


def _is_open(memory: Memory) -> bool:
    return memory.kind != "session" and memory.superseded_by is None and may_state(memory.content)


def _without_known(repeats: Sequence[Repeat], reader: Reader) -> list[Repeat]:
    """Those that are not linked yet."""
    links = reader.memories.links(sorted({memory_of(repeat.newer).row for repeat in repeats})) if repeats else {}
    known = {(link.source, link.target) for each in links.values() for link in each if link.relation == "repeats"}
    return [each for each in repeats if (memory_of(each.newer).id, memory_of(each.older).id) not in known]


# Echoes: what was recalled a moment ago, and is stored again by the assistant or a tool in the same words.

ECHOES_MOST = 20
"""How many of the last recalls are looked at."""

ECHOES_COVERED = 0.7
"""The share of the words of a memory that an echo of it has at least."""

_NAMED = "user assistant"
"""Words that an assistant adds when it repeats what a user said."""

_ECHOES_NOT = re.compile(r"\b(?:not?|never|none|without|cannot|neither|nor)\b|n['\u2019]t\b", re.IGNORECASE)


def mark_echoes(drafts: Sequence[Draft], namespace: Namespace, minutes: int) -> None:
    """Give each note that echoes a memory which was recalled in the last `minutes` that memory."""
    notes = [item for item in drafts if item.memory.kind == "note" and item.memory.origin in ("assistant", "tool")]
    if not notes or not minutes:
        return
    since = namespace.clock() - timedelta(minutes=minutes)
    known = namespace.reader.memories
    recalled = [known.get(id) for id in namespace.reader.feedback.returned_since(since, ECHOES_MOST)]
    alive = [memory for memory in recalled if memory is not None and memory.superseded_by is None]
    for item in notes:
        item.echo = next(_echoed(item.memory, alive), None)


def merge_echo(item: Draft, txn: Writer) -> Merged | None:
    """Count an echo at the memory that it repeats, if that is still there; None for what must be stored."""
    if item.echo is None:
        return None
    known = txn.memories.by_row(item.echo.row)
    if known is None or known.content != item.echo.content:
        return None
    txn.memories.count_echo(known.row)
    return Merged(known.id, f"it was recalled a moment ago and says the same; echo {known.echo_count + 1}")


def _echoed(memory: Memory, recalled: Iterable[Memory]) -> Iterator[Memory]:
    """Those of the recalled memories that say all that the new one says, in the same words."""
    own = _echoes_words(memory)
    for other in recalled:
        words = _echoes_words(other)
        if own and own <= words and len(own) >= ECHOES_COVERED * len(words) and _denies(memory) == _denies(other):
            yield other


def _echoes_words(memory: Memory) -> frozenset[str]:
    return frozenset(lexemes(memory.content)) - frozenset(lexemes(_NAMED))


def _denies(memory: Memory) -> int:
    return len(_ECHOES_NOT.findall(memory.content))


# Records that say what is already stored or was forgotten: the same id, the same note, the same turn.

FORGOTTEN = "it was forgotten and is not stored again; reinstate its id to allow that"


def new_drafts(drafts: Sequence[Draft], reader: Reader) -> list[Draft]:
    """The drafts whose id and text are not stored yet, as far as can be seen before the transaction."""
    known = reader.memories.existing_ids([item.memory.id for item in drafts if item.record.id])
    note_hashes = reader.memories.existing_notes([item.content_hash for item in drafts if item.memory.kind == "note"])
    return [item for item in drafts if item.memory.id not in known and item.content_hash not in note_hashes]


def merge(item: Draft, txn: Writer) -> Merged | None:
    """Merge the draft into the memory that already says the same; None where there is no such memory."""
    memory = item.memory
    if was_forgotten(item, txn):
        return Merged(memory.id, FORGOTTEN)
    if item.record.id and txn.memories.get(memory.id):
        return Merged(memory.id, "a memory with this id is already stored")
    if memory.kind == "note":
        row = txn.memories.find_note(item.content_hash)
        if row is None:
            return merge_echo(item, txn)
        txn.memories.count_repeat(row, memory.tags)
        _prolong(row, memory, txn)
        known = txn.memories.by_row(row)
        assert known is not None
        return Merged(known.id, f"the same note was remembered before; seen {known.seen_count} times now")
    if item.record.event_at and memory.session_id:
        twin = txn.sessions.find_turn(memory.session_id, item.content_hash, memory.event_at)
        if twin:
            return Merged(twin, "the same turn at the same time is already in this session")
    return None


def look_up_forgotten(drafts: Sequence[Draft], txn: Writer) -> None:
    """Read in one step which of the drafts were forgotten; one that is only a text is remembered anew."""
    txn.forgotten.look_up([(item.memory, item.content_hash) for item in drafts if _has_source(item)])


def was_forgotten(item: Draft, txn: Writer) -> bool:
    """Whether this was stored from the same source before, and forgotten."""
    return _has_source(item) and txn.forgotten.has(item.memory, item.content_hash)


def _has_source(item: Draft) -> bool:
    return bool(item.record.id or (item.record.event_at and item.memory.session_id))


def _prolong(row: int, again: Memory, txn: Writer) -> None:
    """What is said again lives as long as the later of both ends, and a pin counts for both."""
    known = txn.memories.by_row(row)
    assert known is not None
    ends = (known.expires_at, again.expires_at)
    life = (None if None in ends else max(filter(None, ends)), known.pinned or again.pinned)
    if life != (known.expires_at, known.pinned):
        txn.memories.set_life(row, *life)


def link_equal_turn(item: Draft, txn: Writer, report: ReportBuilder) -> None:
    """Link a stored turn to an earlier one with the same text; both stay."""
    twin = txn.memories.find_earlier_equal(item.content_hash, item.memory.row)
    earlier = None if twin is None else txn.memories.by_row(twin)
    if earlier is not None:
        why = "says the same as an earlier turn"
        txn.memories.link(item.memory.row, earlier.row, "equal", why)
        report.linked.append(Link(item.memory.id, earlier.id, "equal", why))
