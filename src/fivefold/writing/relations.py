"""Relations between memories: which one replaces, may replace or repeats an older one, and how a write stores that.

`replaces` is sure and ends the older memory. `may_replace` has a chance, by which a recall weighs the older memory.
`repeats` says the same: of two memories in nearly the same words both stay, a record in the same words is merged.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import islice
from typing import Literal

import numpy as np

from fivefold.errors import ReaderError
from fivefold.models.reader import Remark, SaidPair, pair_reader
from fivefold.namespace import Namespace
from fivefold.settings import Settings
from fivefold.stores.interface import Reader, Writer
from fivefold.stores.records import VectorSpace
from fivefold.text.lexemes import lexemes
from fivefold.values.entities import Correction, Statement
from fivefold.values.memory import Memory
from fivefold.values.reports import Link, LinkKind, Merged, Report
from fivefold.values.vectors import Matrix, products
from fivefold.writing.draft import Draft, ReportBuilder
from fivefold.writing.extract.statements import same_value, single_valued
from fivefold.writing.wordings import is_answer, is_doubtful, is_numbered, is_plain, may_restate, may_state, same_share

Relation = Literal["replaces", "may_replace", "repeats"]

STORED_AS: dict[Relation, LinkKind] = {"replaces": "supersedes", "may_replace": "likely", "repeats": "repeats"}
"""The relations by the names that stores, reports and every face have for them."""

Side = Draft | Memory


@dataclass(frozen=True, slots=True)
class Near:
    """A memory of the store or of the batch: how like its vector is, and which share of the words is common."""

    side: Side
    likeness: float
    shared: float = 0.0


Neighbourhood = tuple[Side, Sequence[Near]]
"""A memory that may state something, with those nearest to it that were given before it, nearest first."""


def memory_of(side: Side) -> Memory:
    return side.memory if isinstance(side, Draft) else side


def relate(
    relation: Relation,
    newer: Memory,
    older: Memory,
    why: str,
    txn: Writer,
    report: ReportBuilder,
    *,
    chance: float = 1.0,
    rest: str = "",
) -> None:
    """Store and report a relation. One that replaces ends the older memory, unless a `rest` of it still holds."""
    link = Link(newer.id, older.id, STORED_AS[relation], why + rest, chance)
    if relation == "replaces" and not rest:
        txn.statements.supersede(older, newer, why)
        report.superseded.append(link)
    else:
        txn.memories.link(newer.row, older.row, link.relation, why, chance)
        report.linked.append(link)


MAX_NEAR = 24
"""Maximum number of the nearest memories that are looked at; the last of them says how near any memory is."""


@dataclass(frozen=True, slots=True)
class Relations:
    """The relations found before the transaction, which stores those that still hold then."""

    replacements: Sequence[Replacement] = ()
    repeats: Sequence[Repeat] = ()

    def store(self, txn: Writer, report: ReportBuilder, settings: Settings) -> None:
        """Replacements first: what has ended is not repeated."""
        _store_replacements(self.replacements, txn, report, settings)
        _store_repeats(self.repeats, txn, report)


def find_relations(
    drafts: Sequence[Draft], namespace: Namespace, report: ReportBuilder, settings: Settings | None = None
) -> Relations:
    """One search for replacements and repeats, as far as the settings want them."""
    settings = settings or namespace.settings
    if not (settings.find_changes or settings.find_repeats):
        return Relations()
    found = neighbourhoods(drafts, namespace.reader)
    replacements: Sequence[Replacement] = ()
    repeats: Sequence[Repeat] = ()
    try:
        replacements = find_replacements(found) if settings.find_changes else ()
        repeats = _find_repeats(found) if settings.find_repeats else ()
    except ReaderError as error:  # the write goes on without them
        report.notes.append(f"the search for changes and repeats failed: {error}")
    return Relations(replacements, repeats)


def neighbourhoods(drafts: Sequence[Draft], reader: Reader) -> list[Neighbourhood]:
    """The new memories that may state something. A batch gives the same as its records one after the other."""
    items = [item for item in drafts if "full" in item.vectors.fields and may_state(item.memory.content)]
    if not items:
        return []
    space, vectors = reader.search.vector_space(), [item.vectors.fields["full"] for item in items]
    stored: list[Mapping[int, float]] = [{} for _ in items]
    if space is not None and len(vectors[0]) == space.dimension:
        hits_of = reader.search.dense_each(space, "full", vectors, MAX_NEAR + 1)
        stored = [  # a memory that is changed is not near itself
            {hit.row: hit.score for hit in hits if hit.row != item.memory.row}
            for item, hits in zip(items, hits_of, strict=True)
        ]
    memories = reader.memories.fetch(sorted({row for near in stored for row in near}))
    stacked: Matrix = np.stack(vectors)
    found: list[Neighbourhood] = []
    for at, item in enumerate(items):
        near = [Near(memories[row], score) for row, score in stored[at].items() if row in memories]
        earlier = products(stacked[:at], stacked[at])
        least = np.partition(earlier, -MAX_NEAR)[-MAX_NEAR] if at > MAX_NEAR else -np.inf
        near += [Near(items[other], float(earlier[other])) for other in np.flatnonzero(earlier >= least)]
        found.append((item, sorted(near, key=lambda each: -each.likeness)[:MAX_NEAR]))
    return found


def _in_time(side: Side, item: Side) -> tuple[Side, Side]:
    """The older first; of two at one moment, the one that was there or given first."""
    return (side, item) if memory_of(side).event_at <= memory_of(item).event_at else (item, side)


def _stored_pairs(found: Iterable[tuple[Side, Side]], txn: Writer) -> Iterator[tuple[int, Memory, Memory]]:
    """The place, older and newer memory of each pair as the transaction sees it, if neither was merged or is gone."""
    for at, sides in enumerate(found):
        rows = [memory_of(side).row for side in sides]
        older, newer = (txn.memories.by_row(row) if row else None for row in rows)
        if older is not None and newer is not None and older.row != newer.row:
            yield at, older, newer


def _may_be_older(memory: Memory) -> bool:
    return memory.kind != "session" and memory.superseded_by is None and may_state(memory.content)


MAX_READ = 6
"""Maximum number of the nearest memories that a new one is read with."""

MIN_NEARNESS, FEW_NEARNESS = 0.4, 0.25
"""Minimum nearness of a candidate, and the assumed nearness of any memory if there are few."""

NEARER, NEARER_IF_PLAIN = 0.2, 0.15
"""Minimum lead in nearness of a candidate over the last one; less if the text plainly says that something changed."""

WORDS_WEIGHT = 0.5
"""Weight of the share of common words beside the likeness of the vectors."""

MIN_READ_CHANCE = 0.25
"""From which chance of the model on a pair counts at all."""

SURE, SURE_IF_PLAIN, SURE_IF_SHORT = 0.95, 0.945, 0.5
"""Minimum chance of the model at which a memory is ended: in general, if the text plainly says that something changed,
and if both texts are short as well."""

SURE_SHARE = 0.25
"""The share of common words without which a change is not sure, unless both texts are short."""

SHORT_WORDS, SHORT_LIKENESS = 10, 0.4
"""Words of a short text, and how like the vectors of two of them must be."""

MAX_ENDED_WORDS = 45
"""Words that a memory has at most to be ended as a whole; a longer one says more than what changed."""

MIN_CHANCE = 0.08
"""From which chance on two memories are linked."""

CHANCE_WEIGHTS = (0.6507, 2.165, 2.7599, -0.0025, -4.4488)
"""Weights of the chance of a change in a life: the model's log odds, the likeness of the vectors, the share of
common words, the number of words; and the start of the sum. Fitted on the six lives to choose by
(`training/reader/weigh.py`)."""


@dataclass(frozen=True, slots=True)
class Replacement:
    """A newer memory that may replace an older one; one of both is new."""

    older: Side
    newer: Side
    read: float
    """The chance that the model gives, which knows only the two texts."""
    likeness: float
    shared: float

    @property
    def words(self) -> tuple[int, int]:
        return len(memory_of(self.older).content.split()), len(memory_of(self.newer).content.split())

    @property
    def chance(self) -> float:
        """The chance among all near memories, most about something else; rounded, so that all stores agree."""
        odds = math.log(self.read / max(1 - self.read, 1e-6))
        signs = (odds, self.likeness, self.shared, sum(self.words), 1)
        total = sum(weight * sign for weight, sign in zip(CHANCE_WEIGHTS, signs, strict=True))
        return round(1 / (1 + math.exp(-total)), 4)

    @property
    def is_sure(self) -> bool:
        """True if the older memory may be ended, and not only linked."""
        older, newer = _said(self.older), _said(self.newer)
        if self.words[0] > MAX_ENDED_WORDS or is_doubtful(older.text, newer.text) or is_answer(older, newer):
            return False
        short = max(self.words) <= SHORT_WORDS
        if self.shared < SURE_SHARE and not (short and self.likeness >= SHORT_LIKENESS):
            return False
        limit = SURE_IF_SHORT if short else SURE_IF_PLAIN
        return self.read >= (limit if is_plain(newer.text) else SURE)


def _said(side: Side) -> Remark:
    memory = memory_of(side)
    return Remark(memory.content, memory.speaker or "")


def find_replacements(found: Iterable[Neighbourhood]) -> list[Replacement]:
    """The memories that the new ones replace, and those that replace them, among themselves and in the store; the
    oldest first."""
    pairs = []
    for item, around in found:
        for near in _candidates(memory_of(item).content, around):
            older, newer = (memory_of(side) for side in _in_time(near.side, item))
            same = older.id == newer.id or lexemes(older.content) == lexemes(newer.content)
            if not (is_numbered(older.content, newer.content) or same):
                pairs.append((*_in_time(near.side, item), near))
    chances = pair_reader().relations([SaidPair(_said(older), _said(newer)) for older, newer, _ in pairs])
    replacements = [
        Replacement(older, newer, each.replaces, near.likeness, near.shared)
        for (older, newer, near), each in zip(pairs, chances, strict=True)
        if each.replaces >= MIN_READ_CHANCE
    ]
    return sorted(replacements, key=lambda found: memory_of(found.newer).event_at)


def _candidates(text: str, around: Sequence[Near]) -> list[Near]:
    """The best of the nearest by vectors and common words, if they are clearly nearer than others."""
    last = around[-1].likeness if len(around) == MAX_NEAR else FEW_NEARNESS
    limit = max(MIN_NEARNESS, last + (NEARER_IF_PLAIN if is_plain(text) else NEARER))
    own, scored = frozenset(lexemes(text)), []
    for near in around:
        if _may_be_older(memory_of(near.side)):
            other = frozenset(lexemes(memory_of(near.side).content))
            shared = len(own & other) / (1 + min(len(own), len(other)))
            scored.append((near.likeness + WORDS_WEIGHT * shared, replace(near, shared=shared)))
    best = sorted(scored, key=lambda each: -each[0])[:MAX_READ]
    return [near for score, near in best if score >= limit]


def _store_replacements(found: Sequence[Replacement], txn: Writer, report: ReportBuilder, settings: Settings) -> None:
    """End what is surely replaced and link what may be, unless the statements of both have already decided."""
    decided = {(link.source, link.target) for link in report.linked}
    for at, older, newer in _stored_pairs(((each.older, each.newer) for each in found), txn):
        if older.superseded_by is not None:
            continue
        stated = txn.statements.of_memory(older.row)
        if (newer.id, older.id) in decided or (stated and _stated_otherwise(stated, newer, txn)):
            continue
        if found[at].is_sure and len(stated) < 2 and not _stays(older, newer, settings):
            why = f"{_short(newer.content)!r} replaces {_short(older.content)!r}, chance {found[at].read:.2f}"
            relate("replaces", newer, older, why, txn, report)
        elif (chance := found[at].chance) >= MIN_CHANCE:
            why = f"{_short(newer.content)!r} may replace {_short(older.content)!r}"
            relate("may_replace", newer, older, why, txn, report, chance=chance)


def _stated_otherwise(stated: Sequence[Statement], newer: Memory, txn: Writer) -> bool:
    """If the newer memory states the same value again, so that nothing changed, or states something else altogether."""
    values = {(item.subject, item.attribute): item.value for item in stated}
    own = txn.statements.of_memory(newer.row)
    known = [(values.get((item.subject, item.attribute)), item.value) for item in own]
    if any(value is not None and same_value(value, other) for value, other in known):
        return True
    one, other = (
        {word for item in items for word in f"{item.subject} {item.attribute}".split()} - {"user"}
        for items in (own, stated)
    )
    return bool(one) and one.isdisjoint(other)


def _short(text: str) -> str:
    """The beginning of a text, for a reason in one line."""
    line = " ".join(text.split())
    return line if len(line) <= 80 else line[:79].rpartition(" ")[0] + "…"


MAX_TURNS_BACK = 6
"""Maximum number of turns back to which 'actually it's 45 now' may refer."""

