"""The verbs and nouns that state a relation, and what each says: 'boss' means 'reports to', turned round (R6)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from fivefold.text.kinship import GENERAL, KIN_ROLES, OTHER_ROLES, relation_of


class Sense(NamedTuple):
    """What a verb or noun says. Turned: its object is the source. Lasting: its past tense does not mean ended."""

    relation: str
    form: str = "is"
    turned: bool = False
    over: bool = False
    lasting: bool = False


# Relation, verbs, nouns. "<" is turned, "-" over, "+" past only, "=" behind a form of be; "lead:led" names the past.
_WORDS = """
reports to | report to, work under, =managed by, <manage, <=boss of | boss, manager, supervisor
works at | work at, work for, =employed by, =employed at, <employ, <+hired, -leave:left | employer
works on | work on |
lives in | live in, +moved to, +relocated to, +moved back to |
located in | =based in, =located in, =headquartered in, =in |
owns | own, =owner of, <belong to, <=owned by | cat, dog, puppy, kitten, pet, horse, rabbit, hamster, boat, car, project
founded | +founded, +co-founded, =founder of, <=founded by, +started the company, +started a company called | <founder
leads | lead:led, head, run:-, =head of, =leader of, =CEO of, =in charge of, <=led by, <=run by | <CEO, <leader
part of | =part of, =subsidiary of, =division of, =unit of, =branch of |
member of | =member of |
replaces | replace, succeed, take:took over from, <=replaced by, <=succeeded by | <successor, <replacement
married to | =married to, +married, -+divorced, -=divorced from, -=separated from | wife, husband, spouse
partner of | =engaged to, =dating | partner, girlfriend, boyfriend, fiancé, fiancée
sibling of | =sister of, =brother of | sister, brother, sibling, twin, sis, bro
parent of | =mother of, =father of | <mother, <father, <mum, <mom, <dad, <parent, <mam, <mama, <papa, <daddy
child of | =daughter of, =son of | <daughter, <son, <child, <kid, <children
friend of | =friends with, =good friends with, =best friends with, =friend of | friend, mate, pal, buddy
colleague of | =colleague of | colleague, coworker, co-worker, teammate, workmate
"""


def _senses(column: int) -> Iterator[tuple[str, Sense]]:
    for row in _WORDS.strip().splitlines():
        relation, *cells = (cell.strip() for cell in row.split("|"))
        lasts = relation in ("founded", "replaces", "parent of", "child of", "sibling of")
        for signs, verb, rest in re.findall(r"([<+=-]*)([^ ,]+)((?: [^ ,]+)*)", cells[column]):
            for form, word in _forms(verb, signs + "=" * column):
                yield word + rest, Sense(relation, form, "<" in signs, "-" in signs, lasts or "+" in signs)


def _forms(verb: str, signs: str) -> list[tuple[str, str]]:
    if "=" in signs or "+" in signs:
        return [("is" if "=" in signs else "past", verb)]
    base, _, past = verb.partition(":")
    words = (base, f"{base}s", past or f"{base.removesuffix('e')}ed", f"{base.removesuffix('e')}ing")
    return [(form, word) for form, word in zip(("base", "third", "past", "ing"), words, strict=True) if word != "-"]


def triggers_of(phrases: dict[str, Sense]) -> str:
    """The longest word of each phrase, singular and plural: where none of these occurs, no phrase does."""
    return " ".join(
        f"{word} {word}s" for word in (max(re.findall(r"[^\W\d_]+", s.casefold()), key=len) for s in phrases)
    )


VERBS, NOUNS = (dict(sorted(_senses(column), key=lambda sense: -len(sense[0]))) for column in (0, 1))
NOUNS |= {
    word: Sense(relation_of(role), turned=True, lasting=word in KIN_ROLES)
    for word, role in (KIN_ROLES | OTHER_ROLES).items()
    if word not in NOUNS
}
NOUNS = dict(sorted(NOUNS.items(), key=lambda noun: -len(noun[0])))
KIND_OF = {word: relation_of(role) for word, role in KIN_ROLES.items() if GENERAL.get(role) not in (None, role)}
"""What a word of kinship says besides its relation: a sister is a sibling, and the sister."""
PASSING = frozenset(relation_of(role) for role in OTHER_ROLES.values())
"""Roles that end: an old flatmate is one no more."""
