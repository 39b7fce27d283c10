"""Pronouns and 'that project' or 'there', resolved against the turns of the conversation given with the question (R1).

Without earlier turns nothing is guessed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from fivefold.retrieval.understand.entities import resolve
from fivefold.stores.protocol import Reader
from fivefold.values.query import EntityRef, Meaning

LOOK_BACK = 6
"""How many earlier turns are looked at, the latest first."""

CONFIDENCE = 0.75

_PERSON = re.compile(r"\b(?:he|him|his|she|her|hers|they|them|their)\b", re.IGNORECASE)
_PLACE = re.compile(r"\b(?:there|the same place|that place)\b", re.IGNORECASE)
_THING = re.compile(
    r"\b(?:it|its|that (?:project|thing|one|ticket|file|company)|this project|the same one)\b", re.IGNORECASE
)
_AT = re.compile(r"\b(?:in|at|to|from|near|visited)(?: the)? $", re.IGNORECASE)
_CODE = re.compile(r"[\d_/@]")
_ABOUT = re.compile(r"\b(?:project|ticket|file|on|about|called|of)(?: the)? $", re.IGNORECASE)


def refer_back(question: str, history: Sequence[str], resolved: Sequence[EntityRef], reader: Reader) -> list[EntityRef]:
    """What each kind of pronoun of the question refers to: the latest fitting name of the history."""
    if not history:
        return []
    names = list(_names(history, reader))
    refs = []
    for pattern, kinds in ((_PERSON, ("person",)), (_PLACE, ("place",)), (_THING, ("thing", "place", "person"))):
        match = pattern.search(question)
        referent = _latest(names, kinds) if match else None
        if match and referent and all(referent.meanings[0].id != ref.meanings[0].id for ref in resolved):
            meanings = tuple(Meaning(m.id, m.name, round(m.confidence * CONFIDENCE, 4)) for m in referent.meanings)
            refs.append(EntityRef(match[0], match.start(), meanings, via=f"refers back to {referent.text}"))
    return refs


def _names(history: Sequence[str], reader: Reader) -> Iterator[tuple[str, EntityRef]]:
    """The names of the history, latest first, each with what it looks like: a person, a place or a thing."""
    for turn in reversed(history[-LOOK_BACK:]):
        for ref in sorted(resolve(turn, reader), key=lambda ref: -ref.start):
            if ref.via == "name":
                yield _looks_like(turn, ref), ref


def _looks_like(turn: str, ref: EntityRef) -> str:
    before = turn[: ref.start]
    if _AT.search(before):
        return "place"
    return "thing" if _CODE.search(ref.text) or _ABOUT.search(before) else "person"


def _latest(names: Sequence[tuple[str, EntityRef]], kinds: Sequence[str]) -> EntityRef | None:
    for kind in kinds:
        for looks, ref in names:
            if looks == kind:
                return ref
    return None