MAX_ENDED_CHARACTERS = 400
"""A longer text says more than the one statement, so a new value of that statement does not end all of it."""


def _stays(older: Memory, newer: Memory, settings: Settings) -> str:
    """Why the older memory stays although a newer one contradicts it; empty if it does not."""
    return "is pinned" if older.pinned else "is trusted more" if settings.trusts_less(newer, older) else ""


def replace_statements(item: Draft, txn: Writer, report: ReportBuilder, settings: Settings) -> None:
    """End what a new statement replaces. Of two statements the older one ends, also when it is stored later."""
    for statement in item.extraction.statements:
        if not (statement.update or single_valued(statement.attribute)):
            continue  # it does not end the one before; there may be as many as there are memories
        for row, stated in txn.statements.current(statement.subject, statement.attribute):
            other = txn.memories.by_row(row)
            if other is None or other.row == item.memory.row or same_value(statement.value, stated.value):
                continue
            sides = [(other, stated), (item.memory, statement)]
            (older, ended), (newer, said) = sorted(sides, key=lambda side: side[0].event_at)
            why = f"{said.attribute}: {said.value!r} replaces {ended.value!r}"
            if reason := _stays(older, newer, settings):
                why = f"{why}; the older memory {reason} and stays"
                relate("may_replace", newer, older, why, txn, report)
                continue
            remaining = txn.statements.end(older.row, ended, newer.row)
            whole = remaining == 0 and len(older.content) <= MAX_ENDED_CHARACTERS
            relate("replaces", newer, older, why, txn, report, rest="" if whole else "; the rest of it still holds")


