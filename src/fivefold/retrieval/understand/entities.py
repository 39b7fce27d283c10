"""Entity references of a question, resolved to the namespace's entities (R1, R7).

Names are looked up by an index over aliases, so the cost grows with the question and not with the entities.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cache

from fivefold.retrieval.protocols import Person, SearchContext
from fivefold.stores.interface import Reader
from fivefold.stores.records import AliasMatch
from fivefold.text.lexemes import common_words, lexemes, stop_words
from fivefold.text.names import EXCLUSIVE, IS_CALLED, RELATIVES, Edges, Relative, told_by_user
from fivefold.values.memory import Memory
from fivefold.values.query import EntityRef, Meaning, NamePrior
from fivefold.values.registry import Parts

NAME_PRIORS: Parts[Callable[[str, Sequence[AliasMatch], Reader], dict[int, float]]] = Parts(
    {"questions": "fivefold.designs.recall:past_meanings"}
)
"""Functions that count how often a name meant each of its entities, besides the memories (R7)."""


def prior(counts: Mapping[int, float], portions: Mapping[int, float]) -> dict[int, float]:
    """The shares of past questions; the memories count as one more question, and alone if there was none."""
    total = sum(counts.values()) + 1
    return {entity: (counts.get(entity, 0.0) + portion) / total for entity, portion in portions.items()}


_FIRST = frozenset(word.partition("-")[0] for word in RELATIVES)
"""Beginnings of relation words; most words of a question have none."""

LONGEST_NAME = 5
"""Words of the longest name looked up."""

MAX_WORDS = 400
"""Words of a question that are looked at for names; what comes after is searched but not resolved."""

MAX_MEANINGS = 8
"""Meanings of one name that are followed."""

CONTEXT_MEMORIES = 50
"""Memories with the words around a name that are looked at for whom they mention."""

OWNER = "user"
"""The entity that stands for the one whose memory this is."""

FROM = "refers back to "
"""Reason given for an entity reference that is a pronoun."""

OWN_NAME = "the user's own name"
"""Reason given for an entity reference that names the user."""

_BEFORE_RELATIVE = frozenset(
    "new old older younger elder eldest oldest youngest little big current former best late twin dear".split()
)
_WORD = re.compile(r"[\w@][\w@./\\:+#&~'’-]*[\w]|\w")
_POSSESSIVE = re.compile(r"['’]s?$", re.IGNORECASE)
_WHOLE, _PART, _INFERRED = 1.0, 0.9, 0.8
_PRIOR, _CONTEXT, _NEAR = 0.5, 0.3, 0.2
"""Weights of the three signals of R7: past meanings, the words around it, nearness to the owner."""


@dataclass(frozen=True, slots=True)
class Word:
    text: str
    start: int
    end: int

    @property
    def bare(self) -> str:
        return _POSSESSIVE.sub("", self.text)


def resolve(question: str, reader: Reader, name_prior: NamePrior = "memories") -> tuple[EntityRef, ...]:
    """Every name of the question that the namespace knows, longest first if they overlap, in reading order."""
    words = [Word(match[0], match.start(), match.end()) for match in _WORD.finditer(question)][:MAX_WORDS]
    aliases = _aliases(words)
    by_alias = _find_aliases(aliases, reader)
    refs: list[EntityRef] = []
    question_words = cache(lambda: lexemes(question)[:MAX_WORDS])
    meanings_of: dict[str, tuple[Meaning, ...]] = {}
    position = 0
    while position < len(words):
        for size in range(min(LONGEST_NAME, len(words) - position), 0, -1):
            alias = aliases[position, size]
            candidates = by_alias.get(alias)
            if candidates and (size > 1 or _may_be_name(words[position], position)):
                name = words[position : position + size]
                start, end = name[0].start, name[-1].start + len(name[-1].bare)
                if alias not in meanings_of:
                    called = question[start:end]
                    meanings_of[alias] = _rank_meanings(called, candidates, question_words, reader, name_prior)
                own = any(item.own for item in candidates) and not _is_another(words, position, size)
                refs.append(EntityRef(question[start:end], start, meanings_of[alias], OWN_NAME if own else "name"))
                position += size - 1
                break
        position += 1
    relatives = _relatives(question, words, refs, reader)
    _narrow(question, refs, relatives)
    whose = {ref.start for ref in relatives}
    for i, ref in enumerate(refs):
        if ref.start in whose:  # in "Sarah's boss" it is the boss who is asked about, and Sarah only on the way
            half = tuple(replace(meaning, confidence=round(meaning.confidence / 2, 4)) for meaning in ref.meanings)
            refs[i] = replace(ref, meanings=half, via="whose")
    return (*refs, *relatives)


def _narrow(question: str, refs: list[EntityRef], relatives: list[EntityRef]) -> None:
    """ "My cousin Sam" and "Sam, my cousin" name one person: whom both the name and the relation may mean."""
    for i, ref in enumerate(refs):
        for j, relative in enumerate(relatives):
            first, second = sorted((ref, relative), key=lambda one: one.start)
            if question[first.start + len(first.text) : second.start] not in (" ", ", "):
                continue
            known = {meaning.id for meaning in relative.meanings}
            both = tuple(meaning for meaning in ref.meanings if meaning.id in known)
            if both:
                total = sum(meaning.confidence for meaning in both)
                both = tuple(replace(one, confidence=round(_PART * one.confidence / total, 4)) for one in both)
                refs[i], relatives[j] = replace(ref, meanings=both), replace(relative, meanings=both)


def _aliases(words: Sequence[Word]) -> dict[tuple[int, int], str]:
    """The aliases that begin at each place, by the place and the number of words; without a possessive."""
    texts, bare = [word.text.casefold() for word in words], [word.bare.casefold() for word in words]
    return {
        (start, end - start): " ".join((*texts[start : end - 1], bare[end - 1]))
        for start in range(len(words))
        for end in range(start + 1, min(start + LONGEST_NAME, len(words)) + 1)
    }


def _find_aliases(aliases: Mapping[tuple[int, int], str], reader: Reader) -> dict[str, list[AliasMatch]]:
    matches: dict[str, list[AliasMatch]] = {}
    for item in reader.graph.find_aliases(sorted(set(aliases.values()))):
        if item.kind != "topic":
            matches.setdefault(item.alias, []).append(item)
    return matches


def _is_another(words: Sequence[Word], position: int, size: int) -> bool:
    """True if a relation or a place tells a namesake apart: "my cousin Marit", "Marit from work"."""
    before = words[position - 1].bare.casefold() if position else ""
    behind = words[position + size].text.casefold() if position + size < len(words) else ""
    return before in RELATIVES or (behind == "from" and position + size + 1 < len(words))


def _may_be_name(word: Word, position: int) -> bool:
    """A word that is also a common one counts as a name only when written as one inside the sentence."""
    folded = word.bare.casefold()
    if folded in RELATIVES and word.text[0].islower():
        return False
    if folded in stop_words() or folded in common_words():
        return position > 0 and word.text[0].isupper() and folded not in stop_words()
    return True


def _rank_meanings(
    name: str,
    candidates: Sequence[AliasMatch],
    question_words: Callable[[], Sequence[str]],
    reader: Reader,
    name_prior: NamePrior,
) -> tuple[Meaning, ...]:
    """The meanings of a name, likeliest first; `question_words` gives the words of the question."""
    quality = {item.entity: _PART if item.part else _WHOLE for item in candidates}
    shares = {candidates[0].entity: 1.0}
    asked: Mapping[int, float] = {}
    if len(candidates) > 1:
        own = set(lexemes(name))
        asked = NAME_PRIORS[name_prior](name, candidates, reader) if name_prior in NAME_PRIORS else {}
        shares = _shares([lexeme for lexeme in question_words() if lexeme not in own], candidates, reader, asked)
    meanings = [
        Meaning(item.entity, item.name, round(shares[item.entity] * quality[item.entity], 4), asked.get(item.entity))
        for item in candidates
    ]
    meanings.sort(key=lambda meaning: (-meaning.confidence, meaning.id))
    return tuple(meanings[:MAX_MEANINGS])


def _shares(
    words: Sequence[str], candidates: Sequence[AliasMatch], reader: Reader, asked: Mapping[int, float]
) -> dict[int, float]:
    """The chance of each meaning of an ambiguous name; they add up to 1."""
    keys = [item.entity for item in candidates]
    around = reader.search.latest_with(words, CONTEXT_MEMORIES)
    context = reader.graph.count_mentions(around, keys)
    near = set(reader.graph.neighbours_of(OWNER, keys))
    linked, mentioned = _portions([item.links for item in candidates]), _portions(list(context.values()))
    before = prior(asked, {item.entity: linked(item.links) for item in candidates})
    raw = {
        item.entity: _PRIOR * before[item.entity]
        + _CONTEXT * mentioned(context.get(item.entity, 0))
        + _NEAR * (item.entity in near)
        for item in candidates
    }
    total = sum(raw.values()) or 1.0
    return {key: value / total for key, value in raw.items()}


def _portions(values: Sequence[float]) -> Callable[[float], float]:
    """The share of one value among all; half is added to each, so that none is 0."""
    whole = sum(values) + 0.5 * max(1, len(values))
    return lambda value: (value + 0.5) / whole


def _relatives(question: str, words: Sequence[Word], refs: Sequence[EntityRef], reader: Reader) -> list[EntityRef]:
    """'Sarah's boss' and 'my sister's husband': whom a relation word means, by the edges of whose it is."""
    relatives: list[EntityRef] = []
    ends = {ref.start + len(ref.text): ref for ref in refs}
    position = 1
    while position < len(words):
        relative, size = _relative(words, position)
        before = words[_whose(words, position)]
        position += size
        if relative is None:
            continue
        owners = _owners(before, ends, reader)
        meanings = _related(owners, relative.edges, reader)
        if not meanings and relative.wider:  # only without any, those of a wider word, less the others
            others = {meaning.id for meaning in _related(owners, relative.others, reader)}
            meanings = [one for one in _related(owners, relative.wider, reader) if one.id not in others]
        if meanings:
            last = words[position - 1]
            text = question[before.start : last.start + len(last.bare)]
            ref = EntityRef(text, before.start, tuple(meanings), via=f"{relative.label} of {owners[0][1]}")
            relatives.append(ref)
            ends[last.start + len(last.bare)] = ref
    return relatives


def _relative(words: Sequence[Word], position: int) -> tuple[Relative | None, int]:
    """The relation that one to three words name, and how many: 'sister', 'ex wife', 'mother in law'."""
    first = words[position]
    if first.text.casefold().partition("-")[0] not in _FIRST and first.bare.casefold() not in RELATIVES:
        return None, 1
    for size in range(min(3, len(words) - position), 0, -1):
        name = words[position : position + size]
        relative = RELATIVES.get("-".join([*(word.text for word in name[:-1]), name[-1].bare]).casefold())
        if relative is not None:
            return relative, size
    return None, 1


def _whose(words: Sequence[Word], position: int) -> int:
    """The place of the word that says whose relative it is: 'my' in 'my new boss'."""
    at = position - 1
    while at > 0 and position - at <= 2 and words[at].text.casefold() in _BEFORE_RELATIVE:
        at -= 1
    return at


def _owners(before: Word, ends: Mapping[int, EntityRef], reader: Reader) -> list[tuple[int, str, float]]:
    """The persons before the relation word: a resolved name with a possessive, or the owner for 'my'."""
    if before.text.casefold() in ("my", "our"):
        owners = [(item.entity, item.name, 1.0) for item in reader.graph.find_aliases([OWNER])]
        names = [entity for key, _, _ in owners for entity in reader.graph.find_related(key, [IS_CALLED], False)]
        return owners + [(entity.id, entity.name, _PART) for entity in names]
    ref = ends.get(before.start + len(before.bare))
    if ref is None or before.bare == before.text:
        return []
    return [(meaning.id, meaning.name, meaning.confidence) for meaning in ref.meanings]


def _related(owners: Sequence[tuple[int, str, float]], edges: Edges, reader: Reader) -> list[Meaning]:
    meanings: dict[int, Meaning] = {}
    for key, _, confidence in owners:
        for inverse in (False, True):
            relations = [relation for relation, turned in edges if turned == inverse]
            for entity in reader.graph.find_related(key, relations, inverse) if relations else ():
                meanings.setdefault(entity.id, Meaning(entity.id, entity.name, round(_INFERRED * confidence, 4)))
    return list(meanings.values())


# The people whom a question means, among others of the same name, and memories in its words for them.

_FIRST_PERSON = re.compile(r"\b(?:i|me|my|mine|myself|we|us|our|ours)\b", re.IGNORECASE)


def people_meant(context: SearchContext) -> Sequence[Person]:
    """Those whom the question names, or means by a relation or a pronoun, and the user if it is the user's own."""
    if not context.people:
        context.people.append(_find(context))
    return context.people[0]


