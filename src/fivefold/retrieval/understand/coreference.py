"""Pronouns and 'that project' or 'there', resolved against the turns of the conversation given with the question (R1).

Without earlier turns nothing is guessed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from fivefold.retrieval.understand.entities import resolve
from fivefold.stores.protocol import Reader
from fivefold.text.word_lists import Gender, given_names
from fivefold.values.graph import CO_MENTION
from fivefold.values.query import EntityRef, Meaning

LOOK_BACK = 6
"""How many earlier turns are looked at, the latest first."""

CONFIDENCE = 0.75
MOST_EDGES = 12
"""Edges of a name that are looked at for what it is."""

Looks = Literal["person", "place", "thing"]


@dataclass(frozen=True, slots=True)
class Named:
    """A name of the history and what it looks like; not `sure` where only the words before it say so."""

    ref: EntityRef
    looks: Looks
    sure: bool


_HE, _SHE = frozenset({"he", "him", "his"}), frozenset({"she", "her", "hers"})
_PERSON = re.compile(
    r"\b(?:he|him|his|she|her|hers|they|them|their|theirs|that (?:person|guy|man|woman|girl|boy))\b", re.IGNORECASE
)
_PLACE = re.compile(
    r"\b(?<!is )(?<!are )(?<!was )(?<!were )there\b(?! (?:is|are|was|were)\b|['’]s)"
    r"|\b(?:there(?=\s*(?:$|[?!.,;]))|the same place|that (?:place|city|town|restaurant|hotel))\b",
    re.IGNORECASE,
)
_THING = re.compile(
    r"\b(?:it|its|(?:that|this|the) (?:project|ticket|app|product|company)|that (?:thing|one|file|book|film|movie|show)"
    r"|the same one)\b",
    re.IGNORECASE,
)
_CODE = re.compile(r"[\d_/@]")
_TITLE = re.compile(r"\b(?:Dr|Mr|Mrs|Ms|Prof|Frau|Herr|Aunt|Uncle|Auntie|Señora?|Madame|Don|Doña)\.? $")
_WITHIN = re.compile(r"\b(?:in|at|near|visited|around|via|towards|through|reached)(?: the)? $", re.IGNORECASE)
_WAY = re.compile(
    r"\b(?:go|goes|going|went|gone|mov\w+|fl(?:y|ies|ew|ying|ights?)|dr(?:ive|ives|ove|iving)|travel\w*|trips?|trains?|bus"
    r"|way|c(?:ome|omes|ame|oming)|arriv\w+|relocat\w+|return\w*|walk\w*|head\w*|cycl\w+|commut\w+|tickets?)"
    r" (?:\w+ ){0,2}(?:to|from|into|for)(?: the)? $",
    re.IGNORECASE,
)
_USED = re.compile(
    r"\b(?:projects?|tickets?|files?|apps?|on|called|using|use|used|install\w*|finish\w*|launch\w*|deploy\w*|ship\w*|releas\w+"
    r"|about|of|read|reading|watch\w*|bought|own\w*)(?: the)? $",
    re.IGNORECASE,
)
_THINGS = frozenset({"owns", "works on", "founded"})
_PLACES = frozenset({"lives in", "located in", "works at"})
_FIRMS = frozenset({"part of", "member of", "leads", "manages"})


def refer_back(question: str, history: Sequence[str], resolved: Sequence[EntityRef], reader: Reader) -> list[EntityRef]:
    """What each kind of pronoun of the question refers to: the latest fitting name of the history."""
    if not history:
        return []
    names = list(_names(history, reader))
    refs = []
    for pattern, kinds, others in _KINDS:
        match = pattern.search(question)
        referent = _latest(names, kinds, others, match[0]) if match else None
        if match and referent and all(referent.meanings[0].id != ref.meanings[0].id for ref in resolved):
            meanings = tuple(Meaning(m.id, m.name, round(m.confidence * CONFIDENCE, 4)) for m in referent.meanings)
            refs.append(EntityRef(match[0], match.start(), meanings, via=f"refers back to {referent.text}"))
    return refs


_KINDS: tuple[tuple[re.Pattern[str], tuple[Looks, ...], tuple[Looks, ...]], ...] = (
    (_PERSON, ("person",), ("thing", "place")),
    (_PLACE, ("place",), ("thing", "person")),
    (_THING, ("thing", "place", "person"), ()),
)
"""What each kind of pronoun means, and what it may mean where nothing but the words around say otherwise."""


def _names(history: Sequence[str], reader: Reader) -> Iterator[Named]:
    """The names of the history, latest first, each with what it looks like; 'my sister' is a person too."""
    for turn in reversed(history[-LOOK_BACK:]):
        for ref in sorted(resolve(turn, reader), key=lambda ref: -ref.start):
            if ref.via == "name":
                yield _named(turn, ref, reader)
            elif " of " in ref.via and ref.text.casefold().startswith(("my ", "our ")):
                yield Named(EntityRef(ref.name, ref.start, ref.meanings, ref.via), "person", True)


def _named(turn: str, ref: EntityRef, reader: Reader) -> Named:
    """By its name or by what the store knows of it; else by the words before it, or without such words a person."""
    before = turn[: ref.start]
    if _CODE.search(ref.text):
        return Named(ref, "thing", True)
    place = _WITHIN.search(before) or _WAY.search(before)
    if _TITLE.search(before) or _gender(ref):
        is_place = place and len(ref.text.split()) == 1 and _known_as(ref, reader) == "place"
        return Named(ref, "place" if is_place else "person", True)
    known = _known_as(ref, reader)
    if known:
        return Named(ref, known, True)
    return Named(ref, "place" if place else "thing" if _USED.search(before) else "person", False)


def _known_as(ref: EntityRef, reader: Reader) -> Looks | None:
    """What the edges of a name say that it is."""
    key = ref.meanings[0].id
    for edge in reader.graph.edges(key, MOST_EDGES):
        if edge.relation == CO_MENTION:
            continue
        is_target = edge.target_id == key
        if edge.relation in _PLACES:
            return "place" if is_target else "person"
        if edge.relation in _THINGS or edge.relation in _FIRMS:
            return "thing" if is_target else "person" if edge.relation != "part of" else "thing"
        return "person"
    return None


def _gender(ref: EntityRef) -> Gender | None:
    return given_names().get(ref.name.split(" ", 1)[0].casefold()) or given_names().get(ref.text.casefold())


def _latest(names: Sequence[Named], kinds: Sequence[Looks], others: Sequence[Looks], pronoun: str) -> EntityRef | None:
    """The latest name of the first kind that has one, else the latest that may be one.

    'He' means no woman and 'she' no man.
    """
    other = "f" if pronoun.casefold() in _HE else "m" if pronoun.casefold() in _SHE else ""
    fitting = [named for named in names if not (other and _gender(named.ref) == other)]
    for kind in kinds:
        for named in fitting:
            if named.looks == kind:
                return named.ref
    for kind in others:
        for named in fitting:
            if named.looks == kind and not named.sure:
                return named.ref
    return None