def corrected_statement(correction: Correction, memory: Memory, txn: Writer) -> Statement | None:
    """The statement that a correction makes: of the old value it repeats, else of the last one in its session."""
    if correction.old:
        stated = txn.statements.current_with_value(correction.old)
        one = len({(statement.subject, statement.attribute) for statement in stated}) == 1
        return Statement(stated[0].subject, stated[0].attribute, correction.value, True) if one else None
    if memory.session_id is None:
        return None
    numeric = any(map(str.isdigit, correction.value))
    for turn in reversed(txn.sessions.turns(memory.session_id)[-MAX_TURNS_BACK:]):
        if turn.speaker == memory.speaker:
            for statement in txn.statements.of_memory(turn.row):
                if any(map(str.isdigit, statement.value)) == numeric:
                    return Statement(statement.subject, statement.attribute, correction.value, True)
    return None


MIN_REPEAT_LIKENESS = 0.7
"""Minimum likeness of the vectors of two memories that repeat each other."""

MIN_RESTATED_LIKENESS, MIN_RESTATED_CHANCE = 0.78, 0.8
"""Minimum likeness of the vectors of two memories with the same content in other words, and the model's minimum
chance."""

MAX_REPEATS = 3
"""Maximum number of earlier memories that a new one is linked with, the nearest of them."""