def _find(context: SearchContext) -> list[Person]:
    query = context.query
    asked: list[tuple[Sequence[Meaning], EntityRef | None]]
    asked = [(ref.meanings, ref) for ref in query.entities if ref.via != "whose"]
    if _FIRST_PERSON.search(query.to_read) and (own := context.reader.graph.own_names()):
        asked.append(([Meaning(name.id, name.name, 1.0) for name in own], None))
    words = {_first(meaning.name) for meanings, _ in asked for meaning in meanings}
    alike = context.reader.graph.find_aliases(sorted(words)) if words else []
    named = {meaning.id for meanings, _ in asked for meaning in meanings}
    others = [one for one in alike if one.entity not in named]
    bare = [one.entity for one in others if " " not in one.name]
    known = context.reader.graph.with_edges(bare, EXCLUSIVE) if bare else set()  # relatives, superiors, the user
    people = []
    for meanings, ref in asked:
        first = {_first(meaning.name) for meaning in meanings}
        namesakes = frozenset(
            one.entity for one in others if one.alias in first and (" " in one.name or one.entity in known)
        )
        people.append(_person(meanings, ref, namesakes))
    return people


def _person(meanings: Sequence[Meaning], ref: EntityRef | None, namesakes: frozenset[int]) -> Person:
    best = max(meaning.confidence for meaning in meanings)
    shares = {meaning.id: meaning.confidence / best for meaning in meanings}
    names = dict.fromkeys(name for meaning in meanings for name in (meaning.name, meaning.name.split()[0]))
    by_name = ref is None or ref.via in ("name", OWN_NAME)
    if ref is None:
        called = ""
    elif by_name:
        called = ref.text
    else:
        called = f"{ref.text} {ref.name}" if " of " in ref.via else ref.name
    return Person(shares, namesakes, tuple(names), called, by_name)


def _first(name: str) -> str:
    return name.split(maxsplit=1)[0].casefold()


def mentioned_people(context: SearchContext, memories: Iterable[Memory]) -> dict[str, Set[int]]:
    """The persons meant, and their namesakes, that each memory mentions, by its id."""
    keys = sorted({key for person in people_meant(context) for key in (*person.meant, *person.namesakes)})
    found: dict[str, Set[int]] = {}
    if keys:
        found.update(context.reader.graph.mentions([memory.id for memory in memories], keys))
    return found


def in_words_of_question(memory: Memory, text: str, known: Set[int], people: Sequence[Person]) -> str:
    """A memory's text in the words of the question: "Sam" as "my cousin Sam", what others say of the user as "I"."""
    for person in people:
        if person.share(known) <= 0 or (person.called and person.called.casefold() in text.casefold()):
            continue
        spans = [match.span() for match in _pattern(person.names).finditer(text)]
        if spans and person.called:
            text = text[: spans[0][0]] + person.called + text[spans[0][1] :]
        elif spans and (memory.speaker or "").casefold() not in ("user", "human"):
            text = told_by_user(text, spans)
    return text


def _pattern(names: Sequence[str]) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(sorted(map(re.escape, names), key=len, reverse=True))})\b")
