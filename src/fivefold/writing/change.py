"""Changes in plain words: a new memory that replaces an older one, found by a model that reads both.

What is sure is marked as ended. What is only likely is linked with its chance and weighed when asked.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from fivefold.models.reader import Said, SaidPair, pair_reader
from fivefold.stores.interface import Reader, VectorSpace, Writer
from fivefold.text.lexemes import lexemes
from fivefold.values.entities import Statement
from fivefold.values.memory import Memory
from fivefold.values.reports import Link
from fivefold.values.vectors import Matrix
from fivefold.writing.draft import Draft, ReportBuilder
from fivefold.writing.extract.statements import refers_back, same_value

# Cheap tests in words: which texts may state or change something, and which changes are not sure enough to mark.

SHORTEST, LONGEST = 2, 700
"""Words a statement has at least, and characters at most: a longer text says more than one thing."""

_SENTENCE = re.compile(r"[^.!?\n]+[.!?]*")
_WORD = re.compile(r"[^\W_]+")


def _any_of(*phrases: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(phrases)})\b", re.IGNORECASE)


_TALK = re.compile(
    r"(?:(?:hi|hey|hello|thanks?|thank you|ok(?:ay)?|sure|great|cool|nice|wow|haha\w*|lol|yes|yeah|no|bye"
    r"|good (?:morning|night|evening|luck)|congrat\w*|sounds? (?:good|great|fun|like)|glad|take care|see you"
    r"|that['’]?s (?:great|awesome|amazing|so|really|cool|nice|good)|you['’]re welcome"
    r"|i (?:totally )?(?:agree|see|know|understand|hope))\b[\s,!.:)]*)",
    re.IGNORECASE,
)
_OTHERS = _any_of(
    "sister|brother|mum|mom|mother|dad|father|parents?|grandma|grandpa|grandmother|grandfather|aunt|uncle|cousin",
    "nephew|niece|neighbou?rs?|colleagues?|co-?workers?|friends?|roommate|flatmate|wife|husband|son|daughter|kids?",
    "children|boyfriend|girlfriend|partner|boss|classmates?|in-laws",
)
_UNREAL = _any_of(
    r"if|would|might|maybe|perhaps|wish(?:es)?|dream\w*|imagine|pretend\w*|thinking (?:of|about)|consider\w*",
    r"someday|one day|as a (?:kid|child|student|joke)|when i was|years ago|because|bc|lent|borrow\w*|rented",
    r"for the (?:day|week|weekend|night|month)",
)
_LONG_AGO = re.compile(
    r"\b(?:in|during|until|around) (?:19|20)\d\d\b|\b(?:years|decades) ago\b"
    r"|\bas a (?:child|kid|boy|girl|student|teen\w*)\b",
    re.IGNORECASE,
)
_TOGETHER = re.compile(r"\b(?:we|our|ours|us)\b", re.IGNORECASE)
_ABOUT_USER = _any_of("user")
_REPLY = _any_of(r"you|your|you['’](?:re|ve|ll|d)|noted|saved|got it|alright|understood")
_NEWS = _any_of(
    r"no longer|no more|any ?more|instead|from now on|these days|nowadays|(?:gave|given|giving|gives?) up|quit",
    r"cancell?ed|sold|gone|died|(?:broke|split) up|divorced|called off|stopped|dropped|left|switched|swapped",
    r"replaced|traded|moved|changed|(?:took|taken|handed) over|promoted|retired|postponed|pushed|rescheduled",
    r"got (?:engaged|married|rid of)|turns out|after all|now|new|is over|fell through|nicht mehr|jetzt|ya no|ahora",
    r"désormais|adesso|rebooked",
)
_GOES_ON = _any_of(
    r"still|again|as (?:usual|always|ever|before)|kept?|keep(?:s|ing)?|stay(?:s|ed|ing)?|renew\w*|same|also|too",
    r"as well|another|second|both|besides",
)
_SENSE = _any_of(
    r"no|nor|not|none|never|nothing|nobody|neither|without|cannot|hardly|rarely|seldom|barely|un\w{4,}|non|false|wrong",
    r"one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|hundred|thousand|first|third|half|twice|once",
    r"all|every|each|any|some|few|many|most|only|except|but|or|than|more|less|before|after|until|till|since|off",
    r"he|him|his|she|her|they|them|their|you|your|we|us|our|ex|former\w*|used|could|should|may|will|want\w*|hop(?:es?|ing)",
    r"plan\w*|tr(?:y|ies|ied|ying)|almost|nearly|yesterday|today|tomorrow|last|next|ago|am|pm|nicht|kein\w*|nie|nunca",
    r"jamás|pas|jamais|mai|não|sin|ohne|sans|senza|sem",
)
_STATE = _any_of(r"i|my|mine|me|we|our|us|users?|is|are|am|has|have|['’](?:s|m|re|ve)")
_AMOUNT = _any_of(
    r"at|on|in|to|by|until|till|for|from|of|about|around|under|over|costs?|weighs?",
    r"jan\w*|feb\w*|mar(?:ch)?|apr\w*|may|june?|july?|aug\w*|sep\w*|oct\w*|nov\w*|dec\w*",
    r"[kcm]?[gm]|km|kilos?|miles?|euros?|dollars?|pounds?|percent|years?|months?|weeks?|days?|hours?|minutes?|[ap]m",
)
_SERIES = frozenset({"number", "no", "nr", "nummer", "número", "numéro", "numero"})
_NUMBERED = re.compile(r"([^\W\d_]*[#-]?)\d{1,6}(?:\.\d{1,6})?")


def may_state(text: str) -> bool:
    """Whether a text may say how something is: no mere question, no small talk, nothing very short or long."""
    text = _TALK.sub("", text.strip(), count=3) if len(text) < 120 else text.strip()
    if not text or len(text) > LONGEST:
        return False
    said = [sentence for sentence in _SENTENCE.findall(text) if not sentence.rstrip().endswith("?")]
    return sum(len(_WORD.findall(sentence)) for sentence in said) >= SHORTEST


def is_doubtful(older: str, newer: str) -> bool:
    """Whether a change is at most likely: it may not have happened, or somebody else than before is spoken of.

    What the older text only asks or imagines cannot end.
    """
    if "?" in older or _UNREAL.search(older):
        return True
    if _UNREAL.search(newer) or _LONG_AGO.search(newer) or (_TOGETHER.search(newer) and not _TOGETHER.search(older)):
        return True
    if refers_back(newer) is not None:  # it does not say what it corrects; statements find that by value and place
        return True
    known = {word.casefold() for word in _OTHERS.findall(older)}
    return any(word.casefold() not in known for word in _OTHERS.findall(newer))


def is_numbered(older: str, newer: str) -> bool:
    """Whether two texts are of one series, such as 'turn 1' and 'turn 2': they differ in such numbers alone.

    An amount or a day is no number of a series, nor is any number in a text that says how something is or changed.
    """
    if _STATE.search(newer) or _NEWS.search(newer):
        return False
    one, other = (["", *(word.strip(".,;!()") for word in text.split()), ""] for text in (older, newer))
    places = [at for at in range(min(len(one), len(other))) if one[at].casefold() != other[at].casefold()]
    return len(one) == len(other) and bool(places) and all(_is_series(one, other, at) for at in places)


def is_repeated(older: Said, newer: Said) -> bool:
    """Whether an assistant only answers, and so repeats what it was told. Its notes about a person change something."""
    if not newer.by_assistant:
        return False
    return bool(_REPLY.search(newer.text)) or not (older.by_assistant or _ABOUT_USER.search(newer.text))


def changes_sense(words: str) -> bool:
    """Whether words that only one of two texts has say whether, when, how often or of whom something holds."""
    cues = (_SENSE, _OTHERS, _UNREAL, _NEWS, _GOES_ON)
    return any(cue.search(words) for cue in cues)


def is_plain(newer: str) -> bool:
    """Whether a text says plainly that something ended or is new."""
    return _NEWS.search(newer) is not None and _GOES_ON.search(newer) is None


def _is_series(one: list[str], other: list[str], at: int) -> bool:
    """Whether both have a number after the same letters at that place, and it is neither an amount nor a day."""
    older, newer = _NUMBERED.fullmatch(one[at].rstrip(":")), _NUMBERED.fullmatch(other[at].rstrip(":"))
    if older is None or newer is None or older[1].casefold() != newer[1].casefold():
        return False
    before, after = other[at - 1], other[at + 1]
    if before.casefold() in _SERIES:
        return True
    return not (before.endswith((":", "=")) or _AMOUNT.fullmatch(before) or _AMOUNT.fullmatch(after))


# Which memories a new one is compared with: the nearest ones, and for changes those clearly nearer than the others.

AROUND = 24
"""How many of the nearest memories are looked at; the last of them says how near any memory is."""

MOST = 6
"""How many of them a new memory is compared with."""

LEAST, ALONE = 0.4, 0.25
"""How near a candidate must be at least, and how near any memory is taken to be where there are few."""

NEARER, NEARER_IF_PLAIN = 0.2, 0.15
"""How much nearer than the last one a candidate must be; less where the text plainly says that something changed."""

WORDS = 0.5
"""What the share of common words adds to the likeness of the vectors."""

Side = Draft | Memory


@dataclass(frozen=True, slots=True)
class Near:
    """A memory of the store or of the batch: how like its vector is, and which share of the words is common."""

    side: Side
    likeness: float
    shared: float = 0.0


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """A new memory with the nearest that were given before it, nearest first."""

    item: Draft
    around: Sequence[Near]


def neighbourhoods(drafts: Sequence[Draft], reader: Reader) -> list[Neighbourhood]:
    """The new memories that may state something. A batch gives the same as its records one after the other."""
    items = [item for item in drafts if "full" in item.vectors.fields and may_state(item.memory.content)]
    if not items:
        return []
    space = reader.search.vector_space()
    stored = _stored_near(items, reader, space)
    memories = reader.memories.fetch(sorted({row for near in stored for row in near}))
    likeness = _likeness(items)
    found = []
    for at, item in enumerate(items):
        near = [Near(memories[row], score) for row, score in stored[at].items() if row in memories]
        near += [Near(items[other], float(likeness[at, other])) for other in range(at)]
        found.append(Neighbourhood(item, sorted(near, key=lambda each: -each.likeness)[:AROUND]))
    return found


def candidates(compared: Iterable[Neighbourhood]) -> Iterator[tuple[Near, Draft]]:
    """Memories that a new one may replace, each with the new one."""
    for each in compared:
        yield from ((near, each.item) for near in _clearly_near(each.item, each.around))


def memory_of(side: Side) -> Memory:
    """The memory of a draft, or the memory itself."""
    return side.memory if isinstance(side, Draft) else side


def in_time(side: Side, item: Side) -> tuple[Side, Side]:
    """The older first; of two at one moment, the one that was there or given first."""
    return (side, item) if memory_of(side).event_at <= memory_of(item).event_at else (item, side)


def stored_memory(side: Side, txn: Writer) -> Memory | None:
    """The memory as the transaction sees it; None where it was merged or is gone."""
    row = memory_of(side).row
    return txn.memories.by_row(row) if row else None


def _stored_near(items: Sequence[Draft], reader: Reader, space: VectorSpace | None) -> list[Mapping[int, float]]:
    """Rows of the memories nearest to each item, with their likeness; a memory that is changed is not near itself."""
    vectors = [item.vectors.fields["full"] for item in items]
    if space is None or len(vectors[0]) != space.dimension:
        return [{} for _ in items]
    found = reader.search.dense_each(space, "full", vectors, AROUND + 1)
    return [
        {hit.row: hit.score for hit in hits if hit.row != item.memory.row}
        for item, hits in zip(items, found, strict=True)
    ]


def _likeness(items: Sequence[Draft]) -> Matrix:
    vectors: Matrix = np.stack([item.vectors.fields["full"] for item in items])
    return vectors @ vectors.T


def _clearly_near(item: Draft, around: Sequence[Near]) -> list[Near]:
    """The best of the nearest by vectors and common words; ended memories and mere questions are no candidates."""
    last = around[-1].likeness if len(around) == AROUND else ALONE
    limit = max(LEAST, last + (NEARER_IF_PLAIN if is_plain(item.memory.content) else NEARER))
    own = frozenset(lexemes(item.memory.content))
    found = [replace(each, shared=_shared(own, each.side)) for each in around if _open(each.side)]
    best = sorted(found, key=lambda each: -_score(each))[:MOST]
    return [each for each in best if _score(each) >= limit]


def _score(near: Near) -> float:
    return near.likeness + WORDS * near.shared


def _shared(own: frozenset[str], side: Side) -> float:
    other = frozenset(lexemes(memory_of(side).content))
    return len(own & other) / (1 + min(len(own), len(other)))


def _open(side: Side) -> bool:
    memory = memory_of(side)
    return memory.kind != "session" and memory.superseded_by is None and may_state(memory.content)


READ = 0.25
"""From which chance of the model on a pair counts at all."""

SURE, SURE_IF_PLAIN, SURE_IF_SHORT = 0.95, 0.945, 0.5
"""From which chance of the model on a memory is marked as ended: in general, where the text plainly says that something
changed, and where both texts are short as well."""

SHARED = 0.25
"""The share of common words without which a change is not sure, unless both texts are short."""

SHORT, NEAR = 10, 0.4
"""Words of a short text, and how like the vectors of two of them must be."""

ENDABLE = 45
"""Words that a memory has at most to be ended as a whole; a longer one says more than what changed."""

LIKELY = 0.08
"""From which chance on two memories are linked."""

WEIGHTS = (0.6507, 2.165, 2.7599, -0.0025, -4.4488)
"""What makes a change likely in a life: the model's log odds, the likeness of the vectors, the share of common words,
the number of words; and the start of the sum. Fitted on the six lives to choose by (`training/reader/weigh.py`)."""


@dataclass(frozen=True, slots=True)
class Change:
    """A newer memory that may replace an older one; one of both is new."""

    older: Side
    newer: Side
    read: float
    """The chance that the model gives, which knows only the two texts."""
    likeness: float
    shared: float

    @property
    def chance(self) -> float:
        """The chance among all memories that are near, most of which are about something else.

        It is rounded, so that every store gives the same; likeness differs between them in its last digits.
        """
        odds = math.log(self.read / max(1 - self.read, 1e-6))
        signs = (odds, self.likeness, self.shared, _words(self.older) + _words(self.newer), 1)
        return round(1 / (1 + math.exp(-sum(weight * sign for weight, sign in zip(WEIGHTS, signs, strict=True)))), 4)

    @property
    def is_sure(self) -> bool:
        """Whether the older memory may be marked as ended, and not only linked."""
        older, newer = _said(self.older), _said(self.newer)
        if _words(self.older) > ENDABLE or is_doubtful(older.text, newer.text) or is_repeated(older, newer):
            return False
        short = max(_words(self.older), _words(self.newer)) <= SHORT
        if self.shared < SHARED and not (short and self.likeness >= NEAR):
            return False
        limit = SURE_IF_SHORT if short else SURE_IF_PLAIN
        return self.read >= (limit if is_plain(newer.text) else SURE)


def find_changes(drafts: Sequence[Draft], reader: Reader) -> list[Change]:
    """What the new memories replace, and what replaces them, among themselves and in the store; oldest change first."""
    return changes_among(neighbourhoods(drafts, reader))


def changes_among(compared: Sequence[Neighbourhood]) -> list[Change]:
    """The same of new memories whose nearest ones are known."""
    ordered = [(*in_time(near.side, item), near) for near, item in candidates(compared)]
    ordered = [(older, newer, near) for older, newer, near in ordered if _differ(older, newer)]
    chances = pair_reader().relations([SaidPair(_said(older), _said(newer)) for older, newer, _ in ordered])
    found = [
        Change(older, newer, each.replaces, near.likeness, near.shared)
        for (older, newer, near), each in zip(ordered, chances, strict=True)
        if each.replaces >= READ
    ]
    return sorted(found, key=lambda change: memory_of(change.newer).event_at)


def mark_changes(changes: Sequence[Change], txn: Writer, report: ReportBuilder) -> None:
    """End what is surely replaced and link what is likely, unless the statements of both have already decided."""
    decided = {(link.source, link.target) for link in report.linked}
    for change in changes:
        older, newer = stored_memory(change.older, txn), stored_memory(change.newer, txn)
        if older is None or newer is None or older.row == newer.row or older.superseded_by is not None:
            continue
        stated = txn.statements.of_memory(older.row)
        if (newer.id, older.id) in decided or _states_again(newer, stated, txn) or _states_other(newer, stated, txn):
            continue
        if change.is_sure and len(stated) < 2 and not older.pinned:
            why = f"{_short(newer.content)!r} replaces {_short(older.content)!r}, chance {change.read:.2f}"
            txn.statements.supersede(older, newer, why)
            report.superseded.append(Link(newer.id, older.id, "supersedes", why))
        elif change.chance >= LIKELY:
            why = f"{_short(newer.content)!r} may replace {_short(older.content)!r}"
            txn.memories.link(newer.row, older.row, "likely", why, change.chance)
            report.linked.append(Link(newer.id, older.id, "likely", why, change.chance))


def _differ(older: Side, newer: Side) -> bool:
    """Equal texts say the same."""
    one, other = memory_of(older), memory_of(newer)
    if is_numbered(one.content, other.content):
        return False
    return one.id != other.id and lexemes(one.content) != lexemes(other.content)


def _states_again(newer: Memory, stated: Sequence[Statement], txn: Writer) -> bool:
    """Whether the newer memory states an attribute of the older one with the same value, so that nothing changed."""
    values = {(item.subject, item.attribute): item.value for item in stated}
    return any(
        same_value(values[item.subject, item.attribute], item.value)
        for item in (txn.statements.of_memory(newer.row) if values else ())
        if (item.subject, item.attribute) in values
    )


def _states_other(newer: Memory, stated: Sequence[Statement], txn: Writer) -> bool:
    """Whether both memories state something, and nothing of the same: a new home is no new employer."""
    said = _attribute_words(txn.statements.of_memory(newer.row)) if stated else set()
    return bool(said) and said.isdisjoint(_attribute_words(stated))


def _attribute_words(statements: Sequence[Statement]) -> set[str]:
    """The words of what is stated, apart from the user's part in it."""
    return {word for item in statements for word in f"{item.subject} {item.attribute}".split()} - {"user"}


def _said(side: Side) -> Said:
    memory = memory_of(side)
    return Said(memory.content, memory.speaker or "")


def _words(side: Side) -> int:
    return len(memory_of(side).content.split())


def _short(text: str) -> str:
    """The beginning of a text, for a reason in one line."""
    line = " ".join(text.split())
    return line if len(line) <= 80 else line[:79].rpartition(" ")[0] + "…"