SAME_EVENT = timedelta(days=1)
"""Maximum distance of two events in the same words; an event of another day is another event."""

MAX_PAGE_MEMORIES = 200
"""Memories that are compared at once, and linked in one transaction, when earlier repeats are looked for."""


@dataclass(frozen=True, slots=True)
class Repeat:
    """A newer memory that says nearly the same as an older one; one of both is new."""

    older: Side
    newer: Side
    shared: float
    """The share of the longer text's words that the shorter one has; in other words, the chance that it is the same."""


def _find_repeats(found: Iterable[Neighbourhood]) -> list[Repeat]:
    return [repeat for item, around in found for repeat in islice(_repeated(item, around), MAX_REPEATS)]


def _repeated(item: Side, around: Sequence[Near]) -> Iterator[Repeat]:
    """The nearest first; a model reads what may say the same in other words, in either order."""
    one = memory_of(item)
    for near in around:
        other = memory_of(near.side)
        if near.likeness < MIN_REPEAT_LIKENESS or other.superseded_by is not None:
            continue
        same_day = one.type != "event" or abs(one.event_at - other.event_at) <= SAME_EVENT
        if same_day and (one.kind, one.speaker) == (other.kind, other.speaker):
            shared = same_share(one.content, other.content)
            if not shared and near.likeness >= MIN_RESTATED_LIKENESS and may_restate(one.content, other.content):
                said = SaidPair(_said(item), _said(near.side))
                read = pair_reader().relations([said, SaidPair(said.newer, said.older)])
                chance = round(min(each.continues for each in read), 4)
                shared = chance if chance >= MIN_RESTATED_CHANCE else 0
            if shared:
                yield Repeat(*_in_time(near.side, item), shared)


