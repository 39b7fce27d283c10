"""A question becomes a Query: whom, when and what it asks about, as far as that can be read out of it (R1)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

from fivefold.retrieval.understand.demands import Clock, find_cues, find_demands, main_intent, subject_words, time_of
from fivefold.retrieval.understand.entities import resolve
from fivefold.retrieval.understand.parts import question_parts
from fivefold.retrieval.understand.wording import Rewording, mend, translated
from fivefold.settings import Settings
from fivefold.stores.interface import Reader
from fivefold.text.languages import language_of
from fivefold.text.lexemes import Gender, given_names, lexemes
from fivefold.values.entities import CO_MENTION
from fivefold.values.query import Cue, Demand, EntityRef, Meaning, NamePrior, Query
from fivefold.values.times import in_zone

# A question that follows others, written out so that it can be read alone: 'when is it?' names what it asks about.

OWNED = "'s"
LONGEST = 300
"""Characters of the turns before that are put in front of a question."""
FEW_WORDS = 4
"""A turn with fewer words of its own is read together with the one before it."""

_FROM = "refers back to "
_REPLACED = frozenset("he him his she her hers they them their theirs there".split())
"""Pronouns that stand for a name; 'it' is more often a thing without one."""
_POSSESSIVE = frozenset({"his", "her", "its", "their"})
_OBJECT = re.compile(
    r"\s*(?:$|[?!.,;:]|(?:in|on|at|for|to|from|with|about|again|now|then|this|last|next|and|or|when)\b)"
)
_OPEN = re.compile(
    r"\b(?:he|him|his|she|her|hers|they|them|their|theirs|its?)\b"
    r"|(?<!is )(?<!are )(?<!was )(?<!were )\bthere\b(?! (?:is|are|was|were)\b|['’]s)"
    r"|\b(?:did|was|is|does|about|after|before|with|for|on|at|to|of) that\b(?! (?:i|we|you|he|she|they)\b)"
    r"|\bthat one\b|\bthen\b|\bthe (?:first|second|third|other|last|same) (?:one|time)\b"
    r"|^(?:and|n|but|or|what about|how about|also|why|why not)\b",
    re.IGNORECASE,
)
"""Words that need the turns before."""


def written_out(question: str, refs: Sequence[EntityRef], history: Sequence[str]) -> str:
    """The question with its pronouns replaced by names, or with the turn before in front of it."""
    if not history:
        return question
    named = [ref for ref in refs if ref.text.casefold() in _REPLACED]
    if named:
        return _with_names(question, named)
    if not _OPEN.search(question):
        return question
    turns = [turn.strip() for turn in history[-2:] if turn.strip()]
    if turns and len(subject_words(turns[-1])) >= FEW_WORDS:
        turns = turns[-1:]
    return " ".join((*(turn[-LONGEST:] for turn in turns), question))


def _with_names(question: str, refs: Sequence[EntityRef]) -> str:
    for ref in sorted(refs, key=lambda ref: -ref.start):
        end = ref.start + len(ref.text)
        pronoun, rest = question[ref.start : end].casefold(), question[end:]
        owned = pronoun in _POSSESSIVE and not (pronoun == "her" and _OBJECT.match(rest))
        where = "in " if pronoun == "there" else ""
        question = f"{question[: ref.start]}{where}{ref.via.removeprefix(_FROM)}{OWNED if owned else ''}{rest}"
    return question


# Pronouns and 'that project' or 'there', resolved against the turns of the conversation given with the question (R1).

LOOK_BACK = 6
"""How many earlier turns are looked at, the latest first."""

CONFIDENCE = 0.75
MOST_EDGES = 12
"""Edges of a name that are looked at for what it is."""

Looks = Literal["person", "place", "thing"]


@dataclass(frozen=True, slots=True)
class Referent:
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


def _names(history: Sequence[str], reader: Reader) -> Iterator[Referent]:
    """The names of the history, latest first, each with what it looks like; 'my sister' is a person too."""
    for turn in reversed(history[-LOOK_BACK:]):
        for ref in sorted(resolve(turn, reader), key=lambda ref: -ref.start):
            if ref.via == "name":
                yield _named(turn, ref, reader)
            elif " of " in ref.via and ref.text.casefold().startswith(("my ", "our ")):
                yield Referent(EntityRef(ref.name, ref.start, ref.meanings, ref.via), "person", True)


def _named(turn: str, ref: EntityRef, reader: Reader) -> Referent:
    """By its name or by what the store knows of it; else by the words before it, or without such words a person."""
    before = turn[: ref.start]
    if _CODE.search(ref.text):
        return Referent(ref, "thing", True)
    place = _WITHIN.search(before) or _WAY.search(before)
    if _TITLE.search(before) or _gender(ref):
        is_place = place and len(ref.text.split()) == 1 and _known_as(ref, reader) == "place"
        return Referent(ref, "place" if is_place else "person", True)
    known = _known_as(ref, reader)
    if known:
        return Referent(ref, known, True)
    return Referent(ref, "place" if place else "thing" if _USED.search(before) else "person", False)


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


def _latest(
    names: Sequence[Referent], kinds: Sequence[Looks], others: Sequence[Looks], pronoun: str
) -> EntityRef | None:
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


Part = TypeVar("Part", EntityRef, Demand, Cue)


def understand(
    question: str,
    clock: Clock,
    history: Sequence[str],
    reader: Reader,
    settings: Settings,
    name_prior: NamePrior = "memories",
) -> Query:
    """The question with its words, entities, window, intent and demands. It never fails on any text.

    Types of memory are implied later, by the optimizer (R1).
    """
    language = language_of(question)
    resolved = resolve(question, reader, name_prior)
    reworded, further = translated(question, language, resolved) if language else (mend(question, resolved, reader), "")
    if reworded.changes:
        resolved = resolve(reworded.text, reader, name_prior)
    asked = question if language else reworded.text
    referring = refer_back(reworded.text, history, resolved, reader)
    reading = written_out(reworded.text, referring, history)
    time = time_of(asked, language, clock, reader, settings)
    cues = find_cues(reworded.text if language else question)
    texts = (question, reading, further) if reading != question else (question,)
    demands = find_demands(asked, time, language)
    return Query(
        text=question,
        now=in_zone(clock.now, clock.zone),
        lexemes=tuple(dict.fromkeys(lexeme for text in texts for lexeme in lexemes(text))),
        history=tuple(history),
        window=time.window if time else None,
        entities=tuple(_in_place(ref, question, reworded) for ref in (*resolved, *referring)),
        intent=main_intent(cues),
        cues=tuple(_in_place(cue, question, reworded) for cue in cues) if language else cues,
        demands=demands if language else tuple(_in_place(demand, question, reworded) for demand in demands),
        reading=reading if reading != question else "",
        parts=() if language else question_parts(asked),
    )


def _in_place(part: Part, question: str, reworded: Rewording) -> Part:
    """The part with its words as they stand in the question."""
    if not reworded.changes or not part.text:
        return part
    start, end = reworded.origin(part.start, part.start + len(part.text))
    return replace(part, text=question[start:end], start=start)
