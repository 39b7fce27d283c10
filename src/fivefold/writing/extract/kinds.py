"""Tells if a name is a person, a place or an organisation, by its words and by the words around it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from typing import cast

from fivefold.text.lexemes import given_names, phrase_lines, places
from fivefold.text.names import KIN_ROLES, ROLE_OF
from fivefold.values.entities import EntityKind, Mention, Relation

AHEAD, BEHIND = 60, 40
"""Characters before and after a name that are looked at."""

MAX_PLACES = 3
"""Places of a name in one text that are looked at."""

MIN_SCORE = 2
"""A kind needs so much evidence, and more than any other."""

SURE, GIVEN = 8, 2
"""The evidence of a title, of a word that only such names have, or of a stated relation; that of a given name."""


@cache
def _lines() -> dict[str, list[str]]:
    return phrase_lines("fivefold.writing.extract", "data/kinds.txt")


@cache
def _ends() -> dict[str, tuple[str, ...]]:
    """The kinds of source and target that a relation implies; a role, as in "sister of", is between persons."""
    rows = (tuple(cell.strip() for cell in line.split("|")) for line in _lines()["relation ends"])
    return {relation: tuple(ends) for relation, *ends in rows}


@cache
def _evidence(side: str) -> list[tuple[EntityKind, int, re.Pattern[str]]]:
    """The expressions for the text on one side of a name; a thing has evidence against the other kinds."""
    kin = f"(?:{'|'.join(sorted(map(re.escape, ROLE_OF), key=len, reverse=True))})"
    found: list[tuple[EntityKind, int, re.Pattern[str]]] = []
    for name in ("person", "place", "organisation", "name"):
        for line in _lines().get(f"{name} {side}", ()):
            weight, _, pattern = line.partition(" ")
            found.append((name, int(weight), re.compile(pattern.replace("KIN", kin))))
    return found


@cache
def _words(form: str) -> re.Pattern[str]:
    """The expression with the lines of sections in it."""
    return re.compile(re.sub(r"<([a-z ]+)>", lambda match: f"(?:{'|'.join(_lines()[match[1]])})", form))


def with_kinds(text: str, mentions: Iterable[Mention], relations: Iterable[Relation]) -> tuple[Mention, ...]:
    """The mentions; a name of which the text tells the kind has it."""
    related: dict[str, Counter[EntityKind]] = {}
    for item in relations:
        role = ("person", "person") if item.relation.endswith(" of") else ("", "")
        for end, kind in zip((item.source, item.target), _ends().get(item.relation, role), strict=True):
            if kind:
                related.setdefault(end.casefold(), Counter())[cast(EntityKind, kind)] += SURE
    return tuple(
        replace(mention, kind=_kind(text, mention.name, related.get(mention.name.casefold(), Counter())))
        if mention.kind == "name"
        else mention
        for mention in mentions
    )


def _kind(text: str, name: str, score: Counter[EntityKind]) -> EntityKind:
    at = -1
    for _ in range(MAX_PLACES):
        at = text.find(name, at + 1)
        if at < 0:
            break
        ahead, behind = text[max(0, at - AHEAD) : at], text[at + len(name) : at + len(name) + BEHIND]
        for side, near in (("before", ahead), ("after", behind)):
            for kind, weight, pattern in _evidence(side):
                if pattern.search(near) and not (kind == "place" and behind[:2] in ("'s", "’s")):
                    score[kind] += weight
    if score and not given_names().keys().isdisjoint(name.casefold().split()):
        score["person"] += GIVEN
    score.update(dict(_of_words(name)))
    (best, most), *others = [*score.most_common(2), ("name", 0)]
    return best if most >= MIN_SCORE and most > others[0][1] else "name"


def _of_words(name: str) -> Iterator[tuple[EntityKind, int]]:
    """The evidence in the words of a name itself."""
    if name.casefold() in KIN_ROLES or _words(r"(?i:<title>)\.? ").match(name):
        yield "person", SURE
    if _words(r"<organisation starts> |.*(?<![\w’'-])<organisation words>\Z").match(name):
        yield "organisation", SURE
    if _words(r"<nationality>\Z").match(name):
        yield "name", SURE
    elif name.casefold() in places() or _words(r"(?:.* <place words>|[^ ]+<place endings>)\Z").match(name):
        yield "place", SURE - 1
    elif _words("<place starts> ").match(name):
        yield "place", MIN_SCORE