def _store_repeats(found: Sequence[Repeat], txn: Writer, report: ReportBuilder) -> None:
    """Link near-duplicates, unless one of both has ended, or they are equal and linked as that."""
    for at, older, newer in _stored_pairs(((each.older, each.newer) for each in found), txn):
        if older.content != newer.content and older.superseded_by is None and newer.superseded_by is None:
            why = "says nearly the same as an earlier memory"
            relate("repeats", newer, older, why, txn, report, chance=found[at].shared)


def link_earlier_repeats(namespace: Namespace, advance: Callable[[int], None] = lambda done: None) -> Report:
    """Link each memory with earlier near-duplicates, as if written now; what is linked already is left out."""
    reader, report, after = namespace.reader, ReportBuilder(), 0
    space = reader.search.vector_space()
    while space is not None and (rows := reader.memories.scan(after, MAX_PAGE_MEMORIES)):
        after = rows[-1][0].row
        found = _find_repeats(_stored_neighbourhoods([memory for memory, _ in rows], reader, space))
        links = reader.memories.links(sorted({memory_of(repeat.newer).row for repeat in found})) if found else {}
        known = {(link.source, link.target) for each in links.values() for link in each if link.relation == "repeats"}
        if new := [each for each in found if (memory_of(each.newer).id, memory_of(each.older).id) not in known]:
            with namespace.transaction() as txn:
                _store_repeats(new, txn, report)
        advance(len(rows))
    return report.build()


def _stored_neighbourhoods(page: Sequence[Memory], reader: Reader, space: VectorSpace) -> Iterator[Neighbourhood]:
    """The stored memories that may state something, each with the nearest that were written before it."""
    own = {memory.row: memory for memory in page if _may_be_older(memory)}
    vectors = reader.search.vectors(space, list(own))
    found = reader.search.dense_each(space, "full", list(vectors.values()), MAX_NEAR + 1)
    others = reader.memories.fetch(sorted({hit.row for hits in found for hit in hits}))
    for row, hits in zip(vectors, found, strict=True):
        yield own[row], [Near(others[hit.row], hit.score) for hit in hits if hit.row < row and hit.row in others]


def link_equal_turn(item: Draft, txn: Writer, report: ReportBuilder) -> None:
    """Link a stored turn to an earlier one with the same text; both stay."""
    twin = txn.memories.find_earlier_equal(item.content_hash, item.memory.row)
    earlier = None if twin is None else txn.memories.by_row(twin)
    if earlier is not None:
        why = "says the same as an earlier turn"
        txn.memories.link(item.memory.row, earlier.row, "equal", why)
        report.linked.append(Link(item.memory.id, earlier.id, "equal", why))


MAX_RECALLED = 20
"""Maximum number of the last recalled memories that a note may repeat."""

MIN_RECALLED_SHARE = 0.7
"""The share of the words of a recalled memory that a note has at least which only repeats it."""

FORGOTTEN = "it was forgotten and is not stored again; reinstate its id to allow that"

_ADDED_WORDS = "user assistant"
"""Words that an assistant adds when it repeats what a user said."""

_DENIAL = re.compile(r"\b(?:not?|never|none|without|cannot|neither|nor)\b|n['\u2019]t\b", re.IGNORECASE)


def find_recalled(drafts: Sequence[Draft], namespace: Namespace, minutes: int) -> None:
    """Give each note of an assistant or tool the memory recalled in the last `minutes` that it says again."""
    notes = [item for item in drafts if item.memory.kind == "note" and item.memory.origin in ("assistant", "tool")]
    if not notes or not minutes:
        return
    since, reader = namespace.clock() - timedelta(minutes=minutes), namespace.reader
    recalled = [reader.memories.get(id) for id in reader.feedback.returned_since(since, MAX_RECALLED)]
    alive = [memory for memory in recalled if memory is not None and memory.superseded_by is None]
    for item in notes:
        item.recalled = next((memory for memory in alive if _says_again(item.memory, memory)), None)


def _says_again(new: Memory, recalled: Memory) -> bool:
    """True if a memory that was recalled says all that the new one says, in the same words."""
    own, words = (frozenset(lexemes(text.content)) - frozenset(lexemes(_ADDED_WORDS)) for text in (new, recalled))
    denials, others = (len(_DENIAL.findall(memory.content)) for memory in (new, recalled))
    return bool(own) and own <= words and len(own) >= MIN_RECALLED_SHARE * len(words) and denials == others


def new_drafts(drafts: Sequence[Draft], reader: Reader) -> list[Draft]:
    """The drafts whose id and text are not stored yet, as far as can be seen before the transaction."""
    known = reader.memories.existing_ids([item.memory.id for item in drafts if item.record.id])
    note_hashes = reader.memories.existing_notes([item.content_hash for item in drafts if item.memory.kind == "note"])
    return [item for item in drafts if item.memory.id not in known and item.content_hash not in note_hashes]


def look_up_forgotten(drafts: Sequence[Draft], txn: Writer) -> None:
    """Read in one step which of the drafts were forgotten; one that is only a text is remembered anew."""
    txn.forgotten.look_up([(item.memory, item.content_hash) for item in drafts if _has_source(item)])


def _has_source(item: Draft) -> bool:
    return bool(item.record.id or (item.record.event_at and item.memory.session_id))


def stored_already(item: Draft, txn: Writer) -> Merged | None:
    """The memory that a draft is or repeats, or the mark that it was forgotten; changes nothing."""
    memory = item.memory
    if known := _by_source(item, txn):
        return known
    row = txn.memories.find_note(item.content_hash) if memory.kind == "note" else None
    note = None if row is None else txn.memories.by_row(row)
    return None if note is None else Merged(note.id, "the same note is stored already")


def _by_source(item: Draft, txn: Writer) -> Merged | None:
    """The mark that the draft was forgotten, or the memory with its id."""
    memory = item.memory
    if _has_source(item) and txn.forgotten.has(memory, item.content_hash):
        return Merged(memory.id, FORGOTTEN)
    if item.record.id and txn.memories.get(memory.id):
        return Merged(memory.id, "a memory with this id is already stored")
    return None


def merge(item: Draft, txn: Writer, settings: Settings) -> Merged | None:
    """Merge the draft into the memory that already says the same; None if there is no such memory."""
    memory = item.memory
    if known_source := _by_source(item, txn):
        return known_source
    if memory.kind == "note":
        row = txn.memories.find_note(item.content_hash)
        if row is not None:
            txn.memories.count_repeat(row, memory.tags)
            known = _prolong(row, memory, txn)
            if settings.trusts_less(known, memory):  # who is trusted more says it too
                txn.memories.set_origin(row, memory.origin)
            return Merged(known.id, f"the same note was remembered before; seen {known.seen_count} times now")
        recalled = item.recalled and txn.memories.by_row(item.recalled.row)
        if item.recalled is None or recalled is None or recalled.content != item.recalled.content:
            return None
        txn.memories.count_echo(recalled.row)
        return Merged(recalled.id, f"it was recalled a moment ago and says the same; echo {recalled.echo_count + 1}")
    if item.record.event_at and memory.session_id:
        twin = txn.sessions.find_turn(memory.session_id, item.content_hash, memory.event_at)
        if twin:
            return Merged(twin, "the same turn at the same time is already in this session")
    return None


def _prolong(row: int, again: Memory, txn: Writer) -> Memory:
    """A repeated memory lives as long as the later of both ends, and a pin counts for both."""
    known = txn.memories.by_row(row)
    assert known is not None
    ends = (known.expires_at, again.expires_at)
    life = (None if None in ends else max(filter(None, ends)), known.pinned or again.pinned)
    if life != (known.expires_at, known.pinned):
        txn.memories.set_life(row, *life)
    return known
